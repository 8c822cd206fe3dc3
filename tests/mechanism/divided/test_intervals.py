"""Intervals from divided parts: they hold the truth, however uneven parts are inside."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import tetraodon as td
from tetraodon.exact.arrays import Ints
from tetraodon.gate import without_ledger
from tetraodon.mechanism.adaptive_partition import LastNumbers
from tetraodon.mechanism.strategy import Measured
from tetraodon.releases.plan import Plan
from tetraodon.releases.run import noisy

SURE = Fraction(19, 20)


def planned(sides: int, presence: str, size: int) -> Plan:
    names = ["x", "y"][:sides]
    asked = {"rectangles": names} if sides == 2 else {"ranges": "x"}
    return td.plan(
        {
            "dataset": "d",
            "presence": presence,
            "attributes": {name: {"integer": [0, size - 1]} for name in names},
            "budget": {"epsilon": 1},
            "release": [{"name": "r", "shape": "sparse", **asked}],
        }
    )


def uneven(sides: int, size: int) -> Ints:
    """Most records at few places, and others at the ends of parts, too few for these to be divided."""
    cells = np.zeros((size,) * sides, np.int64)
    cells[(size // 3,) * sides], cells[(size // 2,) * sides] = 3000, 700
    cells[(0,) * sides], cells[(size - 1,) * sides] = 25, 40
    cells[(size // 8,) * sides] = 30
    return cells


def drawn(plan: Plan, cells: Ints) -> Measured:
    exact = (cells[..., None], *(np.array([cells.sum()]) for _ in plan["r"].strategy.exact))
    return noisy(plan["r"], exact, without_ledger(plan.certificate))


@pytest.mark.parametrize("presence", ["public", "secret"])
@pytest.mark.parametrize(("sides", "size"), [(1, 300), (2, 40)])
def test_intervals_hold_the_truth_as_often_as_they_say(sides: int, size: int, presence: str) -> None:
    """A false alarm below 1e-9 for each: of 600 boxes, one in each of 600 releases, 30 may miss on average, and the
    chance that more than 72 do is less (Chernoff).
    """
    plan, cells, rng = planned(sides, presence, size), uneven(sides, size), np.random.default_rng(4)
    assert plan["r"].mechanism == "divided"
    at, missed = plan["r"].scaled(plan.policy.domain), 0
    for _ in range(600):
        low, high = np.sort(rng.integers(0, size, (2, sides)), axis=0)
        ends = tuple(np.array([end]) for end in low), tuple(np.array([end]) for end in high)
        found = at.mechanism.box_intervals(at, drawn(plan, cells), *ends, SURE)
        assert found is not None
        truth = cells[tuple(slice(a, b + 1) for a, b in zip(low, high, strict=True))].sum()
        missed += int(abs(truth - found[0][0]) > found[1][0] + 1e-9)
    assert missed <= 72


@pytest.mark.parametrize(("sides", "size"), [(1, 100), (2, 20)])
def test_many_boxes_are_as_one_by_one(sides: int, size: int) -> None:
    plan, cells = planned(sides, "public", size), uneven(sides, size)
    at, measured = plan["r"].scaled(plan.policy.domain), drawn(plan, cells)
    rng = np.random.default_rng(5)
    ends = np.sort(rng.integers(0, size, (2, 40, sides)), axis=0)
    low, high = (tuple(end[:, axis] for axis in range(sides)) for end in ends)
    many = at.mechanism.box_intervals(at, measured, low, high, SURE)
    assert many is not None
    for place in range(40):
        mask = np.zeros((size,) * sides, np.bool_)
        mask[tuple(slice(a[place], b[place] + 1) for a, b in zip(low, high, strict=True))] = True
        alone = at.mechanism.interval(at, measured, mask, SURE)
        assert alone == pytest.approx((many[0][place], many[1][place]))


def test_last_numbers_are_those_of_parts_inside_and_of_all_that_touch() -> None:
    plan, cells = planned(1, "public", 100), uneven(1, 100)
    at = plan["r"].scaled(plan.policy.domain)
    last = LastNumbers.of(at, drawn(plan, cells))
    assert [one.width for one in last.levels] == [8, 1]
    whole = np.ones(100, np.bool_)
    for touching, (first, end) in product((False, True), ((0, 99), (3, 70), (64, 99))):
        mask = (np.arange(100) >= first) & (np.arange(100) <= end)
        by_hand = sum(
            float(one.counts[part])
            for one in last.levels
            for part in np.flatnonzero(one.there)
            if (there := mask[part * one.width : (part + 1) * one.width]).all() or (touching and there.any())
        )
        assert last.over(mask, touching=touching)[0] == pytest.approx(by_hand)
    found = at.mechanism.interval(at, drawn(plan, cells), whole, SURE)
    assert found == (cells.sum(), 0.0)
