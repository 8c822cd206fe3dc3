"""Many values from a sampler, a cacheful at a time."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from tetraodon.noise.argument import Size, shape_of
from tetraodon.noise.coins import Coins
from tetraodon.noise.table import Integers

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
