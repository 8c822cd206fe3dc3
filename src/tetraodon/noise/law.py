"""The laws that the table sampler knows, each as bounds on its weights to any precision.

A law gives every outcome 0, 1, 2, ... a weight; its probability is the weight over the sum of all. The
outcome stands for an integer: itself, or for the two-sided laws `zigzag`, 0, -1, 1, -2, 2, ...
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Protocol

from tetraodon.noise.exponential import Bounds, exp_bounds, times


class Weights(NamedTuple):
    """Bounds on the first weights, and an upper bound on the sum of all others; scaled by 2**bits."""

    lows: list[int]
    highs: list[int]
    rest: int


class Law(Protocol):
    """A distribution on 0, 1, 2, ... whose first weight is 1."""

    @property
    def two_sided(self) -> bool:
        """Whether outcomes stand for 0, -1, 1, -2, 2, ... rather than for themselves."""
        ...

    def weights(self, bits: int, reach: int) -> Weights:
        """Bounds scaled by 2**bits, far enough that `rest` is at most 2**(bits - reach).

        The bounds always hold; with too few bits beyond `reach` the rest may stay above that.
        """
        ...


def zigzag(outcome: int) -> int:
    """The integer an outcome of a two-sided law stands for.

    >>> [zigzag(outcome) for outcome in range(5)]
    [0, -1, 1, -2, 2]
    """
    return (outcome >> 1) ^ -(outcome & 1)


@dataclass(frozen=True, slots=True)
class BlockLaw:
    """Which block of 2**shift neighbours a discrete Laplace value falls in: floor(X / 2**shift).

    Post  with p = e**(-1/scale) and q = p**(2**shift), block j >= 0 has weight q**j and block -1-j
          has weight p * q**j; their sum is (1 + p) / (1 - q).
    Why   block j holds j * 2**shift + r, r in [0, 2**shift), of weight q**j * p**r each. Block -1-j
          holds -1 - (j * 2**shift + r), of weight p * q**j * p**r. The sum over r is the same
          for all blocks, so r is independent of the block, and has `DigitLaw`s.
    """

    scale: Fraction
    shift: int = 0
    two_sided = True

    def weights(self, bits: int, reach: int) -> Weights:
        one = 1 << bits
        step = exp_bounds(1 / self.scale, bits)
        ratio = exp_bounds((1 << self.shift) / self.scale, bits)
        # What follows pair j sums to at most 2 * q**(j+1) / (1 - q).
        small = (one - ratio.high << bits - reach - 1) >> bits
        lows: list[int] = []
        highs: list[int] = []
        power = Bounds(one, one)
        while True:
            below = times(power, step, bits)
            lows += (power.low, below.low)
            highs += (power.high, below.high)
            last, power = power, times(power, ratio, bits)
            if power.high <= small or power.high == last.high:  # rounding up may stop the fall
                rest = -(-(2 * power.high << bits) // (one - ratio.high))
                return Weights(lows, highs, rest)


@dataclass(frozen=True, slots=True)
class DigitLaw:
    """One digit, in base 2**width, of the place of a discrete Laplace value in its block.

    Post  digit d in [0, 2**width) has weight e**(-d * 2**place / scale).
    Why   r = sum of d_i * 2**place_i has weight p**r, the product of the digits' own weights: they are
          independent.
    """

    scale: Fraction
    place: int
    width: int
    two_sided = False

    def weights(self, bits: int, reach: int) -> Weights:  # noqa: ARG002 - a finite law reaches its end
        ratio = exp_bounds((1 << self.place) / self.scale, bits)
        lows, highs = [], []
        power = Bounds(1 << bits, 1 << bits)
        for _ in range(1 << self.width):
            lows.append(power.low)
            highs.append(power.high)
            power = times(power, ratio, bits)
        return Weights(lows, highs, 0)


@dataclass(frozen=True, slots=True)
class GaussianLaw:
    """The discrete Gaussian: weight e**(-k**2 / (2 * sigma2)) for every integer k ([CKS20] Def. 1).

    Why   the weight of k + 1 is that of k times r_k = e**(-(2k + 1) / (2 * sigma2)), and r_k falls by
          the same factor e**(-1/sigma2) each time; from k on the weights fall at least as fast as
          the powers of r_k, which bounds the rest.
    """

    sigma2: Fraction
    two_sided = True

    def weights(self, bits: int, reach: int) -> Weights:
        one = 1 << bits
        ratio = exp_bounds(1 / (2 * self.sigma2), bits)
        factor = exp_bounds(1 / self.sigma2, bits)
        lows, highs = [one], [one]
        weight = Bounds(one, one)
        while True:
            last, weight = weight, times(weight, ratio, bits)
            ratio = times(ratio, factor, bits)
            gap = one - ratio.high
            if 2 * weight.high << reach <= gap or weight.high == last.high:
                return Weights(lows, highs, -(-(2 * weight.high << bits) // gap))
            lows += (weight.low, weight.low)
            highs += (weight.high, weight.high)
