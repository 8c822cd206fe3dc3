"""The least error of Gaussian strategies: against strategies by chance, where it is known, and what comes near it."""

from __future__ import annotations

import numpy as np
import pytest

from tetraodon.exact.arrays import Bools, Floats
from tetraodon.mechanism import strategy_optimiser as dual_search
from tetraodon.mechanism.strategy_optimiser import DUAL_NEAR as NEAR
from tetraodon.mechanism.strategy_optimiser import AskedPairs, Sought, best_sums, least_error
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Everything, Public, Within
from tetraodon.query.query import EveryRange, ListedRanges, RunningCounts


def steps_of(graph: AttributeGraph) -> Bools:
    code = np.arange(graph.size)
    return graph.adjacent(code[:, None], code)


def asked_of(reading: Sought, size: int) -> Floats:
    return AskedPairs(reading, size).times(np.eye(size))


def cost(x: Floats, asked: Floats, steps: Bools, *, absent: bool) -> float:
    """The error of a strategy with products X, times what it loses."""
    alone = np.diag(x)
    loss = max(float(((alone[:, None] + alone - 2 * x) * steps).max()), float(alone.max()) if absent else 0.0)
    free = np.linalg.inv(x + (0.0 if absent else 1.0))  # where the total is known, a constant adds nothing
    if not absent:
        along = free.sum(axis=0)
        free = free - np.outer(along, along) / along.sum()
    return loss * float(np.trace(asked @ free))


CASES = [
    (Public(12), True),
    (Everything(12), False),
    (Everything(12), True),
    (Within(12, 3), False),
    (Within(12, 3), True),
    (Blocks(tuple(code // 4 for code in range(12))), True),
]


@pytest.mark.parametrize("reading", [RunningCounts(), EveryRange()])
@pytest.mark.parametrize(("graph", "absent"), CASES)
def test_nothing_errs_less_than_the_bound_and_what_is_found_hardly_more(
    graph: AttributeGraph, absent: bool, reading: Sought
) -> None:
    asked, steps = asked_of(reading, 12), steps_of(graph)
    bound, x, _ = least_error(asked, steps, absent=absent)
    found = cost(x, asked, steps, absent=absent)
    assert bound <= found <= 1.02 * bound
    numbers = np.random.default_rng(6)
    rows = np.linalg.cholesky(x + (0.0 if absent else 1.0)).T
    for size in (0.01, 0.1, 1.0):
        for _ in range(20):
            other = rows + size * numbers.standard_normal((12, 12))
            assert cost(other.T @ other, asked, steps, absent=absent) >= bound


def test_where_the_least_error_is_known_it_is_found() -> None:
    """Steps of one move one running count each, and their products may be anything: single ones are best."""
    bound, _, _ = least_error(asked_of(RunningCounts(), 9), steps_of(Within(9, 1)), absent=False)
    assert bound == pytest.approx(8, rel=NEAR - 1)


@pytest.mark.parametrize("reading", [RunningCounts(), EveryRange()])
@pytest.mark.parametrize(
    ("graph", "absent", "width", "most"),
    [
        (Public(90), True, 3, 1.02),
        (Everything(90), False, 3, 1.04),
        (Within(90, 20), False, 3, 1.05),
        (Within(90, 20), True, 3, 1.08),
        (Within(90, 9), False, 2, 1.08),
        (Within(60, 4), False, 1, 1.02),
    ],
)
def test_between_knots_little_is_lost(
    graph: AttributeGraph, absent: bool, width: int, most: float, reading: Sought, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Strategies that were found at every third value, or where steps are short at every second one, over the bound."""
    monkeypatch.setattr(dual_search, "KNOTS", 30)
    best_sums.cache_clear()
    sums = best_sums("x", graph, reading, absent=absent)
    assert sums is not None
    assert (sums.width, sums.unit.numerator) == (width, 1)
    columns = sums.columns() * float(sums.unit)
    asked, steps = asked_of(reading, graph.size), steps_of(graph)
    bound, _, _ = least_error(asked, steps, absent=absent)
    found = cost(columns.T @ columns, asked, steps, absent=absent)
    best_sums.cache_clear()
    assert bound <= found <= most * bound


def test_listed_ranges_are_searched_for_where_all_values_are_knots() -> None:
    few = ListedRanges(((0, 3), (2, 9)))
    sums = best_sums("x", Everything(12), few, absent=False)
    every = best_sums("x", Everything(12), EveryRange(), absent=False)
    assert sums is not None
    assert every is not None
    asked, steps = asked_of(few, 12), steps_of(Everything(12))
    costs = [cost(c.T @ c, asked, steps, absent=False) for c in (one.columns() * 0.001 for one in (sums, every))]
    assert costs[0] < 0.7 * costs[1]
    long = best_sums("x", Public(300), few, absent=True)
    assert long is best_sums("x", Public(300), few, absent=True) is not None


def test_what_is_left_to_others() -> None:
    assert best_sums("x", Public(20), EveryRange(), absent=False) is None  # nothing is secret
    assert best_sums("x", Within(1000, 3), EveryRange(), absent=False) is None  # knots do not see such steps
    assert best_sums("x", Blocks(tuple(code // 4 for code in range(300))), EveryRange(), absent=True) is None
