"""Poisson numbers with a whole mean, exact: as sums of numbers with mean 1."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tetraodon.errors import NoiseError
from tetraodon.noise.argument import CHUNK
from tetraodon.noise.coins import Coins
from tetraodon.noise.guide_table import GuideTable, Weights, build


@dataclass(frozen=True, slots=True)
class PoissonLaw:
    """The Poisson law of mean 1: weight 1/k! for k.

    Why  what follows k sums to less than 2/(k+1)!.
    """

    two_sided = False

    def weights(self, bits: int, reach: int) -> Weights:
        lows, highs, factorial, number = [], [], 1, 0
        one = 1 << bits
        while True:
            lows.append(one // factorial)
            highs.append(-(-one // factorial))
            number += 1
            factorial *= number
            if factorial >= 2 << reach:
                return Weights(lows, highs, -(-2 * one // factorial))


@lru_cache(maxsize=1)
def _table() -> GuideTable:
    return build(PoissonLaw())


def poisson(mean: int, coins: Coins) -> int:
    """One Poisson number of a whole mean, as the sum of `mean` numbers of mean 1: exactly that law."""
    if mean < 0:
        raise NoiseError("a mean is below zero", fix="give a whole number from 0")
    total = 0
    for start in range(0, mean, CHUNK):
        total += int(_table().draw(min(CHUNK, mean - start), coins).sum())
    return total
