"""The shape of one entry of the `release` list of a policy file."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from pydantic import Field, PlainValidator, WithJsonSchema

from tetraodon.policy.section import Section
from tetraodon.policy.typed import Exact, Names, Text, Truth, Whole, refuse, text

SECRET_BLOCKS = "secret blocks"


def _ranges(value: object) -> tuple[str, list[tuple[str, str, str]]]:
    """`age`, `{age: [[17, 29]]}`, `{age: {young: [17, 29]}}` or `{age: [{name: young, range: [17, 29]}]}`."""
    fix = "write `ranges: age`, or `ranges: {age: [[17, 29], [30, 64]]}`"
    if isinstance(value, str):
        return value, []
    if not isinstance(value, dict) or len(value) != 1:
        refuse("this does not name ranges of one attribute", fix)
    [(attribute, listed)] = value.items()
    if isinstance(listed, dict):
        named = list(listed.items())
    elif isinstance(listed, list):
        named = [_named_range(part) for part in listed]
    else:
        refuse("this does not list ranges", fix)
    if not named:
        refuse("the list of ranges is empty", "list a range, or write `ranges: NAME` for every range")
    for name, pair in named:
        if not isinstance(name, str) or not (isinstance(pair, list) and [type(end) for end in pair] == [str, str]):
            refuse("a range is not a pair", "write each range as [low, high]")
        if name:
            text(name)
    return attribute, [(name, low, high) for name, (low, high) in named]


def _named_range(part: object) -> tuple[object, object]:
    if isinstance(part, dict) and set(part) == {"name", "range"}:
        return part["name"], part["range"]
    return "", part


def _bins(value: object) -> dict[str, str | list[list[str]]]:
    """Groups, a width, or `secret blocks`, for each attribute that is named."""
    if not isinstance(value, dict):
        refuse("`bins` is not a map", "write `bins: {age: [[17, 29], [30, 90]]}` or `bins: {age: 10}`")
    for groups in value.values():
        listed = isinstance(groups, list) and all(
            isinstance(group, list) and group and all(isinstance(part, str) for part in group) for group in groups
        )
        if not isinstance(groups, str) and not (listed and groups):
            refuse("a bin is not a list of values", f"write [[17, 29], [30, 90]], a width, or `{SECRET_BLOCKS}`")
    return value


_PAIR = {"type": "array", "minItems": 2, "maxItems": 2}
_PAIRS = {"type": "array", "items": _PAIR}
_RANGES_SCHEMA = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": {
                "anyOf": [
                    _PAIRS,
                    {"type": "object", "additionalProperties": _PAIR},
                    {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"name": {"type": "string"}, "range": _PAIR},
                            "required": ["name", "range"],
                        },
                    },
                ]
            },
        },
    ]
}
_BINS_SCHEMA = {
    "type": "object",
    "additionalProperties": {
        "anyOf": [
            {"type": "array", "items": {"type": "array", "minItems": 1}},
            {"type": "number"},
            {"const": SECRET_BLOCKS},
        ]
    },
}


class ItemSection(Section):
    """One thing to release."""

    one_of = ("count", "histogram", "cdf", "ranges", "total", "sum", "mean", "quantiles", "rectangles", "kmeans")

    name: Text
    count: Text = ""
    histogram: Names = ()
    bins: Annotated[dict[str, str | list[list[str]]], PlainValidator(_bins), WithJsonSchema(_BINS_SCHEMA)] = Field(
        default_factory=dict
    )
    cdf: Text = ""
    ranges: Annotated[Any, PlainValidator(_ranges), WithJsonSchema(_RANGES_SCHEMA)] = None
    total: Text = ""
    sum: Text = ""
    weight: Text = ""
    mean: Text = ""
    quantiles: Text = ""
    at: tuple[Exact, ...] = ()
    rectangles: Names = ()
    kmeans: Names = ()
    clusters: Whole | None = None
    by: Names = ()
    share: Exact = Fraction(1)
    whole: Truth = False
