"""Repeatable coins, for attacks and views that are played on made-up data: they fall the same way in every run.

Nothing that is released ever sees them. The noise comes from the package's own samplers, with these coins in the place
of secret ones.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tetraodon.exact.arrays import Ints
from tetraodon.noise.coins import Words
from tetraodon.noise.discrete import laplace_sampler


class Dice:
    """Repeatable coins; `drawn` counts the words that were asked for."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.drawn = 0

    def draw(self, count: int, bits: int) -> Words:
        """`count` uniform integers of `bits` bits."""
        self.drawn += count
        words: Words = self.random.integers(0, 1 << bits, size=count, dtype=np.uint64)
        return words

    def laplace(self, scale: Fraction | int, size: tuple[int, ...]) -> Ints:
        """Discrete Laplace noise from the package's own sampler."""
        count = int(np.prod(size))
        return laplace_sampler(Fraction(scale)).draw(count, self).reshape(size)
