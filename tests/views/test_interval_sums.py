"""Intervals of sums: the moments are those of the channel, and no table is missed more often than said."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tetraodon.views.channel import CopyChannel, SetChannel, ViewChannel
from tetraodon.views.interval import moments, sum_interval

SETS = SetChannel(Fraction(1, 2), Fraction(1, 10))
COPIES = CopyChannel(Fraction(1, 2), Fraction(1, 10))


@pytest.mark.parametrize("exponent", [-2.0, -0.1, 0.3, 1.5])
def test_moments(exponent: float) -> None:
    noise, record = moments(SETS, np.array([exponent]))
    assert noise is not None
    assert record is not None
    grown = math.exp(exponent)
    assert noise[0] == pytest.approx(math.log(0.9 + 0.1 * grown))
    assert noise[0] + record[0] == pytest.approx(math.log(0.4 + 0.6 * grown))
    noise, record = moments(COPIES, np.array([exponent]))
    assert noise is not None
    assert record is not None
    assert noise[0] == pytest.approx(math.log(sum(0.9 * 0.1**g * grown**g for g in range(200))))
    assert record[0] == pytest.approx(math.log(0.5 + 0.5 * grown))


def test_infinite_moments_are_left_out() -> None:
    assert moments(COPIES, np.array([math.log(10), 0.0]))[0].tolist() == [math.inf, 0.0]


@pytest.mark.parametrize("values", [(0, 1, 2), (-1, 0, 3), (-2, -1, 0), (5, 6, 7)])
def test_no_table_is_missed_too_often(values: tuple[int, ...]) -> None:
    """Every table over six tuples, every view of it: the probability of a miss is at most alpha."""
    tuples = np.repeat(np.array(values, float), 2)
    in_domain = np.array([2.0, 2.0, 2.0])
    seen = np.array(list(itertools.product(range(3), repeat=3)), float)
    every = [np.broadcast_to(one, seen.shape) for one in (in_domain, np.array(values, float))]
    ends = np.transpose(sum_interval(SETS, seen, *every, 6.0, Fraction(1, 5))).tolist()
    found = dict(zip(map(tuple, seen.tolist()), ends, strict=True))
    for table in itertools.product((0, 1), repeat=6):
        truth = float(np.dot(table, tuples))
        missed = 0.0
        for shown in itertools.product((0, 1), repeat=6):
            per_value = (shown[0] + shown[1], shown[2] + shown[3], shown[4] + shown[5])
            low, high = found[per_value]
            weight = math.prod(
                (0.6 if t else 0.1) if s else (0.4 if t else 0.9) for t, s in zip(table, shown, strict=True)
            )
            missed += weight * (not low - 1e-9 <= truth <= high + 1e-9)
        assert missed <= 0.2


@pytest.mark.parametrize(
    "channel", [SetChannel(Fraction(1, 2), Fraction(1, 10**6)), CopyChannel(Fraction(1, 2), Fraction(1, 10**6))]
)
def test_it_is_not_much_wider_than_the_normal_interval(channel: ViewChannel) -> None:
    values = np.arange(0.0, 100.0)
    in_domain = np.full(100, 1e8)
    in_view = np.full(100, 100.0 + 50.0)
    low, high = sum_interval(channel, in_view, in_domain, values, 12_000.0, Fraction(1, 20))
    estimate = float((in_view - 100) @ values / 0.5)
    spread = math.sqrt(float(((100 + 100 * 0.25) * values**2).sum())) / 0.5
    assert low < estimate < high
    assert (high - low) / 2 < 2 * 1.96 * spread
    assert (high - low) / 2 > 1.96 * spread


def test_nothing_to_add_up() -> None:
    assert sum_interval(SETS, np.array([3.0]), np.array([9.0]), np.array([0.0]), 5.0, Fraction(1, 20)) == (0.0, 0.0)
