"""Coins that fall heads with a rational probability, exactly, many at once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tetraodon.errors import NoiseError
from tetraodon.noise.coins import Coins

_WIDTH = 64


def rational_heads(chance: Fraction, count: int, coins: Coins) -> NDArray[np.bool_]:
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
