"""Discrete Gaussian noise of any rational width, exact to the last bit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import overload

import numpy as np

from tetraodon.noise.argument import Size, drawable, filled
from tetraodon.noise.coins import Coins, system_coins
from tetraodon.noise.elementary import MARGIN, heads
from tetraodon.noise.guide_table import GaussianLaw, GuideTable, Integers, build
from tetraodon.noise.laplace import LaplaceSampler, laplace_sampler
from tetraodon.rational import Number

_DIRECT = 1024  # widths up to here are drawn from one table


@dataclass(frozen=True, slots=True, eq=False)
class GaussianByRejection:
    """Discrete Laplace values, thinned to a discrete Gaussian ([CKS20] Algorithm 3).

    Pre   `laplace` draws at the scale t = floor(sigma) + 1.
    Post  a value Y stays with probability e**-gamma, gamma = (|Y| - sigma**2 / t)**2 / (2 sigma**2).
    Why   gamma in floats: with u = 2**-53 and |Y| <= 64 sigma, the difference errs by at most
          2u (|Y| + sigma), hence gamma by at most 64 * 65 * 2u + 4u * gamma < 2**-38, and e**-gamma
          by a factor within 2**-37.9 of 1, counting 2**-48 for the exponential itself. This
          is half of the margin at most. Beyond 64 sigma both sides are below e**-1900 < 2**-64.
    """

    laplace: LaplaceSampler
    sigma: Fraction
    margin: float = MARGIN
    width: int = 64

    def draw(self, count: int, coins: Coins) -> Integers:
        """`count` independent values."""
        parts: list[Integers] = []
        missing = count
        while missing > 0:
            kept = self._kept(missing + missing // 2 + 8, coins)[:missing]
            parts.append(kept)
            missing -= len(kept)
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def _kept(self, count: int, coins: Coins) -> Integers:
        value = self.laplace.draw(count, coins)
        variance = self.sigma**2
        centre = variance / (self.sigma // 1 + 1)
        distance = np.abs(value).astype(np.float64) - float(centre)
        gamma = distance * distance * float(1 / (2 * variance))

        def exact(place: int) -> Fraction:
            return (abs(int(value[place])) - centre) ** 2 / (2 * variance)

        return value[heads(gamma, exact, coins, margin=self.margin, width=self.width)]


@lru_cache(maxsize=64)
def gaussian_sampler(sigma: Fraction) -> GuideTable | GaussianByRejection:
    """The sampler of a width; tables are built on first use and kept for the last 64 widths."""
    if sigma <= _DIRECT:
        return build(GaussianLaw(sigma**2))
    return GaussianByRejection(laplace_sampler(sigma // 1 + Fraction(1)), sigma)


@overload
def discrete_gaussian(sigma: Number, size: None = None) -> int: ...
@overload
def discrete_gaussian(sigma: Number, size: Size) -> Integers: ...
def discrete_gaussian(sigma: Number, size: Size | None = None) -> int | Integers:
    """Integers k with probability proportional to e**(-k**2 / (2 * sigma**2)) ([CKS20] Def. 1).

    Pre   sigma is a rational number above 0 and at most 2**50; a float means its shortest decimal
          form. For a grid of step h pass sigma / h and multiply the result by h.
    Post  independent, and exactly so distributed, with variance at most sigma**2. `size` None gives
          an int; a count or a tuple of counts an array of int64.
    Raises NoiseError or PolicyError for a width or size that makes no sense.

    >>> discrete_gaussian("1/1000")
    0
    >>> discrete_gaussian(2.5, (2, 3)).shape
    (2, 3)
    """
    return filled(gaussian_sampler(drawable(sigma, name="sigma")), size, system_coins())
