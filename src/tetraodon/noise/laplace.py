"""Discrete Laplace noise of any rational scale, exact to the last bit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import overload

from tetraodon.noise.argument import Size, drawable, filled
from tetraodon.noise.coins import Coins, system_coins
from tetraodon.noise.guide_table import BlockLaw, DigitLaw, GuideTable, Integers, build
from tetraodon.rational import Number

_DIRECT = 192  # scales up to here need one table
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
    shift = 0 if scale <= _DIRECT else int(-(-scale // _BLOCK_SCALE) - 1).bit_length()
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
