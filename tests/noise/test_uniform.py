"""Uniform numbers: words beyond the last whole multiple are drawn again."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.noise.test_rational_coin import Script

from tetraodon.errors import NoiseError
from tetraodon.noise.coins import system_coins
from tetraodon.noise.uniform import uniform_below


def test_words_are_taken_by_their_rest() -> None:
    assert uniform_below(10, 3, Script(7, 23, 10**18)).tolist() == [7, 3, 0]


def test_a_word_beyond_is_drawn_again() -> None:
    last = 2**64 // 10 * 10 - 1
    assert uniform_below(10, 2, Script(last + 1, last, 2**64 - 1, 4)).tolist() == [4, 9]


@pytest.mark.parametrize("bound", [0, 2**63])
def test_bounds_out_of_reach(bound: int) -> None:
    with pytest.raises(NoiseError):
        uniform_below(bound, 1, system_coins())


def test_every_number_is_as_likely() -> None:
    count = 100_000
    shares = np.bincount(uniform_below(7, count, system_coins()).astype(np.int64), minlength=7) / count
    reach = math.sqrt(math.log(14 * 1e9) / (2 * count))  # Hoeffding over 7 numbers: false alarms below 1e-9
    assert (abs(shares - 1 / 7) < reach).all()
