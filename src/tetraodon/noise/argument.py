"""What the public functions of this room accept, what they say otherwise, and how they fill what was asked for."""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import Protocol, SupportsIndex, TypeAlias

import numpy as np

from tetraodon.errors import NoiseError
from tetraodon.noise.coins import Coins
from tetraodon.noise.guide_table import Integers
from tetraodon.rational import Number, rational

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
