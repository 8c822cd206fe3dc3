"""The shape of one entry of the `known` list of a policy file."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, PlainValidator, WithJsonSchema

from tetraodon.policy.section import Section
from tetraodon.policy.typed import Names, Scalar, Text, refuse, whole

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
    at_most: Any = Field(default=None, alias="at most")
    at_least: Any = Field(default=None, alias="at least")
