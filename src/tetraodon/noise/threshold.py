"""Where the outcomes of a law lie on [0, 1): bounds on its distribution function, and its inverse."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from tetraodon.errors import NoiseError
from tetraodon.noise.coins import Coins
from tetraodon.noise.law import Law

_GUARD = 48  # bits beyond the width, half of them for rounding; then bounds seldom straddle a floor
_FARTHEST = 1 << 17  # block numbers up to here keep every value within 64 bits


def cdf_bounds(law: Law, bits: int, reach: int) -> tuple[list[int], list[int]]:
    """Bounds on P(outcome <= i) * 2**bits for i = 0, 1, 2, ...; both lists rise.

    Pre   bits > reach.
    Post  lows[i] <= P(outcome <= i) * 2**bits <= highs[i]; what lies beyond the last i has
          probability at most 2**-reach.
    """
    weights = law.weights(bits, reach)
    sums_low = list(accumulate(weights.lows))
    sums_high = list(accumulate(weights.highs))
    total_low, total_high = sums_low[-1], sums_high[-1] + weights.rest
    one = 1 << bits
    lows = [(part << bits) // total_high for part in sums_low]
    highs = [min(one, -(-(part << bits) // total_low)) for part in sums_high]
    if weights.rest == 0:
        lows[-1] = highs[-1] = one
    return lows, highs


def floors(law: Law, width: int) -> list[int]:
    """floor(P(outcome <= i) * 2**width) for i = 0, 1, 2, ..., up to the first that is 2**width - 1.

    Post  exact. A distribution function that reaches 1 counts as 2**width - 1 there.
    Why   the bounds are narrowed until both have the same floor. This ends unless a probability is a
          multiple of 2**-width, which no value of these laws between 0 and 1 is known to be.
    """
    last = (1 << width) - 1
    guard = _GUARD
    while True:
        lows, highs = cdf_bounds(law, width + guard, width + guard // 2)
        below = [min(last, low >> guard) for low in lows]
        if below == [min(last, high >> guard) for high in highs] and below[-1] == last:
            return below[: below.index(last) + 1]
        guard *= 2


def settle(law: Law, prefix: int, width: int, coins: Coins, step: int) -> int:
    """The outcome that a uniform number U picks, when its first `width` bits are `prefix`.

    Post  the outcome i with P(outcome < i) <= U < P(outcome <= i), exactly; further bits of U are
          drawn, `step` at a time, only while the bits so far leave two outcomes possible.
    Raises NoiseError when a value does not fit 64 bits, which has probability below e**-1000.
    """
    while True:
        lows, highs = cdf_bounds(law, width + _GUARD, width + _GUARD // 2)
        outcome = bisect_right(highs, prefix << _GUARD)
        if outcome < len(lows) and (prefix + 1) << _GUARD <= lows[outcome]:
            break
        prefix = prefix << step | int(coins.draw(1, step)[0])
        width += step
    if outcome > _FARTHEST:
        raise NoiseError("a noise value does not fit 64 bits", fix="draw again with a smaller scale")
    return outcome
