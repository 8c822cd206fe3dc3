"""What a contribution says about itself is what its columns say, entry by entry."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.worlds import soft_bins

from tetraodon.domain import Attribute, Integers
from tetraodon.errors import QueryError, Refused
from tetraodon.query import contribution
from tetraodon.query.contribution import (
    AllRanges,
    Answerers,
    Beyond,
    Contribution,
    One,
    Prefix,
    Table,
    Traits,
    WeightedSums,
)
from tetraodon.query.number import Number
from tetraodon.query.smooth import Hats, Ramps, SmoothRunning, SmoothSums
from tetraodon.query.soft_bins import Product
from tetraodon.query.weighted_margins import WeighedMargins
from tetraodon.releases.codec import KINDS

SIZE = 6
CODES = np.arange(SIZE)
KERNELS = [np.array([3]), np.array([1, 4]), np.array([-1, 9, 2])]


@st.composite
def contributions(draw: st.DrawFn) -> Contribution:
    """Any kind that adds up columns, over one attribute of six values, `x`, or over it and another of three, `y`."""
    width, rows = draw(st.integers(1, 8)), st.lists(st.integers(-3, 3), min_size=SIZE, max_size=SIZE)
    value = Attribute("x", Integers(low := draw(st.integers(-8, 3)), low + SIZE - 1))
    other, kernel = Attribute("y", Integers(-1, 1)), draw(st.sampled_from(KERNELS))
    margins = [draw(st.integers(-2, 3)) for _ in range(3)]
    knots = -(-(SIZE - 1) // width) + 1
    kinds: list[Callable[[], Contribution]] = [
        One,
        lambda: Answerers(("x",), SIZE),
        lambda: Prefix("x", SIZE, draw(st.sampled_from([SIZE, SIZE - 1, 1]))),
        lambda: Number(value, squared=draw(st.booleans())),
        lambda: Number(value, other, centred=draw(st.booleans())),
        lambda: Table(("x",), np.array(draw(st.lists(rows, min_size=1, max_size=3)), np.int64)),
        lambda: WeightedSums("x", np.arange(1, SIZE + 1), np.array([draw(rows)]), Fraction(1, 4)),
        lambda: Beyond.of("x", tuple(draw(st.integers(0, code)) for code in range(SIZE))),
        lambda: AllRanges("x", SIZE),
        lambda: Hats("x", SIZE, width),
        lambda: Ramps("x", SIZE, width),
        lambda: SmoothSums(
            "x", SIZE, width, np.array([draw(rows)[:knots]] * 2), 20 * kernel**2, np.arange(1, SIZE + 1), Fraction(1, 4)
        ),
        lambda: SmoothRunning("x", SIZE, kernel**2, Fraction(1, 4)),
        lambda: draw(soft_bins(value)),
        lambda: Product((draw(soft_bins(value)), draw(soft_bins(other)))),
        lambda: WeighedMargins(("x", "y"), (SIZE, 3), (*margins, 60), Fraction(1, 2)),
    ]
    return draw(st.sampled_from(kinds))()


@settings(max_examples=600, deadline=None)
@given(contributions(), st.data())
def test_a_contribution_is_what_its_columns_say(kind: Contribution, data: st.DataObject) -> None:
    columns = kind.columns()
    assert columns.shape[0] == kind.rows
    cells = np.arange(columns.shape[1])
    x, y = (np.array(ends) for ends in zip(*itertools.product(cells, cells), strict=True))
    moved = columns[:, x] - columns[:, y]
    assert kind.alone(cells).tolist() == np.abs(columns).sum(axis=0).tolist()
    assert kind.apart(x, y).tolist() == np.abs(moved).sum(axis=0).tolist()
    assert kind.alone(cells, 2).tolist() == (columns**2).sum(axis=0).tolist()
    assert kind.apart(x, y, 2).tolist() == (moved**2).sum(axis=0).tolist()
    assert kind.zeros_and_ones <= set(np.unique(columns).tolist()).issubset({0, 1})
    assert kind.signed >= bool((columns < 0).any())
    height = kind.potential(cells)
    if height is not None:
        assert np.abs(height[x] - height[y]).tolist() == kind.apart(x, y).tolist()
        assert (np.diff(height) >= 0).all()  # the kernel adds potentials up, so all of them must rise
    sizes = [{"x": SIZE, "y": 3}[name] for name in kind.names]
    codes = [np.asarray(part) for part in np.unravel_index(np.arange(math.prod(sizes)), sizes)] if sizes else []
    counts = np.array(data.draw(st.lists(st.integers(0, 9), min_size=len(cells), max_size=len(cells))))
    found = kind.totals(codes, sizes, counts, np.zeros(len(cells), np.int64), 1)
    assert np.ravel(found).tolist() == (columns @ counts).tolist()


@settings(max_examples=400, deadline=None)
@given(contributions().filter(lambda kind: len(kind.names) < 2), st.booleans(), st.integers(1, SIZE - 1))
def test_what_it_says_of_steps_holds(kind: Contribution, squares: bool, reach: int) -> None:
    power = 2 if squares else 1
    traits, alone = kind.traits(power), np.broadcast_to(kind.alone(CODES, power), (SIZE,)).astype(int)
    steps = {gap: np.asarray(kind.apart(CODES[:-gap], CODES[gap:], power)).astype(int) for gap in range(1, SIZE)}
    if Traits.CONVEX in traits:
        assert (np.diff(alone, 2) >= 0).all()
        assert all((np.diff(step, 2) >= 0).all() for step in steps.values())
    if Traits.LINEAR in traits:  # the longest and the shortest step are the worst from either end
        ends = [steps[gap][[0, -1]] for gap in (1, reach)]
        assert max(step.max() for gap, step in steps.items() if gap <= reach) == np.max(ends)
    if Traits.ANSWERED in traits:
        assert (np.diff(alone[:-1], 2) >= 0).all()
    if Traits.BY_GAP in traits:
        assert all(len(set(step.tolist())) == 1 for step in steps.values())
    if Traits.FIRST in traits:
        assert alone.max() == alone[0]
    if Traits.BY_LENGTH in traits or Traits.SMOOTHED in traits:
        near = max(step.max() for gap, step in steps.items() if gap <= reach)
        assert near <= int(kind.most_moved(np.array([reach]), power)[0])
    if Traits.BY_LENGTH in traits:
        assert all((steps[gap][:-1] <= steps[gap + 1]).all() for gap in range(1, SIZE - 1))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_written_and_read_back(kind: str) -> None:
    """What a release says of each kind is held together with releases in `tests/releases/test_codec.py`."""
    assert KINDS[kind].read is not Contribution.read
    assert KINDS[kind].document is not Contribution.document


def test_long_numbers_are_squared_exactly() -> None:
    seen = Number(Attribute("a", Integers(0, 2**40)))
    assert int(seen.alone(np.array([2**40]), 2)[0]) == 2**80
    assert int(Ramps("a", 2**31, 2**30).alone(np.array([0]), 2)[0]) == 2 * 2**60


def test_a_single_range_by_hand() -> None:
    assert AllRanges("a", 3).columns().tolist() == [
        [1, 0, 0],
        [1, 1, 0],
        [1, 1, 1],
        [0, 1, 0],
        [0, 1, 1],
        [0, 0, 1],
    ]
    assert Prefix("a", 3, 2).columns().tolist() == [[1, 0, 0], [1, 1, 0]]


@pytest.mark.parametrize(
    "large",
    [
        Prefix("a", 10**12, 10**12),
        AllRanges("a", 10**6),
        Hats("a", 10**5, 7),
        Number(Attribute("a", Integers(0, 10**12))),
        Number(Attribute("a", Integers(0, 10**5)), Attribute("w", Integers(0, 10**5))),
    ],
)
def test_large_matrices_are_refused_before_they_are_written(large: Contribution) -> None:
    with pytest.raises(Refused, match="written out"):
        large.columns()


def test_the_limit_itself_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contribution, "WRITE_LIMIT", 12)
    assert Prefix("a", 4, 3).columns().shape == (3, 4)
    with pytest.raises(Refused):
        Prefix("a", 4, 4).columns()


def test_a_table_of_no_attribute_would_escape_the_certificate() -> None:
    with pytest.raises(QueryError, match="no attribute"):
        Table((), np.ones((1, 1), np.int64))


def test_a_trillion_values_cost_nothing() -> None:
    x = np.array([0, 10**12 - 1])
    assert Prefix("a", 10**12, 10**12).alone(x).tolist() == [10**12, 1]
    assert Number(Attribute("a", Integers(1, 10**12))).alone(x).tolist() == [1, 10**12]
    assert AllRanges("a", 10**9).rows == 10**9 * (10**9 + 1) // 2
