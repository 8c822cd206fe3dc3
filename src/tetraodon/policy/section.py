"""Shapes of parts of a policy file: known keys only, one kind where there is a choice; `known` and `attackers`."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, PlainValidator, WithJsonSchema, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tetraodon.policy.typed import Exact, Names, Rows, Scalar, Short, Text, Truth, Whole, exact, refuse, shown, whole


def choice(*words: str) -> Any:
    """Text that must be one of some words."""

    def check(value: object) -> str:
        if value not in words:
            refuse(f"{shown(value)} is not understood here", f"write one of: {', '.join(words)}")
        return str(value)

    return Annotated[str, PlainValidator(check), WithJsonSchema({"enum": list(words)})]


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


def _groups(value: object) -> dict[str, list[list[str]]]:
    """{age: [[0, 17], [18, 99]]}: the blocks of each attribute."""
    fix = "write {age: [[0, 17], [18, 99]]}"
    if not isinstance(value, dict) or not value:
        refuse("this does not name the blocks of an attribute", fix)
    for groups in value.values():
        if not isinstance(groups, list) or not all(
            isinstance(group, list) and group and all(isinstance(part, str) for part in group) for group in groups
        ):
            refuse("a block is not a list of values", fix)
    return value


_GROUPS_SCHEMA = {
    "type": "object",
    "minProperties": 1,
    "additionalProperties": {"type": "array", "items": {"type": "array", "minItems": 1}},
}
Groups = Annotated[dict[str, list[list[str]]], PlainValidator(_groups), WithJsonSchema(_GROUPS_SCHEMA)]


class KnownSection(Section):
    """Something that everybody knows about the data already."""

    one_of = ("count", "marginal", "rectangle", "blocks", "table")

    count: Text = ""
    marginal: Names = ()
    bins: Groups = Field(default_factory=dict)
    rectangle: dict[Text, tuple[Scalar, ...]] = Field(default_factory=dict)
    blocks: Groups = Field(default_factory=dict)
    table: Text = ""
    answers: Annotated[
        tuple[int, ...],
        PlainValidator(_answers),
        WithJsonSchema({"anyOf": [_WHOLE, {"type": "array", "items": _WHOLE}]}),
    ] = Field(default=(), alias="is")
    at_most: Whole | None = Field(default=None, alias="at most")
    at_least: Whole | None = Field(default=None, alias="at least")


_NUMBERS = {"type": "array", "items": {"type": ["number", "string"]}}
MATRIX = {"type": "array", "items": _NUMBERS}
_START_SCHEMA = {"anyOf": [{"const": "stationary"}, _NUMBERS, MATRIX]}
_TRANSITION_SCHEMA = {"anyOf": [MATRIX, {"type": "array", "items": MATRIX}]}
STATIONARY = "stationary"


def _depth(value: object) -> int:
    return 1 + _depth(value[0]) if isinstance(value, list) and value else 0


def nested_numbers(value: object, depth: int, fix: str) -> Any:
    """Nested lists of exact numbers."""
    if depth == 0:
        return exact(value)
    if not isinstance(value, list) or not value:
        refuse("a list of probabilities is expected here", fix)
    return tuple(nested_numbers(part, depth - 1, fix) for part in value)


def _transition(value: object) -> Any:
    """One matrix, or a list of them."""
    fix = "write one row for each state, such as [[0.9, 0.1], [0.4, 0.6]]"
    depth = _depth(value)
    if depth not in (2, 3):
        refuse("this is no matrix of probabilities", fix)
    return nested_numbers(value if depth == 3 else [value], 3, fix)


def _start(value: object) -> Any:
    """`stationary`, one distribution, or a list of them."""
    fix = "write stationary, or one probability for each state"
    if isinstance(value, str):
        if value != STATIONARY:
            refuse(f"{shown(value)} is not understood here", fix)
        return ()
    return nested_numbers(value if _depth(value) == 2 else [value], 2, fix)


class ChainSection(Section):
    """A Markov chain along the rows."""

    along: Text
    states: Whole | None = None
    transition: Annotated[Any, PlainValidator(_transition), WithJsonSchema(_TRANSITION_SCHEMA)]
    start: Annotated[Any, PlainValidator(_start), WithJsonSchema(_START_SCHEMA)] = ()
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


def _word(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value != "independent":
        refuse(
            f"{shown(value)} is not understood here",
            "write independent, {groups: household_id, at most: 5}, {chain: ...} or {contacts: ...}",
        )
    return {"independent": "true"}


AttackersEntry = Annotated[AttackersSection, Short(_word, {"const": "independent"})]
