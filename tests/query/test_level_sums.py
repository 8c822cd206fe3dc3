"""Levels against plain sums, and the farthest step by looking at all of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tetraodon.domain import Attribute, Grid, Integers
from tetraodon.errors import QueryError
from tetraodon.exact.arrays import LARGEST
from tetraodon.query.levels import LevelSums
from tetraodon.query.number import Number

VALUES = [Integers(1000, 1100), Integers(10, 175), Integers(16, 64), Grid("2.5", "40", "0.25"), Integers(7, 7)]


def levels(values: Integers | Grid) -> LevelSums:
    return LevelSums(Attribute("x", values))


@pytest.mark.parametrize("values", VALUES)
def test_levels_add_up_to_the_values(values: Integers | Grid) -> None:
    sums, codes = levels(values), np.arange(values.size)
    numbers = Number(sums.attribute).values(codes)
    added = sums.added(codes)
    assert (numbers[0] + (added / sums.times[:, None]).sum(axis=0)).tolist() == numbers.tolist()
    assert added.min() == 0
    assert added.max() <= sums.width
    full = added[:-1] == sums.width
    assert (full | (added[1:] == 0)).all(), "whoever is in a level fills those below"
    assert [sums._height(code) for code in codes.tolist()] == added.sum(axis=0).tolist()
    assert sums.length == added[:, -1].sum()


@pytest.mark.parametrize("values", VALUES[:4])
@pytest.mark.parametrize("share", [Fraction(1, 20), Fraction(1, 10), Fraction(1, 3), Fraction(37, 100), Fraction(5)])
def test_the_farthest_step_by_looking_at_all(values: Integers | Grid, share: Fraction) -> None:
    sums = levels(values)
    added = sums.added(np.arange(values.size))
    steps = {
        (x, y): int(np.abs(added[:, y] - added[:, x]).sum())
        for x in range(values.size)
        for y in range(x, values.size)
        if values.number(y) <= (1 + share) * values.number(x)
    }
    apart, pair = sums.farthest(share)
    assert apart == max(steps.values()) == steps[pair]


def test_many_values_are_not_looked_at_one_by_one() -> None:
    sums = levels(Integers(100, 10**15))
    far, (x, y) = sums.farthest(Fraction(1, 10))
    assert Fraction(far, 2 * sums.width) == pytest.approx(1 / 11, rel=1e-9)
    assert 10 * (100 + y) <= 11 * (100 + x)
    with pytest.raises(QueryError, match="so many digits"):
        sums.farthest(Fraction(1_234_567, 10**7 + 1))


def test_cells_are_added_up_with_noise_on_each_level() -> None:
    sums = levels(Integers(1000, 7000))
    occupied = np.empty(2, object)
    occupied[:] = [np.array([[0, 3], [5000, 2]]), np.zeros((0, 2), np.int64)]
    found = sums.shown(occupied, lambda many: np.arange(many))
    assert found.tolist() == [[8000, 8001, 4002], [3, 4, 5]]
    assert sums.could_tell(found - 10**6, Fraction(1))
    assert not sums.could_tell(np.array([LARGEST + 1]), Fraction(1))
