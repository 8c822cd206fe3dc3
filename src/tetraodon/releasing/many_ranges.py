"""Very many ranges of one released table, or rectangles of a map, at once: arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import DomainError, QueryError
from tetraodon.inference.estimate import Estimate
from tetraodon.releasing.table_answer import TableAnswer


def many_ranges(table: TableAnswer, low: Ints, high: Ints) -> Floats:
    """How many records lie between each pair of codes, both included: two look-ups a range.

    Pre   the table has one attribute; low <= high, all of them codes of it.
    """
    return _differences(table.values, low, high)


def _differences(counts: Floats, low: Ints, high: Ints) -> Floats:
    before = np.append(0.0, np.cumsum(counts))
    return np.asarray(before[high + 1] - before[low])


def many_intervals(table: TableAnswer, low: Ints, high: Ints) -> tuple[Floats, Floats]:
    """Lower and upper ends for the same ranges, each holding the truth with 95% probability by itself."""
    return table.boxes((low,), (high,), _differences(table.raw, low, high), many_ranges(table, low, high))


def one_rectangle(table: TableAnswer, sides: Mapping[str, tuple[object, object]]) -> Estimate:
    """The count in one rectangle, with the shortest ends we know."""
    low, high = _rectangle_ends(table, {name: ([a], [b]) for name, (a, b) in sides.items()})
    inside = [table.slab(name, int(a), int(b)) for name, a, b in zip(table.names, low[0], high[0], strict=True)]
    return table.add_up(inside[0] & inside[1])


def _rectangle_ends(table: TableAnswer, sides: Mapping[str, tuple[Any, Any]]) -> tuple[Ints, Ints]:
    splits = table.item.strategy.table
    if len(splits) != 2 or any(s.bins is not None or not table.domain[s.name].ordered for s in splits):
        what = f"{table.item.name} is not a map"
        raise QueryError(what, fix="ask a `rectangles` item, or a histogram of two ordered attributes")
    return rectangle_codes(table.names, table.domain, sides)


def rectangles_of(table: TableAnswer, sides: Mapping[str, tuple[Any, Any]]) -> dict[str, Floats]:
    """Counts in rectangles of a map, each with ends that hold the truth with 95% probability by itself."""
    low, high = _rectangle_ends(table, sides)
    values, centre = (many_rectangles(running_map(counts), low, high) for counts in (table.values, table.raw))
    lower, upper = table.boxes((low[:, 0], low[:, 1]), (high[:, 0], high[:, 1]), centre, values)
    return {"count": values, "lower": lower, "upper": upper}


def range_codes(table: TableAnswer, low: Sequence[object], high: Sequence[object]) -> tuple[Ints, Ints]:
    """The codes of the ends of ranges, checked."""
    name = table.ordered_name(None)
    if table.values.ndim != 1:
        raise QueryError(f"{table.item.name} is split by other attributes", fix="ask `between` for one range at a time")
    attribute = table.domain[name]
    first = np.array([attribute.code(value) for value in low], np.int64)
    last = np.array([attribute.code(value) for value in high], np.int64)
    if len(first) != len(last):
        raise QueryError("there are not as many low ends as high ends", fix="give one of each for every range")
    if (first > last).any():
        raise QueryError("a range is empty", fix="write the smaller end first")
    return first, last


def running_map(values: Floats) -> Floats:
    """Sums of all cells below and left of each corner."""
    return np.pad(np.cumsum(np.cumsum(values, axis=0), axis=1), ((1, 0), (1, 0)))


def many_rectangles(running: Floats, low: Ints, high: Ints) -> Floats:
    """The sums of rectangles, both ends included: four look-ups each."""
    (a, b), (c, d) = low.T, high.T + 1
    return np.asarray(running[c, d] - running[a, d] - running[c, b] + running[a, b])


def rectangle_codes(names: Sequence[str], domain: Domain, sides: Mapping[str, tuple[Any, Any]]) -> tuple[Ints, Ints]:
    """The codes of rectangles: for every side its low ends and its high ends; a side that is not named is whole."""
    for name in sides:
        if name not in names:
            raise QueryError(f"the map has no side {name!r}", fix=f"name {' and '.join(names)}")
    if not sides:
        raise QueryError("no rectangle is named", fix=f"give the ends of {' or '.join(names)}")
    ends = {name: [_codes(domain[name], end) for end in pair] for name, pair in sides.items()}
    count = len(next(iter(ends.values()))[0])
    low, high = np.zeros((count, 2), np.int64), np.zeros((count, 2), np.int64)
    for place, name in enumerate(names):
        first, last = ends.get(name) or (np.zeros(count, np.int64), np.full(count, domain[name].size - 1))
        if len(first) != count or len(last) != count:
            raise QueryError("there are not as many low ends as high ends", fix="give one of each for every rectangle")
        low[:, place], high[:, place] = first, last
    if (low > high).any():
        raise QueryError("a rectangle is empty", fix="write the smaller end first")
    return low, high


def _codes(attribute: Attribute, values: Any) -> Ints:
    array = np.asarray(values)
    if isinstance(attribute.values, Integers) and array.dtype.kind in "iu":
        codes = array.astype(np.int64) - attribute.values.low
        if ((codes < 0) | (codes >= attribute.size)).any():
            raise DomainError(
                "a value is not in the domain of its attribute",
                fix="use a value that the policy's `attributes` list",
                where=attribute.name,
            )
        return codes
    return np.array([attribute.code(value) for value in values], np.int64)
