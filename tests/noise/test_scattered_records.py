"""Records at random places of their codes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tetraodon.noise import sparse_sampling as scattered_records
from tetraodon.noise.coins import Coins, Words, system_coins
from tetraodon.noise.sparse_sampling import PLACES, ScatteredRecords


class Counting:
    """Coins that count how often they were asked."""

    def __init__(self, coins: Coins) -> None:
        self.coins, self.asked = coins, 0

    def draw(self, count: int, bits: int) -> Words:
        self.asked += count
        return self.coins.draw(count, bits)


def test_records_are_scattered_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two records of a code with two places. A false alarm is seven standard deviations away, once in 10^11 runs."""
    monkeypatch.setattr(scattered_records, "PLACES", 2)
    monkeypatch.setattr(scattered_records, "STEP", 1)
    drawn: Counter[tuple[int, ...]] = Counter()
    for _ in range(800):
        records = ScatteredRecords.of(np.array([1]), np.array([2]), 3, system_coins())
        drawn[tuple(records.widths(0, 2))] += 1
    assert drawn.keys() == {(3, 0, 3), (3, 1, 2), (4, 0, 2)}
    for ways, widths in ((1, (3, 0, 3)), (2, (3, 1, 2)), (1, (4, 0, 2))):
        assert abs(drawn[widths] - 200 * ways) <= 100


def test_places_are_drawn_where_they_are_asked_for_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scattered_records, "CHUNK", 4)
    coins = Counting(system_coins())
    records = ScatteredRecords.of(np.array([0, 3, 7]), np.array([5, 9, 100]), 8, coins)
    some = records.widths(2, 12)
    assert 14 < coins.asked <= 2 * 14
    every = records.widths(0, 114)
    assert coins.asked == 2 * 114
    assert every[2:13] == some
    assert records.widths(0, 114) == every
    assert sum(every) == 8 * PLACES
    assert coins.asked == 2 * 114


def test_the_first_place_of_a_rank_lies_behind_its_record() -> None:
    records = ScatteredRecords.of(np.array([2, 5]), np.array([1, 1]), 8, system_coins())
    widths = records.widths(0, 2)
    assert records.first(0) == 0
    assert 2 * PLACES < records.first(1) == widths[0] <= 3 * PLACES
    assert 5 * PLACES < records.first(2) == widths[0] + widths[1] <= 6 * PLACES


def test_steps_of_ranks_are_as_wide_as_their_ranks_together() -> None:
    coins = Counting(system_coins())
    records = ScatteredRecords.of(np.array([0, 3, 7]), np.array([50, 90, 100]), 8, coins)
    steps = records.widths(0, 4, 50)
    assert coins.asked < 2 * 240  # of most records half of the bits will do
    each = records.widths(0, 240)
    assert steps == [sum(each[first : first + 50]) for first in range(0, 241, 50)]


def test_the_rank_of_a_place_is_how_many_records_lie_before_it() -> None:
    records = ScatteredRecords.of(np.array([1, 4]), np.array([30, 3000]), 8, system_coins())
    places = [0, PLACES, PLACES + PLACES // 3, 2 * PLACES, 4 * PLACES + PLACES // 2, 8 * PLACES - 1]
    found = records.ranks(places)
    widths = records.widths(0, 3030)
    firsts = np.append(0, np.cumsum(widths))
    assert found == [int(np.searchsorted(firsts, place, side="right")) - 1 for place in places]
    assert (found[0], found[1], found[3], found[5]) == (0, 0, 30, 3030)


def test_no_records_leave_all_places_at_rank_0() -> None:
    records = ScatteredRecords.of(np.array([], np.int64), np.array([], np.int64), 8, system_coins())
    assert (records.total, records.widths(0, 0), records.first(0)) == (0, [8 * PLACES], 0)
    assert records.ranks([0, 8 * PLACES - 1]) == [0, 0]
