from __future__ import annotations

import numpy as np

from tetraodon.noise.coins import SystemCoins
from tetraodon.noise.fill import CHUNK, filled


class Counter:
    """Draws 0, 1, 2, ... and remembers how many were asked for at a time."""

    def __init__(self):
        self.asked = []

    def draw(self, count, coins):  # noqa: ARG002 - needs no coins
        start = sum(self.asked)
        self.asked.append(count)
        return np.arange(start, start + count, dtype=np.int64)


def test_none_gives_one_int():
    value = filled(Counter(), None, SystemCoins())
    assert type(value) is int


def test_shapes_are_filled_in_order():
    assert filled(Counter(), (2, 3), SystemCoins()).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert filled(Counter(), 0, SystemCoins()).shape == (0,)
    assert filled(Counter(), (), SystemCoins()).shape == ()
    assert filled(Counter(), (0, 5), SystemCoins()).shape == (0, 5)


def test_large_arrays_are_filled_a_chunk_at_a_time():
    for last in (1, 5, CHUNK):
        counter = Counter()
        values = filled(counter, 2 * CHUNK + last, SystemCoins())
        assert counter.asked == [CHUNK, CHUNK, last]
        assert np.array_equal(values, np.arange(2 * CHUNK + last))
