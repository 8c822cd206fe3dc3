"""The shape of one entry of the `attackers` list of a policy file."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, PlainValidator, WithJsonSchema

from tetraodon.policy.section import Section
from tetraodon.policy.typed import Rows, Short, Text, Truth, Whole, exact, refuse, shown

_NUMBERS = {"type": "array", "items": {"type": ["number", "string"]}}
_MATRIX = {"type": "array", "items": _NUMBERS}
_START_SCHEMA = {"anyOf": [{"const": "stationary"}, _NUMBERS, _MATRIX]}
_TRANSITION_SCHEMA = {"anyOf": [_MATRIX, {"type": "array", "items": _MATRIX}]}
STATIONARY = "stationary"


def _depth(value: object) -> int:
    return 1 + _depth(value[0]) if isinstance(value, list) and value else 0


def _numbers(value: object, depth: int, fix: str) -> Any:
    """Nested lists of exact numbers."""
    if depth == 0:
        return exact(value)
    if not isinstance(value, list) or not value:
        refuse("a list of probabilities is expected here", fix)
    return tuple(_numbers(part, depth - 1, fix) for part in value)


def _transition(value: object) -> Any:
    """One matrix, or a list of them."""
    fix = "write one row for each state, such as [[0.9, 0.1], [0.4, 0.6]]"
    depth = _depth(value)
    if depth not in (2, 3):
        refuse("this is no matrix of probabilities", fix)
    return _numbers(value if depth == 3 else [value], 3, fix)


def _start(value: object) -> Any:
    """`stationary`, one distribution, or a list of them."""
    fix = "write stationary, or one probability for each state"
    if isinstance(value, str):
        if value != STATIONARY:
            refuse(f"{shown(value)} is not understood here", fix)
        return ()
    return _numbers(value if _depth(value) == 2 else [value], 2, fix)


class ChainSection(Section):
    """A Markov chain along the rows."""

    along: Text
    states: Whole | None = None
    transition: Annotated[Any, PlainValidator(_transition), WithJsonSchema(_TRANSITION_SCHEMA)]
    start: Annotated[Any, PlainValidator(_start), WithJsonSchema(_START_SCHEMA)] = ()
    source: Text
    length: Whole = 0


class AttackersSection(Section):
    """One set of attackers."""

    one_of = ("independent", "groups", "chain")

    independent: Truth = True
    groups: Text = ""
    at_most: Rows | None = Field(default=None, alias="at most")
    chain: ChainSection | None = None


def _word(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value != "independent":
        refuse(
            f"{shown(value)} is not understood here",
            "write independent, {groups: household_id, at most: 5} or {chain: ...}",
        )
    return {"independent": "true"}


AttackersEntry = Annotated[AttackersSection, Short(_word, {"const": "independent"})]
