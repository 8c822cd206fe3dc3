"""Typed values, and validated sections of a policy file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Final, NoReturn

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from tetraodon.errors import PolicyError
from tetraodon.exact.rational import rational
from tetraodon.policy.attackers import STATIONARY

# -- typed ------------------------------------------------------------------------------------------
# What a curator typed, read as the number, word or truth that is wanted there.

OURS: Final = "tetraodon"
"""The type of every pydantic error that already says what and how to fix it."""

_NUMBER = re.compile(r"[+-]?[0-9_]{0,40}(\.[0-9_]{0,40})?([eE][+-]?[0-9]{1,2})?(/[0-9]{1,40})?")


def refuse(what: str, fix: str) -> NoReturn:
    """Stop the validation of a field."""
    raise PydanticCustomError(OURS, "{what}", {"what": what, "fix": fix})


def shown(value: object) -> str:
    """A typed value in an error message, cut to a readable length."""
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:40] + "...")
    if isinstance(value, list):
        return "a list"
    return "a map" if isinstance(value, dict) else "nothing"


def exact(value: object) -> Fraction:
    """The number that was typed. Long ones are refused, so that `1e999999999` costs nothing."""
    if isinstance(value, Fraction | int) and not isinstance(value, bool):
        return Fraction(value)
    text = value.strip() if isinstance(value, str) else ""
    if _NUMBER.fullmatch(text):
        with suppress(PolicyError):
            return rational(text)
    refuse(f"{shown(value)} is not a finite number", "write a number such as 3, 0.1, 1e-6 or 1/3")


def whole(value: object) -> int:
    """The whole number that was typed."""
    number = exact(value)
    if number.denominator != 1:
        refuse(f"{shown(value)} is not a whole number", "write a whole number")
    return int(number)


def truth(value: object) -> bool:
    """`true` or `false`, and no other word: `yes` and `on` may be categories."""
    if value not in ("true", "false"):
        refuse(f"{shown(value)} is neither true nor false", "write true or false")
    return value == "true"


def text(value: object) -> str:
    """Text of one line, as names and titles are."""
    if not isinstance(value, str) or not value.strip():
        refuse(f"{shown(value)} stands where text is expected", "write one line of text")
    if len(value) > 200 or not value.isprintable():
        refuse("this text is too long or has unprintable characters", "write one line of at most 200 characters")
    return value


def paragraph(value: object) -> str:
    """A few sentences, which may have been folded over several lines."""
    note = " ".join(value.split()) if isinstance(value, str) else ""
    if not note or len(note) > 2_000 or not note.isprintable():
        refuse(
            f"{shown(value)} is not a note", "write a few sentences, at most 2,000 characters, or a list of such notes"
        )
    return note


def rows(value: object) -> int:
    """A number of rows: 3, `3` or `3 rows`."""
    if isinstance(value, str):
        value = re.sub(r"\s+rows?$", "", value)
    number = whole(value)
    if not 1 <= number <= 1_000_000:
        refuse("`at most` is not between 1 and 1,000,000", "write the most rows a person can have, such as 3 rows")
    return number


@dataclass(frozen=True, slots=True)
class Percentage:
    """A share of a value itself, where a distance may stand too: `10%`."""

    share: Fraction


def distance(value: object) -> Fraction | Percentage:
    """A distance, `5`, or a share of the value itself, `10%`."""
    if isinstance(value, str) and value.rstrip().endswith("%"):
        return Percentage(exact(value.rstrip()[:-1]) / 100)
    return exact(value)


def share(value: object) -> Fraction:
    """A share of a whole: `1%`, 0.01 or 1/100."""
    percent = isinstance(value, str) and value.rstrip().endswith("%")
    number = exact(str(value).rstrip()[:-1]) / 100 if percent else exact(value)
    if not 0 <= number <= 1:
        refuse(f"{shown(value)} is not a share", "write one from 0% to 100%")
    return number


class Short:
    """Marks a type that also has short forms, and tells editors about them."""

    def __init__(self, expand: Any, *schemas: JsonSchemaValue) -> None:
        self.expand = expand
        self.schemas = schemas

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self.expand, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [*self.schemas, handler(schema)]}


def words(forms: Mapping[str, object], example: str) -> Callable[[object], object]:
    """Expands a word into its long form."""

    def expand(value: object) -> object:
        if not isinstance(value, str):
            return value
        if value not in forms:
            refuse(
                f"{shown(value)} is not understood here",
                f"write {'; or '.join([*([' or '.join(forms)] if forms else []), example])}",
            )
        return forms[value]

    return expand


def _one_or_more(value: object) -> object:
    return [value] if isinstance(value, str) else value


SCALAR: Final[JsonSchemaValue] = {"type": ["string", "number", "boolean"]}
NUMBER: Final[JsonSchemaValue] = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": "^[0-9.eE_/+-]+$"}]}
SHARE: Final[JsonSchemaValue] = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": "^[0-9.eE_/+-]+ *%?$"}]}
WORD: Final[JsonSchemaValue] = {"type": ["string", "number"]}

Exact = Annotated[Fraction, PlainValidator(exact), WithJsonSchema(NUMBER)]
Whole = Annotated[int, PlainValidator(whole), WithJsonSchema({"type": "integer"})]
Truth = Annotated[bool, PlainValidator(truth), WithJsonSchema({"type": "boolean"})]
Text = Annotated[str, PlainValidator(text), WithJsonSchema(WORD)]
Scalar = Annotated[str, WithJsonSchema(SCALAR)]
Names = Annotated[tuple[Text, ...], Short(_one_or_more, {"type": "string"})]
Paragraph = Annotated[str, PlainValidator(paragraph), WithJsonSchema({"type": "string"})]
Paragraphs = Annotated[tuple[Paragraph, ...], Short(_one_or_more, {"type": "string"})]
Share = Annotated[Fraction, PlainValidator(share), WithJsonSchema(SHARE)]
Distance = Annotated[
    Fraction | Percentage,
    PlainValidator(distance),
    WithJsonSchema({"anyOf": [NUMBER, {"type": "string", "pattern": "^[0-9.eE_/+-]+ *%$"}]}),
]
Rows = Annotated[
    int,
    PlainValidator(rows),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^[0-9]+( rows?)?$"}]}),
]


def read_as(form: Any, value: object) -> Any:
    """A value given in Python, read as one of the file. Raises PolicyError for the first thing wrong with it."""
    try:
        return TypeAdapter(form).validate_python(value)
    except ValidationError as error:
        found = error.errors()[0].get("ctx", {})
        raise PolicyError(str(found["what"]), fix=str(found["fix"])) from None


# -- section ----------------------------------------------------------------------------------------


class Section(BaseModel):
    """A map of the file. `one_of` names the keys of which exactly one must be there."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    one_of: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def keys(cls) -> list[str]:
        """The keys as a curator writes them."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    @property
    def kind(self) -> str:
        """The one key of `one_of` that was written."""
        return next(name for name in self.one_of if name in self.model_fields_set)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core))
        schema["description"] = (cls.__doc__ or "").partition("\n\n")[0]
        if cls.one_of:
            schema["oneOf"] = [{"required": [name]} for name in cls.one_of]
        return schema

    @model_validator(mode="after")
    def _exactly_one(self) -> Section:
        given = [name for name in self.one_of if name in self.model_fields_set]
        choices = f"one of: {', '.join(self.one_of)}"
        if self.one_of and not given:
            refuse("this does not say which kind it is", f"write {choices}")
        if len(given) > 1:
            refuse(f"this says both `{given[0]}` and `{given[1]}`", f"write only {choices}")
        return self


_WHOLE = {"type": "integer", "minimum": 0}


def _answers(value: object) -> tuple[int, ...]:
    """One count, or a list of counts."""
    return tuple(whole(part) for part in value) if isinstance(value, list) else (whole(value),)


BlocksOf = dict[Text, tuple[tuple[Scalar, ...], ...]]
"""{age: [[0, 17], [18, 99]]}: the blocks of each attribute."""


class KnownSection(Section):
    """Something that everybody knows about the data already."""

    one_of = ("count", "marginal", "rectangle", "blocks", "table")

    count: Text = ""
    marginal: Names = ()
    bins: BlocksOf = Field(default_factory=dict)
    rectangle: dict[Text, tuple[Scalar, ...]] = Field(default_factory=dict)
    blocks: BlocksOf = Field(default_factory=dict)
    table: Text = ""
    answers: Annotated[
        tuple[int, ...],
        PlainValidator(_answers),
        WithJsonSchema({"anyOf": [_WHOLE, {"type": "array", "items": _WHOLE}]}),
    ] = Field(default=(), alias="is")
    at_most: Whole | None = Field(default=None, alias="at most")
    at_least: Whole | None = Field(default=None, alias="at least")


Row = Annotated[tuple[Exact, ...], Field(min_length=1)]
Matrix = Annotated[tuple[Row, ...], Field(min_length=1)]


def _depth(value: object) -> int:
    return 1 + _depth(value[0]) if isinstance(value, list) and value else 0


def _one_matrix(value: object) -> object:
    return [value] if _depth(value) == 2 else value


def _one_row(value: object) -> object:
    return [value] if isinstance(value, list) and not any(isinstance(part, list) for part in value) else value


_stationary = words({STATIONARY: []}, "one probability for each state")


def _start(value: object) -> object:
    """`stationary`, one distribution, or a list of them."""
    return _stationary(value) if isinstance(value, str) else _one_row(value)


_ROW = {"type": "array", "items": NUMBER}
_MATRIX = {"type": "array", "items": _ROW}


class ChainSection(Section):
    """A Markov chain along the rows."""

    along: Text
    states: Whole | None = None
    transition: Annotated[tuple[Matrix, ...], Field(min_length=1), Short(_one_matrix, _MATRIX)]
    start: Annotated[tuple[Row, ...], Short(_start, {"const": STATIONARY}, _ROW)] = ()
    source: Text
    length: Whole = 0


class ContactsSection(Section):
    """A network in which contacts depend on each other."""

    at_most: Whole = Field(alias="at most")
    influence: Exact
    source: Text


class AttackersSection(Section):
    """One set of attackers."""

    one_of = ("independent", "groups", "chain", "contacts")

    independent: Truth = True
    groups: Text = ""
    at_most: Rows | None = Field(default=None, alias="at most")
    chain: ChainSection | None = None
    contacts: ContactsSection | None = None


_attackers = words(
    {"independent": {"independent": "true"}},
    "{groups: household_id, at most: 5}, {chain: ...} or {contacts: ...}",
)
AttackersEntry = Annotated[AttackersSection, Short(_attackers, {"const": "independent"})]


# -- whole table ------------------------------------------------------------------------------------


def _chances(value: object) -> object:
    return {"are": value} if isinstance(value, list) else value


class ChancesSection(Section):
    """How likely each value of an attribute is, given those of others."""

    given: Names = ()
    are: Annotated[tuple[Row, ...], Short(_one_row, _ROW)]


class TableSecretSection(Section):
    """Which shares of the whole table, or chances of its records, an observer must not tell apart."""

    one_of = ("share", "chance")

    share: Text = ""
    chance: Text = ""
    within: Share
    records: Whole
    chances: dict[Text, Annotated[ChancesSection, Short(_chances, _ROW)]]
    source: Text
