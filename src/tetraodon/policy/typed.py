"""What a curator typed, read as the number, word or truth that is wanted there."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Final, NoReturn

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, PlainValidator, WithJsonSchema
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from tetraodon.errors import PolicyError
from tetraodon.rational import rational

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
    if isinstance(value, Fraction):
        return value
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
    told = " ".join(value.split()) if isinstance(value, str) else ""
    if not told or len(told) > 2_000 or not told.isprintable():
        refuse(
            f"{shown(value)} is not a note", "write a few sentences, at most 2,000 characters, or a list of such notes"
        )
    return told


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


def _one_or_more(value: object) -> object:
    return [value] if isinstance(value, str) else value


SCALAR: Final[JsonSchemaValue] = {"type": ["string", "number", "boolean"]}
NUMBER: Final[JsonSchemaValue] = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": "^[0-9.eE_/+-]+$"}]}
WORD: Final[JsonSchemaValue] = {"type": ["string", "number"]}

Exact = Annotated[Fraction, PlainValidator(exact), WithJsonSchema(NUMBER)]
Whole = Annotated[int, PlainValidator(whole), WithJsonSchema({"type": "integer"})]
Truth = Annotated[bool, PlainValidator(truth), WithJsonSchema({"type": "boolean"})]
Text = Annotated[str, PlainValidator(text), WithJsonSchema(WORD)]
Scalar = Annotated[str, WithJsonSchema(SCALAR)]
Names = Annotated[tuple[Text, ...], Short(_one_or_more, {"type": "string"})]
Paragraph = Annotated[str, PlainValidator(paragraph), WithJsonSchema({"type": "string"})]
Paragraphs = Annotated[tuple[Paragraph, ...], Short(_one_or_more, {"type": "string"})]
Share = Annotated[
    Fraction,
    PlainValidator(share),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string", "pattern": "^[0-9.eE_/+-]+ *%?$"}]}),
]
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
