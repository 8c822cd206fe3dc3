"""Values chosen by rank against all cuts there are, listed one by one on tiny worlds."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tetraodon.noise import rank_cuts, scattered_records
from tetraodon.noise.coins import system_coins
from tetraodon.noise.exponential import exp_bounds
from tetraodon.noise.rank_cuts import RankCuts, WaysToRanks, draw_by_rank, rank_reach, usual_error
from tetraodon.noise.scattered_records import ScatteredRecords

BITS = 400
FEW = 2
"""Places in a code of these worlds."""


@pytest.fixture(autouse=True)
def _few_places(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (rank_cuts, scattered_records):
        monkeypatch.setattr(module, "PLACES", FEW)
    monkeypatch.setattr(scattered_records, "STEP", 1)


def records_at(places: list[int], size: int) -> ScatteredRecords:
    """Records whose places are known."""
    at, counts = np.unique(np.array(places, np.int64), return_counts=True)
    return ScatteredRecords(at, np.ones(len(at), np.int64), counts, size, system_coins())


def off(cuts: tuple[int, ...], places: list[int], shares: tuple[Fraction, ...]) -> Fraction:
    """U: how many records all gaps have too many, or too few."""
    ranks = [0, *(sum(place < cut for place in places) for cut in cuts), len(places)]
    wanted = [Fraction(0), *shares, Fraction(1)]
    gaps = zip(pairwise(ranks), pairwise(wanted), strict=True)
    return sum((abs(b - a - (d - c) * len(places)) for (a, b), (c, d) in gaps), Fraction(0))


def weight(off_by: Fraction, scale: Fraction) -> Fraction:
    return Fraction(exp_bounds(off_by / scale, BITS).low, 1 << BITS)


def chances(
    places: list[int], size: int, shares: tuple[Fraction, ...], scale: Fraction
) -> dict[tuple[int, ...], float]:
    """The chance of every outcome, from a list of all cuts."""
    found: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for cuts in combinations_with_replacement(range(size * FEW), len(shares)):
        found[tuple(cut // FEW for cut in cuts)] += weight(off(cuts, places, shares), scale)
    total = sum(found.values())
    return {outcome: float(one / total) for outcome, one in found.items()}


WORLDS = st.tuples(
    st.lists(st.integers(0, 7), max_size=7),
    st.sets(st.sampled_from([Fraction(n, 12) for n in range(13)]), min_size=1, max_size=3),
    st.sampled_from([Fraction(1, 3), Fraction(1), Fraction(5, 2)]),
    st.sampled_from([2, 8, 64]),
)


@given(WORLDS)
@settings(max_examples=60, deadline=None)
def test_bounds_hold_all_cuts_of_a_rank(world: tuple[list[int], set[Fraction], Fraction, int]) -> None:
    """With so few bits that ranks are left out, with some, and with all ranks."""
    places, asked, scale, spare = sorted(world[0]), tuple(sorted(world[1])), world[2], world[3]
    table = WaysToRanks(records_at(places, 4), asked, scale, spare)
    exact: dict[int, Fraction] = defaultdict(Fraction)
    for cuts in combinations_with_replacement(range(4 * FEW), len(asked)):
        exact[sum(place < cuts[-1] for place in places)] += weight(off(cuts, places, asked), scale)
    first, weights = table.ranks(len(asked), len(places), Fraction(0))
    one, total = 1 << table.bits, Fraction(0)
    for rank, (low, high) in enumerate(zip(weights.lows, weights.highs, strict=True), first):
        assert low <= (exact[rank] + Fraction(1, 2**300)) * one
        assert exact[rank] * one <= high + weights.rest
        total += Fraction(high, one)
    assert sum(exact.values()) <= total + Fraction(weights.rest, one) + Fraction(1, 2**300)
    if spare == 64 and all(window == (0, len(places)) for window in table.windows[1:]):
        assert weights.rest == 0
        assert all(high - low < one >> 40 for low, high in zip(weights.lows, weights.highs, strict=True))


@pytest.mark.parametrize(
    ("places", "shares", "scale"),
    [
        ([1, 3, 3, 6], (Fraction(1, 2),), Fraction(2)),
        ([0, 2, 5, 5, 7], (Fraction(1, 4), Fraction(3, 4)), Fraction(1)),
        ([4, 4, 4], (Fraction(1, 3), Fraction(1, 2), Fraction(1)), Fraction(3)),
        ([], (Fraction(1, 2),), Fraction(1)),
    ],
)
@pytest.mark.parametrize("spare", [2, 128])
def test_draws_have_their_chances(
    places: list[int], shares: tuple[Fraction, ...], scale: Fraction, spare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A false alarm once in 10^9 runs for each of eight, by Bernstein's inequality for each outcome."""
    monkeypatch.setattr(rank_cuts, "SPARE", spare)
    monkeypatch.setattr(rank_cuts, "EACH", 0)
    expected, many = chances(places, 4, shares, scale), 1500
    law = RankCuts(records_at(places, 4), shares, scale)
    drawn = Counter(tuple(law.draw()) for _ in range(many))
    assert set(drawn) <= set(expected)
    log = math.log(2 * len(expected) * 10**9)
    for outcome, chance in expected.items():
        room = math.sqrt(2 * many * chance * (1 - chance) * log) + 2 * log / 3
        assert abs(drawn[outcome] - many * chance) <= room


def test_each_cell_has_its_own_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scales so small that nothing else has a chance of 10^-30."""
    monkeypatch.undo()
    occupied = np.empty(3, object)
    occupied[:] = [np.array([[1, 40]]), np.zeros((0, 2), np.int64), np.array([[0, 30], [3, 30]])]
    found = draw_by_rank(occupied, 4, (Fraction(1, 4), Fraction(3, 4)), Fraction(1, 50), system_coins())
    assert found[0].tolist() == [1, 1]
    assert found[2].tolist() == [0, 3]
    assert found.shape == (3, 2)


def test_the_usual_error_is_that_of_evenly_spread_records() -> None:
    """Of one cut it is the square root of one half; of two, from polynomials times exponentials, that of 5/6."""
    assert usual_error(1) == pytest.approx(math.sqrt(1 / 2), rel=2e-3)
    assert usual_error(2) == pytest.approx(math.sqrt(5 / 6), rel=2e-3)
    assert usual_error(60) == pytest.approx(math.sqrt(62 / 3), rel=2e-2)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.sampled_from([Fraction(1, 2), Fraction(2)]))
@settings(max_examples=20, deadline=None)
def test_ranks_are_hardly_ever_off_by_more_than_the_bound(places: list[int], scale: Fraction) -> None:
    shares = (Fraction(1, 3), Fraction(1, 2))
    reach, total, beyond = rank_reach(2, 3, scale, Fraction(95, 100)), Fraction(0), Fraction(0)
    for cuts in combinations_with_replacement(range(3 * FEW), 2):
        one = weight(off(cuts, places, shares), scale)
        ranks = [sum(place < cut for place in places) for cut in cuts]
        far = max(abs(rank - share * len(places)) for rank, share in zip(ranks, shares, strict=True)) > reach
        total, beyond = total + one, beyond + one * far
    assert beyond <= total / 20
    assert rank_reach(2, 3, scale, Fraction(1)) == math.inf
