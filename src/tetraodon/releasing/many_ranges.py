"""Very many ranges of one released table at once: arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Floats
from tetraodon.errors import QueryError
from tetraodon.inference.estimate import CONFIDENCE, Estimate
from tetraodon.releasing.estimates import no_table
from tetraodon.releasing.grid_reach import many_rectangles, rectangle_codes, rectangle_reach, running_map
from tetraodon.releasing.smooth_reach import range_reach
from tetraodon.releasing.table_answer import TableAnswer

Codes = NDArray[np.int64]


def many_ranges(table: TableAnswer, low: Codes, high: Codes) -> Floats:
    """How many records lie between each pair of codes, both included: two look-ups a range.

    Pre   the table has one attribute; low <= high, all of them codes of it.
    """
    before = np.append(0.0, np.cumsum(table.values))
    return np.asarray(before[high + 1] - before[low])


def many_intervals(table: TableAnswer, low: Codes, high: Codes) -> tuple[Floats, Floats]:
    """Lower and upper ends for the same ranges, each holding the truth with 95% probability by itself."""
    item = table.item
    before = np.append(0.0, np.cumsum(table.raw))
    centre, values = before[high + 1] - before[low], many_ranges(table, low, high)
    last = table.values.shape[-1] - 1
    match item.mechanism:
        case "exact":
            return values, values
        case "hierarchical":
            reach = range_reach(item.strategy, item.scale, low, high, CONFIDENCE)
        case "ordered":
            known = len(item.strategy.noisy) == 1
            reach = _reaches(table, (low > 0).astype(np.int64) + ~((high == last) & known))
        case "identity":
            reach = _reaches(table, high - low + 1)
        case "grid" | "direct" | "synopsis":
            raise no_table(item.mechanism)
        case _:
            assert_never(item.mechanism)
    lower, upper = np.maximum(centre - reach, 0.0), np.maximum(centre + reach, 0.0)
    return np.minimum(lower, values), np.maximum(upper, values)


def one_rectangle(table: TableAnswer, sides: Mapping[str, tuple[object, object]]) -> Estimate:
    """The count in one rectangle, with the shortest ends we know."""
    low, high = _rectangle_ends(table, {name: ([a], [b]) for name, (a, b) in sides.items()})
    inside = [table.slab(name, int(a), int(b)) for name, a, b in zip(table.names, low[0], high[0], strict=True)]
    return table.add_up(inside[0] & inside[1])


def _rectangle_ends(table: TableAnswer, sides: Mapping[str, tuple[Any, Any]]) -> tuple[Codes, Codes]:
    splits = table.item.strategy.table
    if len(splits) != 2 or any(s.bins is not None or not table.domain[s.name].ordered for s in splits):
        what = f"{table.item.name} is not a map"
        raise QueryError(what, fix="ask a `rectangles` item, or a histogram of two ordered attributes")
    return rectangle_codes(table.names, table.domain, sides)


def rectangles_of(table: TableAnswer, sides: Mapping[str, tuple[Any, Any]]) -> dict[str, Floats]:
    """Counts in rectangles of a map, each with ends that hold the truth with 95% probability by itself."""
    item = table.item
    low, high = _rectangle_ends(table, sides)
    values = many_rectangles(running_map(table.values), low, high)
    centre = many_rectangles(running_map(table.raw), low, high)
    match item.mechanism:
        case "exact":
            return {"count": values, "lower": values, "upper": values}
        case "grid":
            reach = rectangle_reach(item.strategy, item.scale, table.domain, low, high, CONFIDENCE)
        case "ordered":
            reach = _reaches(table, 2 * (high[:, 0] - low[:, 0] + 1))
        case "identity" | "hierarchical":
            reach = _reaches(table, np.prod(high - low + 1, axis=1))
        case "direct" | "synopsis":
            raise no_table(item.mechanism)
        case _:
            assert_never(item.mechanism)
    lower, upper = np.maximum(centre - reach, 0.0), np.maximum(centre + reach, 0.0)
    return {"count": values, "lower": np.minimum(lower, values), "upper": np.maximum(upper, values)}


def _reaches(table: TableAnswer, terms: Codes) -> Floats:
    kinds, which = np.unique(terms, return_inverse=True)
    item = table.item
    reach = [item.strategy.noise.sum_quantile(item.scale, int(kind), CONFIDENCE) for kind in kinds]
    return np.array(reach, np.float64)[which]


def range_codes(table: TableAnswer, low: Sequence[object], high: Sequence[object]) -> tuple[Codes, Codes]:
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
