"""Worlds so tiny that all cuts in them can be listed: codes with two places each."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from tetraodon.noise import joint_exponential as rank_cuts
from tetraodon.noise import joint_exponential as ways_to_ranks
from tetraodon.noise import sparse_sampling as scattered_records
from tetraodon.noise.coins import system_coins
from tetraodon.noise.elementary import exp_bounds
from tetraodon.noise.sparse_sampling import ScatteredRecords

BITS = 400
FEW = 2
"""Places in a code of these worlds."""


@pytest.fixture(autouse=True)
def few_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever imports this has so few places in every test."""
    for module in (rank_cuts, scattered_records, ways_to_ranks):
        monkeypatch.setattr(module, "PLACES", FEW)
    monkeypatch.setattr(scattered_records, "STEP", 1)


def records_at(places: list[int], size: int) -> ScatteredRecords:
    """Records whose places are known."""
    at, counts = np.unique(np.array(places, np.int64), return_counts=True)
    return ScatteredRecords(at, np.ones(len(at), np.int64), counts, size, system_coins())


def off(
    cuts: tuple[int, ...],
    places: list[int],
    shares: tuple[Fraction, ...],
    together: int = 1,
    beyond: tuple[Fraction, ...] = (),
) -> Fraction:
    """U: how many records all gaps have too many, or too few, where each cut has the first rank of its step."""
    ranks = [sum(place < cut for place in places) // together * together for cut in cuts]
    more = beyond or (Fraction(0),) * len(shares)
    wanted = [share * len(places) + each for share, each in zip(shares, more, strict=True)]
    gaps = zip(pairwise([0, *ranks, len(places)]), pairwise([Fraction(0), *wanted, Fraction(len(places))]), strict=True)
    return sum((abs(b - a - (d - c)) for (a, b), (c, d) in gaps), Fraction(0))


def weight(off_by: Fraction, scale: Fraction) -> Fraction:
    """e^(-U / scale), but for so little that no test sees it."""
    return Fraction(exp_bounds(off_by / scale, BITS).low, 1 << BITS)
