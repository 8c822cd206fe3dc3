"""The exponential mechanism, exactly: one of several outcomes, with chances that rise with whole scores."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from tetraodon.noise.coins import Coins
from tetraodon.noise.exponential import exp_bounds

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
