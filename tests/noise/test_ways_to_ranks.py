"""Sums of weights against all cuts there are, listed one by one on tiny worlds."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import combinations_with_replacement

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.noise.cut_worlds import FEW, few_places, off, records_at, weight

from tetraodon.noise.joint_exponential import WaysToRanks

__all__ = ["few_places"]
WORLDS = st.tuples(
    st.lists(st.integers(0, 7), max_size=7),
    st.sets(st.sampled_from([Fraction(n, 12) for n in range(13)]), min_size=1, max_size=3),
    st.sampled_from([Fraction(1, 3), Fraction(1), Fraction(5, 2)]),
    st.sampled_from([2, 8, 64]),
    st.sampled_from([1, 2, 3]),
)


@given(WORLDS)
@settings(max_examples=90, deadline=None)
def test_bounds_hold_all_cuts_of_a_step(world: tuple[list[int], set[Fraction], Fraction, int, int]) -> None:
    """With so few bits that steps are left out, with some, and with all steps; of one rank each or of several."""
    places, asked, scale, spare, together = sorted(world[0]), tuple(sorted(world[1])), *world[2:]
    table = WaysToRanks(records_at(places, 4), asked, scale, spare, together)
    exact: dict[int, Fraction] = defaultdict(Fraction)
    for cuts in combinations_with_replacement(range(4 * FEW), len(asked)):
        step = sum(place < cuts[-1] for place in places) // together
        exact[step] += weight(off(cuts, places, asked, together), scale)
    first, weights = table.steps(len(asked), table.total, Fraction(0))
    one, total = 1 << table.bits, Fraction(0)
    for step, (low, high) in enumerate(zip(weights.lows, weights.highs, strict=True), first):
        assert low <= (exact[step] + Fraction(1, 2**300)) * one
        assert exact[step] * one <= high + weights.rest
        total += Fraction(high, one)
    assert sum(exact.values()) <= total + Fraction(weights.rest, one) + Fraction(1, 2**300)
    if spare == 64 and all(window == (0, len(places) // together) for window in table.windows[1:]):
        assert weights.rest == 0
        assert all(high - low < one >> 40 for low, high in zip(weights.lows, weights.highs, strict=True))
