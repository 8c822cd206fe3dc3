"""Squares of contributions equal those of the rows written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tetraodon.domain import Attribute, Integers
from tetraodon.query.contribution import AllRanges, Contribution, One, Prefix, Squared, Table
from tetraodon.query.number import Number
from tetraodon.query.smooth import Hats, Ramps

sizes = st.integers(2, 9)


@st.composite
def contributions(draw: st.DrawFn) -> tuple[Contribution, int]:
    size = draw(sizes)
    kind = draw(st.sampled_from(["prefix", "number", "times", "table", "ranges", "hats", "ramps"]))
    width = draw(st.integers(1, 10))
    low = draw(st.integers(-5, 5))
    number = Attribute("a", Integers(low, low + size - 1))
    entries = st.lists(st.integers(-3, 3), min_size=size, max_size=size)
    made: dict[str, Contribution] = {
        "prefix": Prefix("a", size, size - 1),
        "number": Number(number),
        "times": Number(number, Attribute("b", Integers(-1, 1)), centred=draw(st.booleans())),
        "table": Table(("a",), np.array(draw(st.lists(entries, min_size=1, max_size=3)))),
        "ranges": AllRanges("a", size),
        "hats": Hats("a", size, width),
        "ramps": Ramps("a", size, width),
    }
    return made[kind], size * 3 if kind == "times" else size


@settings(max_examples=300, deadline=None)
@given(contributions())
def test_squares_are_those_of_the_rows(made: tuple[Contribution, int]) -> None:
    contribution, size = made
    seen, rows = contribution.squares, contribution.columns()
    x, y = (cells.ravel() for cells in np.meshgrid(np.arange(size), np.arange(size)))
    assert seen.alone(np.arange(size)).tolist() == (rows**2).sum(axis=0).tolist()
    assert seen.apart(x, y).tolist() == ((rows[:, x] - rows[:, y]) ** 2).sum(axis=0).tolist()
    assert seen.columns().tolist() == rows.tolist()
    assert seen.names == contribution.names


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([Hats, Ramps]), sizes, st.integers(1, 9), st.integers(1, 8))
def test_the_longest_step_moves_most(kind: type[Hats | Ramps], size: int, width: int, reach: int) -> None:
    seen = Squared(kind("a", size, width))
    x, y = (cells.ravel() for cells in np.meshgrid(np.arange(size), np.arange(size)))
    near = np.abs(x - y) <= min(reach, size - 1)
    assert int(seen.apart(x[near], y[near]).max()) == seen.most_moved(np.array(min(reach, size - 1)))


def test_long_numbers_are_squared_exactly() -> None:
    seen = Number(Attribute("a", Integers(0, 2**40))).squares
    assert int(seen.alone(np.array([2**40]))[0]) == 2**80
    ramps = Squared(Ramps("a", 2**31, 2**30))
    assert int(ramps.alone(np.array([0]))[0]) == 2 * 2**60


@pytest.mark.parametrize("contribution", [One(), Prefix("a", 3, 2), Table(("a",), np.array([[0, 1]]))])
def test_zeros_and_ones_are_their_own_squares(contribution: Contribution) -> None:
    assert contribution.squares is contribution
    assert Squared(Hats("a", 3, 2)).potential(np.array([0])) is None
