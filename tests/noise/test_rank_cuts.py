"""Values chosen by rank against all cuts there are, listed one by one on tiny worlds."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.noise.cut_worlds import FEW, few_places, off, records_at, weight

from tetraodon.mechanism.ranks import cut_errors, rank_reach
from tetraodon.noise import joint_exponential as rank_cuts
from tetraodon.noise.coins import system_coins
from tetraodon.noise.joint_exponential import RankCuts, draw_by_rank

__all__ = ["few_places"]


def chances(
    places: list[int], size: int, shares: tuple[Fraction, ...], scale: Fraction, beyond: tuple[Fraction, ...] = ()
) -> dict[tuple[int, ...], float]:
    """The chance of every outcome, from a list of all cuts."""
    found: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for cuts in combinations_with_replacement(range(size * FEW), len(shares)):
        found[tuple(cut // FEW for cut in cuts)] += weight(off(cuts, places, shares, 1, beyond), scale)
    total = sum(found.values())
    return {outcome: float(one / total) for outcome, one in found.items()}


@pytest.mark.parametrize(
    ("places", "shares", "scale"),
    [
        ([1, 3, 3, 6], (Fraction(1, 2),), Fraction(2)),
        ([0, 2, 5, 5, 7], (Fraction(1, 4), Fraction(3, 4)), Fraction(1)),
        ([4, 4, 4], (Fraction(1, 3), Fraction(1, 2), Fraction(1)), Fraction(3)),
        ([], (Fraction(1, 2),), Fraction(1)),
        ([0, 2, 2, 3, 5, 5, 7], (Fraction(1, 4), Fraction(3, 4)), Fraction(20)),  # three ranks are one step
        ([4, 4, 4, 4, 5], (Fraction(1, 2),), Fraction(25)),  # all ranks are one step
    ],
)
@pytest.mark.parametrize("spare", [2, 128])
@pytest.mark.parametrize("reach", [Fraction(0), Fraction(3, 2), Fraction(6)])
def test_draws_have_their_chances(
    places: list[int],
    shares: tuple[Fraction, ...],
    scale: Fraction,
    reach: Fraction,
    spare: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A false alarm once in 10^9 runs for each of 36, by Bernstein's inequality for each outcome."""
    monkeypatch.setattr(rank_cuts, "SPARE", spare)
    monkeypatch.setattr(rank_cuts, "EACH", 0)
    beyond = tuple(reach * (-1) ** place for place in range(1, len(shares) + 1))
    expected, many = chances(places, 4, shares, scale, beyond), 1500
    law = RankCuts(records_at(places, 4), shares, scale, beyond)
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
    assert cut_errors(1) == pytest.approx([math.sqrt(1 / 2)], rel=2e-3)
    assert cut_errors(2) == pytest.approx([math.sqrt(5 / 6)] * 2, rel=2e-3)
    assert math.sqrt(np.mean(np.square(cut_errors(60)))) == pytest.approx(math.sqrt(62 / 3), rel=2e-2)
    assert max(cut_errors(9)) == cut_errors(9)[4]


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
