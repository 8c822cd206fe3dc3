"""Rational coins: exact at the word that decides nothing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tetraodon.errors import NoiseError
from tetraodon.noise.coins import system_coins
from tetraodon.noise.rational_coin import rational_heads


class Script:
    """Coins that fall as written."""

    def __init__(self, *words: int) -> None:
        self.words = list(words)

    def draw(self, count: int, bits: int) -> np.ndarray:
        assert bits == 64
        taken, self.words = self.words[:count], self.words[count:]
        assert len(taken) == count
        return np.array(taken, np.uint64)


def test_a_word_on_the_bar_is_settled_by_the_next() -> None:
    third = 2**64 // 3  # 1/3 is 0.0101... in binary: the rest after 64 bits is 1/3 again
    assert rational_heads(Fraction(1, 3), 2, Script(third - 1, third + 1)).tolist() == [True, False]
    assert rational_heads(Fraction(1, 3), 1, Script(third, third, third - 1)).tolist() == [True]
    assert rational_heads(Fraction(1, 3), 1, Script(third, third + 1)).tolist() == [False]
    assert rational_heads(Fraction(1, 2), 2, Script(2**63 - 1, 2**63)).tolist() == [True, False]


def test_certainties_need_no_coins() -> None:
    assert rational_heads(Fraction(1), 2, Script()).all()
    assert not rational_heads(Fraction(0), 2, Script()).any()
    with pytest.raises(NoiseError):
        rational_heads(Fraction(3, 2), 1, Script())


def test_the_share_of_heads() -> None:
    count, chance = 200_000, Fraction(3, 7)
    heads = int(rational_heads(chance, count, system_coins()).sum())
    # Hoeffding: P(|heads/count - chance| > t) <= 2 exp(-2 count t^2) = 2e-10 here
    assert abs(heads / count - chance) < (np.log(1e10) / (2 * count)) ** 0.5
