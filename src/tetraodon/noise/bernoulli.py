"""Coins that fall heads with probability e**-gamma, exactly, for many gammas at once."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tetraodon.noise.coins import Coins
from tetraodon.noise.exponential import exp_bounds

MARGIN = 2.0**-36
_GUARD = 32


def heads(
    gamma: NDArray[np.float64],
    exact: Callable[[int], Fraction],
    coins: Coins,
    *,
    margin: float = MARGIN,
    width: int = 64,
) -> NDArray[np.bool_]:
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
