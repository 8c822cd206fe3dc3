"""Discrete Laplace, discrete Gaussian and Poisson samplers, exact to the last bit, and their distributions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Protocol, SupportsIndex, TypeAlias, overload

import numpy as np

from tetraodon.errors import NoiseError
from tetraodon.exact.rational import Number, rational
from tetraodon.noise.coins import Coins, system_coins
from tetraodon.noise.elementary import MARGIN, exp_bounds, heads
from tetraodon.noise.guide_table import BlockLaw, DigitLaw, GaussianLaw, GuideTable, Integers, Weights, build

# -- argument ---------------------------------------------------------------------------------------
# What the public functions of this room accept, what they say otherwise, and how they fill what was asked for.

Size: TypeAlias = SupportsIndex | tuple[SupportsIndex, ...]

_LARGEST = 1 << 50
_SURE = Fraction(1, 10**100)


def positive(number: Number, *, name: str) -> Fraction:
    """The exact value of a scale; NoiseError unless it is above zero."""
    value = rational(number, name=name)
    if value <= 0:
        raise NoiseError(f"{name} is not above zero", fix=f"give a positive {name}")
    return value


def drawable(number: Number, *, name: str) -> Fraction:
    """The exact value of a scale from which values of 64 bits can be drawn.

    Why   at 2**50 a value leaves the 64 bits with probability below e**-1000, and the sampler would
          then raise rather than wrap round.
    """
    value = positive(number, name=name)
    if value > _LARGEST:
        raise NoiseError(
            f"{name} is above 2**50, so that values might not fit 64 bits",
            fix="count in a coarser unit, so that the scale is smaller",
        )
    return value


def probability(number: Number) -> Fraction:
    """The exact value of a confidence; NoiseError unless it is above 0 and at most 1 - 1e-100."""
    value = rational(number, name="confidence")
    if not 0 < value <= 1 - _SURE:
        raise NoiseError("confidence is not above 0 and at most 1 - 1e-100", fix="give a number such as 0.95")
    return value


def whole(number: SupportsIndex) -> int:
    """The integer whose probability is asked for; NoiseError unless it is one."""
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise NoiseError("k is not a whole number", fix="give an integer such as -3")
    return operator.index(number)


def shape_of(size: Size) -> tuple[int, ...]:
    """The shape that `size` asks for; NoiseError unless it is a count or a tuple of counts."""
    parts = size if isinstance(size, tuple) else (size,)
    fix = "give a whole number that is not negative, or a tuple of them"
    try:
        shape = tuple(operator.index(part) for part in parts)
    except TypeError:
        raise NoiseError("size is not a whole number or a tuple of them", fix=fix) from None
    if any(isinstance(part, bool) for part in parts) or any(part < 0 for part in shape):
        raise NoiseError("size is not a count", fix=fix)
    return shape


CHUNK = 1 << 16  # the work space for so many values stays in the cache, whatever the size asked for


class Sampler(Protocol):
    """Something that draws integers with given coins."""

    def draw(self, count: int, coins: Coins) -> Integers:
        """`count` independent values."""
        ...


def filled(sampler: Sampler, size: Size | None, coins: Coins) -> int | Integers:
    """One value as an int when `size` is None, else an array of that shape."""
    if size is None:
        return int(sampler.draw(1, coins)[0])
    values = np.empty(shape_of(size), dtype=np.int64)
    flat = values.reshape(-1)
    for start in range(0, flat.size, CHUNK):
        part = flat[start : start + CHUNK]
        part[:] = sampler.draw(part.size, coins)
    return values


# -- distribution -----------------------------------------------------------------------------------
# What is exactly known of the noise: probabilities, variances, and how far it reaches.

_BITS = 128
_VANISHES = 800  # e**-800 is below every positive float
_SMOOTH = 2  # from this sigma on, sums over the integers are integrals to within 1e-32


def laplace_pmf(scale: Number, k: SupportsIndex) -> float:
    """P(X = k) = (1 - p) / (1 + p) * p**|k| with p = e**(-1/scale), to within a few units of 1e-16.

    >>> round(laplace_pmf(1, 0), 12)          # tanh(1/2)
    0.46211715726
    """
    value = positive(scale, name="scale")
    place = abs(whole(k)) / value
    if place > _VANISHES:
        return 0.0
    p = _exp(1 / value)
    return float((1 - p) / (1 + p) * _exp(place))


@lru_cache(maxsize=1024)
def _laplace_variance(scale: Fraction) -> float:
    if scale * _VANISHES < 1:
        return 0.0
    p = _exp(1 / scale)
    return float(2 * p / (1 - p) ** 2)


def laplace_variance(scale: Number) -> float:
    """2p / (1 - p)**2 with p = e**(-1/scale), to within a few units of 1e-16; about 2 * scale**2.

    >>> round(laplace_variance(10), 9)
    199.833416634
    """
    return _laplace_variance(positive(scale, name="scale"))


def gaussian_pmf(sigma: Number, k: SupportsIndex) -> float:
    """P(X = k), the weight e**(-k**2 / (2 sigma**2)) over the sum of all, to a few units of 1e-16.

    >>> round(gaussian_pmf(10, 0), 12)        # 1 / (10 * sqrt(2 pi))
    0.03989422804
    """
    value = positive(sigma, name="sigma")
    place = whole(k) ** 2 / (2 * value**2)
    if place > _VANISHES:
        return 0.0
    if value >= _SMOOTH:
        return float(_exp(place) / Fraction(math.sqrt(2 * math.pi)) / value)
    return float(_exp(place) / sum(_gaussian_weights(value)))


def gaussian_variance(sigma: Number) -> float:
    """The exact variance, to within a few units of 1e-16; never above sigma**2 ([CKS20]).

    Why   for sigma >= 2 the Poisson summation formula puts it within 1e-30 of sigma**2, relatively.

    >>> gaussian_variance(10), round(gaussian_variance("1/2"), 6)
    (100.0, 0.215013)
    """
    value = positive(sigma, name="sigma")
    if value >= _SMOOTH:
        return float(value**2)
    weights = _gaussian_weights(value)
    return float(sum(((j + 1) // 2) ** 2 * weight for j, weight in enumerate(weights)) / sum(weights))


def _gaussian_weights(sigma: Fraction) -> list[Fraction]:
    """Weights of 0, -1, 1, -2, 2, ...; that of 1 is known to 128 bits while it is not negligible."""
    bits = _BITS + 2 * min(math.ceil(1 / (2 * sigma**2)), _VANISHES)
    lows = GaussianLaw(sigma**2).weights(2 * bits, bits).lows
    return [Fraction(low, 1 << 2 * bits) for low in lows]


def _exp(exponent: Fraction) -> Fraction:
    """e**-exponent; it and 1 minus it are good to 128 bits, or too small for a float."""
    if exponent == 0 or exponent > 2 * _VANISHES:
        return Fraction(exponent == 0)
    bits = _BITS + 2 * math.ceil(exponent) + math.ceil(1 / exponent).bit_length()
    return Fraction(exp_bounds(exponent, bits).low, 1 << bits)


_SUMMED = 512  # Gaussian widths up to here are summed term by term


def laplace_quantile(scale: Number, confidence: Number) -> int:
    """The least t with P(|X| <= t) >= confidence for discrete Laplace X.

    Post  exact: P(|X| > t) = 2 p**(t+1) / (1 + p), p = e**(-1/scale), is compared in integers.

    >>> laplace_quantile(1, 0.95), laplace_quantile(100, 0.95)
    (3, 300)
    """
    return _laplace(positive(scale, name="scale"), probability(confidence))


def gaussian_quantile(sigma: Number, confidence: Number) -> int:
    """The least t with P(|X| <= t) >= confidence for discrete Gaussian X.

    Post  exact for sigma <= 512. Above, P(|X| <= t) >= confidence still holds, and t is at most
          1 + 2e-12 * sigma above the least such.
    Why   let f be the weight. f(k) is at most the integral of f over [k - 1/2, k + 1/2] where f is
          convex, from sigma on, and exceeds it by at most 1/8 of the integral of |f''| elsewhere (Peano's
          kernel), in all e**(-1/2) / (4 sigma). The sum of all weights is at
          least sigma * sqrt(2 pi) (Poisson summation). So P(|X| > t) is at most
          erfc((t + 1/2) / (sigma sqrt 2)), plus 0.13 / sigma**2 when t + 1/2 < sigma.

    >>> gaussian_quantile(1, 0.95), gaussian_quantile(10**6, 0.95)
    (2, 1959964)
    """
    value, sure = positive(sigma, name="sigma"), probability(confidence)
    return _summed(value, sure) if value <= _SUMMED else _smooth(value, sure)


@lru_cache(maxsize=1024)
def _laplace(scale: Fraction, confidence: Fraction) -> int:
    miss = 1 - confidence

    def holds(t: int) -> bool:
        bits = 64
        while True:  # ends: e to a rational power other than 0 is no root of a rational polynomial
            bits *= 2
            p, tail = exp_bounds(1 / scale, bits), exp_bounds((t + 1) / scale, bits)
            if 2 * tail.high <= miss * ((1 << bits) + p.low):
                return True
            if 2 * tail.low > miss * ((1 << bits) + p.high):
                return False

    return _least(holds)


@lru_cache(maxsize=1024)
def _summed(sigma: Fraction, confidence: Fraction) -> int:
    law = GaussianLaw(sigma**2)
    bits = 128
    while True:
        bits *= 2
        weights = law.weights(2 * bits, bits)
        total = Fraction(sum(weights.highs) + weights.rest) * confidence
        maybe = Fraction(sum(weights.lows)) * confidence
        sure = next((j for j, part in enumerate(accumulate(weights.lows)) if part >= total), -1)
        least = next((j for j, part in enumerate(accumulate(weights.highs)) if part >= maybe), -1)
        if sure >= 0 and (sure + 1) // 2 == (least + 1) // 2:
            return (sure + 1) // 2


@lru_cache(maxsize=1024)
def _smooth(sigma: Fraction, confidence: Fraction) -> int:
    miss = float(1 - confidence) * (1 - 1e-12)  # more than the floats below can be wrong by

    def holds(t: int) -> bool:
        reach = t + Fraction(1, 2)
        more = 0.0 if reach >= sigma else 0.13 / float(sigma) ** 2
        return math.erfc(float(reach / sigma) / math.sqrt(2)) + more <= miss

    return _least(holds)


def _least(holds: Callable[[int], bool]) -> int:
    """The least t >= 0 from which `holds` is true on."""
    above = 1
    while not holds(above - 1):
        above *= 2
    below = above // 2  # the answer is in [below, above - 1]
    above -= 1
    while below < above:
        middle = (below + above) // 2
        if holds(middle):
            above = middle
        else:
            below = middle + 1
    return above


# -- laplace ----------------------------------------------------------------------------------------
# Discrete Laplace noise of any rational scale, exact to the last bit.

_DIRECT_LAPLACE = 192  # scales up to here need one table
_BLOCK_SCALE = 64  # above it, blocks are as wide as makes them have at most this scale
_DIGIT_BITS = 11


@dataclass(frozen=True, slots=True, eq=False)
class LaplaceSampler:
    """A value is a block of neighbours and, independently, the digits of its place there.

    Post  P(k) is proportional to e**(-|k| / scale), exactly, if the coins are fair.
    Why   see `BlockLaw`: X = block * 2**shift + r in a block j >= 0, and ~X has the same r in the
          block -1-j, where ~x is -1 - x.
    """

    blocks: GuideTable
    digits: tuple[GuideTable, ...]  # the most significant first

    def draw(self, count: int, coins: Coins) -> Integers:
        """`count` independent values."""
        value = self.blocks.draw(count, coins)
        if not self.digits:
            return value
        mirror = value >> 63
        value ^= mirror
        for table in self.digits:
            value <<= (len(table.floor) - 1).bit_length()
            value |= table.draw(count, coins)
        value ^= mirror
        return value


def digit_widths(shift: int, widest: int) -> list[int]:
    """`shift` bits as the fewest digits of at most `widest` bits, as even as can be.

    >>> digit_widths(23, 10), digit_widths(0, 10)
    ([8, 8, 7], [])
    """
    count = -(-shift // widest)
    return [shift // count + (place < shift % count) for place in range(count)]


def assemble(scale: Fraction, shift: int, *, widest: int, lead: int, rest: int) -> LaplaceSampler:
    """The sampler with blocks of 2**shift values, on words of `lead` and then `rest` bits."""
    digits, place = [], shift
    for width in digit_widths(shift, widest):
        place -= width
        digits.append(build(DigitLaw(scale, place, width), lead=lead, rest=rest))
    return LaplaceSampler(build(BlockLaw(scale, shift), lead=lead, rest=rest), tuple(digits))


@lru_cache(maxsize=64)
def laplace_sampler(scale: Fraction) -> LaplaceSampler:
    """The sampler of a scale; tables are built on first use and kept for the last 64 scales."""
    shift = 0 if scale <= _DIRECT_LAPLACE else int(-(-scale // _BLOCK_SCALE) - 1).bit_length()
    return assemble(scale, shift, widest=_DIGIT_BITS, lead=16, rest=48)


@overload
def discrete_laplace(scale: Number, size: None = None) -> int: ...
@overload
def discrete_laplace(scale: Number, size: Size) -> Integers: ...
def discrete_laplace(scale: Number, size: Size | None = None) -> int | Integers:
    """Integers k with probability proportional to e**(-|k| / scale).

    Pre   scale is a rational number above 0 and at most 2**50; a float means its shortest decimal
          form. For a grid of step h pass scale / h and multiply the result by h.
    Post  independent, and exactly so distributed: the coins are compared with integer bounds on the
          probabilities, and further coins are drawn while they do not decide. `size` None gives an int;
          a count or a tuple of counts an array of int64.
    Why   [CKS20] shows what discrete noise is worth; the coins come from the operating system
          through a stream cipher, apart for each process and thread. There is no seed.
    Raises NoiseError or PolicyError for a scale or size that makes no sense.

    >>> abs(discrete_laplace("1/1000"))
    0
    >>> discrete_laplace(2.5, (2, 3)).shape
    (2, 3)
    """
    return filled(laplace_sampler(drawable(scale, name="scale")), size, system_coins())


# -- gaussian ---------------------------------------------------------------------------------------
# Discrete Gaussian noise of any rational width, exact to the last bit.

_DIRECT_GAUSSIAN = 1024  # widths up to here are drawn from one table


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
    if sigma <= _DIRECT_GAUSSIAN:
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


# -- poisson ----------------------------------------------------------------------------------------


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
