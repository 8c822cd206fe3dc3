"""alone, apart and potential are what the columns say, entry by entry."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.worlds import attributes

from tetraodon.domain import Attribute, Integers
from tetraodon.errors import QueryError, Refused
from tetraodon.query import contribution
from tetraodon.query.contribution import AllRanges, Contribution, One, Prefix, Table
from tetraodon.query.number import Number
from tetraodon.query.smooth import Hats


@st.composite
def contributions(draw: st.DrawFn) -> Contribution:
    size = draw(st.integers(1, 6))
    kind = draw(st.sampled_from(["one", "prefix", "number", "squares", "weighted", "table", "ranges"]))
    match kind:
        case "one":
            return One()
        case "prefix":
            return Prefix("a", size, draw(st.sampled_from([size, max(size - 1, 1), 1])))
        case "number":
            return Number(draw(attributes("a")))
        case "squares":
            return Number(draw(attributes("a")), squared=True)
        case "weighted":
            return Number(draw(attributes("a")), draw(attributes("w", 4)), centred=draw(st.booleans()))
        case "table":
            row = st.lists(st.integers(-3, 3), min_size=size, max_size=size)
            return Table(("a",), np.array(draw(st.lists(row, min_size=1, max_size=3)), np.int64))
        case _:
            return AllRanges("a", size)


@given(contributions())
def test_they_agree_with_the_columns(given_one: Contribution) -> None:
    columns = given_one.columns()
    assert columns.shape[0] == given_one.rows
    cells = np.arange(columns.shape[1])
    assert given_one.alone(cells).tolist() == [int(np.abs(columns[:, x]).sum()) for x in cells]
    x, y = (np.array(ends) for ends in zip(*itertools.product(cells, cells), strict=True))
    apart = [int(np.abs(columns[:, a] - columns[:, b]).sum()) for a, b in zip(x, y, strict=True)]
    assert given_one.apart(x, y).tolist() == apart
    height = given_one.potential(cells)
    if height is not None:
        assert np.abs(height[x] - height[y]).tolist() == apart
        assert (np.diff(height) >= 0).all()  # the kernel adds potentials up, so all of them must rise


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
