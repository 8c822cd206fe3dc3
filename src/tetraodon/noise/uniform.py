"""Whole numbers below a bound, each equally likely, exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tetraodon.errors import NoiseError
from tetraodon.noise.coins import Coins

_WIDTH = 64


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
