"""Exact elementary samplers, vectorised: Bernoulli(exp(-gamma)), uniform and geometric numbers.

And one of several outcomes, with chances that rise with whole scores: the exponential mechanism.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tetraodon.errors import NoiseError
from tetraodon.exact.arrays import Bools, Floats
from tetraodon.noise.coins import Coins

# -- exponential ------------------------------------------------------------------------------------
# Integer bounds on e**-q for a rational q: the only place where an exponential decides anything.


class IntegerBounds(NamedTuple):
    """Two integers around a real number that was scaled by a power of two."""

    low: int
    high: int


def shifted_up(number: int, bits: int) -> int:
    """number / 2**bits, rounded up."""
    return -(-number >> bits)


def times(left: IntegerBounds, right: IntegerBounds, bits: int) -> IntegerBounds:
    """IntegerBounds on the product of two numbers that are not negative, all scaled by 2**bits."""
    return IntegerBounds(left.low * right.low >> bits, shifted_up(left.high * right.high, bits))


def exp_bounds(exponent: Fraction, bits: int) -> IntegerBounds:
    """Integers around e**-exponent * 2**bits.

    Pre   exponent >= 0, bits >= 1.
    Post  low <= e**-exponent * 2**bits <= high and high - low <= 2.
    Why   x = exponent / 2**k is below 1/16, so the terms x**j / j! fall and alternate: a partial sum
          errs by less than the first term left out. Every product is rounded outwards; squaring k
          times gives e**-exponent and loses at most k bits and the few units that 32 guard bits cover.

    >>> exp_bounds(Fraction(0), 8)
    IntegerBounds(low=256, high=256)
    >>> exp_bounds(Fraction(1), 16)          # 65536 / e = 24109.3...
    IntegerBounds(low=24109, high=24110)
    """
    one = 1 << bits
    if exponent == 0:
        return IntegerBounds(one, one)
    if exponent >= bits:  # e**-bits < 2**-bits
        return IntegerBounds(0, 1)
    top, bottom = exponent.numerator, exponent.denominator
    halvings = max(0, top.bit_length() - bottom.bit_length() + 5)
    guard = halvings + 32
    fine = bits + guard
    x = _divided(top << fine, bottom << halvings)
    root = _alternating_series(x, fine)
    for _ in range(halvings):
        root = times(root, root, fine)
    return IntegerBounds(root.low >> guard, min(one, shifted_up(root.high, guard)))


def _divided(top: int, bottom: int) -> IntegerBounds:
    return IntegerBounds(top // bottom, -(-top // bottom))


def _alternating_series(x: IntegerBounds, bits: int) -> IntegerBounds:
    """IntegerBounds on e**-x for x scaled by 2**bits and below 2**bits / 16."""
    term = IntegerBounds(1 << bits, 1 << bits)
    low = high = 0
    order = 0
    while term.high > 1:
        if order % 2 == 0:
            low, high = low + term.low, high + term.high
        else:
            low, high = low - term.high, high - term.low
        order += 1
        product = times(term, x, bits)
        term = IntegerBounds(product.low // order, -(-product.high // order))
    return IntegerBounds(low - 1, high + 1)


# -- elementary -------------------------------------------------------------------------------------

MARGIN = 2.0**-36
_GUARD = 32
_WIDTH = 64


def heads(
    gamma: Floats, exact: Callable[[int], Fraction], coins: Coins, *, margin: float = MARGIN, width: int = 64
) -> Bools:
    """For each i, True with probability e**-exact(i).

    Pre   e**-gamma[i] as NumPy computes it is within a factor 1 +- margin/2 of e**-exact(i), or both are
          below 2**-width; width <= 64.
    Post  exactly that probability. The floats only settle draws that are farther than the margin
          from the bar; all others, about one in 2**35, go to integer bounds (`below_exp`).
    Why   let e be the true bar and w the drawn word, so that U lies in [w, w + 1). As a float w errs by
          at most a factor 1 + 2**-53. Above `bar * (1 + margin) + 4` it is above e, and
          below `bar * (1 - margin) - 4` so is w + 1 below e: half of the margin covers the error of
          the bar, the other half and the 4 cover the float of w and the one unit.
    """
    words = coins.draw(len(gamma), width)
    drawn = words.astype(np.float64)
    bar = np.exp(-gamma) * 2.0**width
    result = drawn < bar * (1 - margin) - 4
    unsure = np.flatnonzero(~result & (drawn <= bar * (1 + margin) + 4))
    for place in unsure:
        result[place] = below_exp(exact(int(place)), int(words[place]), width, coins)
    return result


def below_exp(gamma: Fraction, prefix: int, width: int, coins: Coins) -> bool:
    """Whether a uniform number U, whose first `width` bits are `prefix`, lies below e**-gamma.

    Pre   gamma >= 0. Further bits of U are drawn only while the bits so far do not decide.
    """
    step = min(width, 64)
    while True:
        low, high = exp_bounds(gamma, width + _GUARD)
        if (prefix + 1) << _GUARD <= low:
            return True
        if prefix << _GUARD >= high:
            return False
        prefix = prefix << step | int(coins.draw(1, step)[0])
        width += step


def rational_heads(chance: Fraction, count: int, coins: Coins) -> Bools:
    """`count` independent coins, each True with exactly this probability.

    Why   a word w is the first 64 bits of a uniform number U, and heads is U < chance. All words but the one that
          equals the whole part of chance * 2**64 decide it; that one goes on with the rest of the chance.
    """
    if not 0 <= chance <= 1:
        raise NoiseError("a probability is not between 0 and 1", fix="give one from 0 to 1")
    if chance in (0, 1):
        return np.full(count, chance == 1)
    whole, rest = divmod(chance * 2**_WIDTH, 1)
    words = coins.draw(count, _WIDTH)
    result = words < np.uint64(int(whole))
    for place in np.flatnonzero(words == np.uint64(int(whole))):
        result[place] = rational_heads(rest, 1, coins)[0]
    return result


def uniform_below(bound: int, count: int, coins: Coins) -> NDArray[np.uint64]:
    """`count` independent numbers from 0 to bound - 1.

    Why   words beyond the last whole multiple of the bound are drawn again; fewer than half of them ever are.
    """
    if not 0 < bound < 2**63:
        raise NoiseError("a bound is not between 1 and 2^63", fix="use a smaller domain")
    whole = np.uint64(2**_WIDTH // bound * bound - 1)
    words = coins.draw(count, _WIDTH).astype(np.uint64)
    while (again := np.flatnonzero(words > whole)).size:
        words[again] = coins.draw(len(again), _WIDTH)
    return words % np.uint64(bound)


BITS = 64


def choose_by_score(scores: Sequence[int], scale: Fraction, coins: Coins) -> int:
    """The place of one of the scores, drawn with a chance proportional to e^(score / scale).

    Pre   there is a score; scale > 0.
    Post  distributed exactly so, whatever floats would say.
    Why   a uniform number is known by its first bits, and weights by bounds. Both become longer until all of the
          interval in which the number lies is within one weight's.
    """
    most, bits, word = max(scores), BITS, int(coins.draw(1, 64)[0])
    while True:
        bounds = [exp_bounds(Fraction(most - score) / scale, 2 * bits) for score in scores]
        low, high = (list(accumulate((one[end] for one in bounds), initial=0)) for end in (0, 1))
        place = min(bisect_right(high, word * low[-1] >> bits), len(scores)) - 1
        if (word + 1) * high[-1] <= low[place + 1] << bits:
            return place
        bits, word = bits + 64, word << 64 | int(coins.draw(1, 64)[0])


# -- geometric --------------------------------------------------------------------------------------
# Waiting times, exact: how often a coin fails before it succeeds, for any rational chance of success.

_GEOMETRIC_WIDTH = 64
_GEOMETRIC_GUARD = 32


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
    words = coins.draw(count, _GEOMETRIC_WIDTH)
    rate = _rate(success)
    drawn = words.astype(np.float64)
    middle = np.log((drawn + 0.5) * 2.0**-_GEOMETRIC_WIDTH) / -rate
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
    width = _GEOMETRIC_WIDTH
    while first < last:
        middle = (first + last + 1) // 2
        while True:
            bits = width + _GEOMETRIC_GUARD + middle.bit_length()
            power = power_bounds(q, middle, bits)
            shift = bits - width
            if (word + 1) << shift <= power.low:
                first = middle
                break
            if word << shift >= power.high:
                last = middle - 1
                break
            word = word << _GEOMETRIC_WIDTH | int(coins.draw(1, _GEOMETRIC_WIDTH)[0])
            width += _GEOMETRIC_WIDTH
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
