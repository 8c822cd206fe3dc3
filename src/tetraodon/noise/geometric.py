"""Waiting times, exact: how often a coin fails before it succeeds, for any rational chance of success."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tetraodon.errors import NoiseError
from tetraodon.noise.coins import Coins
from tetraodon.noise.exponential import IntegerBounds, times

_WIDTH = 64
_GUARD = 32


def waiting_times(success: Fraction, count: int, limit: int, coins: Coins) -> NDArray[np.uint64]:
    """`count` independent numbers g with P(g) = (1 - success)**g * success; those above `limit` are cut to it.

    Pre   0 < success < 1, 0 < limit < 2**63.
    Post  exactly that law, whatever the floats do.
    Why   with q = 1 - success and U uniform in [0, 1), g = max{g : U < q**g} = floor(ln U / ln q) has the law. A word w
          says that U lies in [w, w + 1) / 2**64. As a float, (w + 1/2) / 2**64 is off by a factor within
          1 +- (2**-52 + 1/(w+1)), which moves ln U by no more than about that much; NumPy's logarithm and the division
          err by less than 2**-49 of the result. Where the whole part is not the same at both ends of an interval twice
          as wide, integer bounds on q**g decide, with further bits of U if need be.
    """
    if not (0 < success < 1 and 0 < limit < 2**63):
        raise NoiseError(
            "a waiting time is not well defined", fix="give a chance between 0 and 1 and a limit below 2^63"
        )
    words = coins.draw(count, _WIDTH)
    rate = _rate(success)
    drawn = words.astype(np.float64)
    middle = np.log((drawn + 0.5) * 2.0**-_WIDTH) / -rate
    reach = (2.0**-51 + 2.0 / (drawn + 1.0)) / rate + middle * 2.0**-48
    low = np.floor(middle - reach)
    high = np.floor(middle + reach)
    times_found = np.clip(low, 0, float(limit)).astype(np.uint64)
    np.minimum(times_found, np.uint64(limit), out=times_found)
    for place in np.flatnonzero((low != high) & (low < limit) & (high > 0)):
        first, last = max(0, int(low[place])), min(limit, int(high[place]))
        times_found[place] = _settled(1 - success, first, last, int(words[place]), coins)
    return times_found


def _rate(success: Fraction) -> float:
    """-ln(1 - success), correctly rounded to well below the margin above."""
    with localcontext(prec=60):
        return float(-(Decimal((1 - success).numerator) / Decimal((1 - success).denominator)).ln())


def _settled(q: Fraction, first: int, last: int, word: int, coins: Coins) -> int:
    """The largest g from first to last with U < q**g, when U starts with `word` and U < q**first."""
    width = _WIDTH
    while first < last:
        middle = (first + last + 1) // 2
        while True:
            bits = width + _GUARD + middle.bit_length()
            power = power_bounds(q, middle, bits)
            shift = bits - width
            if (word + 1) << shift <= power.low:
                first = middle
                break
            if word << shift >= power.high:
                last = middle - 1
                break
            word = word << _WIDTH | int(coins.draw(1, _WIDTH)[0])
            width += _WIDTH
    return first


def power_bounds(base: Fraction, exponent: int, bits: int) -> IntegerBounds:
    """Integers around base**exponent * 2**bits, by squaring.

    >>> power_bounds(Fraction(1, 2), 3, 8)
    IntegerBounds(low=32, high=32)
    """
    scaled = base * 2**bits
    square = IntegerBounds(scaled.numerator // scaled.denominator, -(-scaled.numerator // scaled.denominator))
    result = IntegerBounds(1 << bits, 1 << bits)
    while exponent:
        if exponent & 1:
            result = times(result, square, bits)
        square = times(square, square, bits)
        exponent >>= 1
    return result
