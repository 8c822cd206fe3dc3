"""Elementary exact draws, many at once: coins of chance e**-gamma or of a rational one, and numbers below a bound.

And one of several outcomes, with chances that rise with whole scores: the exponential mechanism.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Bools, Floats
from tetraodon.errors import NoiseError
from tetraodon.noise.coins import Coins
from tetraodon.noise.exponential import exp_bounds

MARGIN = 2.0**-36
_GUARD = 32
_WIDTH = 64


def heads(
    gamma: Floats,
    exact: Callable[[int], Fraction],
    coins: Coins,
    *,
    margin: float = MARGIN,
    width: int = 64,
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
