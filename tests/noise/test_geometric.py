"""Waiting times: exact at every threshold, for common and for very rare successes."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.noise.walk import Script

from tetraodon.errors import NoiseError
from tetraodon.noise.coins import system_coins
from tetraodon.noise.elementary import power_bounds, waiting_times

CHANCES = [
    Fraction(1, 2),
    Fraction(1, 3),
    Fraction(9, 10),
    Fraction(1, 10**4),
    Fraction(7, 10**12),
    Fraction(1, 10**17),
]


def by_definition(success: Fraction, word: int, limit: int) -> set[int]:
    """Every g that some U in [word, word + 1) / 2**64 stands for, by exact powers."""
    q, found = 1 - success, set()
    for u in (Fraction(word, 2**64), Fraction(word + 1, 2**64) - Fraction(1, 2**200)):
        g = 0
        while g < limit and u < q ** (g + 1):
            g += 1
        found.add(g)
    return set(range(min(found), max(found) + 1))


@pytest.mark.parametrize("success", CHANCES[:3])
def test_words_beside_every_threshold_are_read_right(success: Fraction) -> None:
    limit = 40
    for g in range(1, limit):
        bar = int((1 - success) ** g * 2**64)
        for word in {max(0, bar - 1), bar, bar + 1} - {2**64}:
            for more in (0, 2**64 - 1):
                found = int(waiting_times(success, 1, limit, Script([word, *[more] * 8]))[0])
                assert found in by_definition(success, word, limit)


@given(st.sampled_from(CHANCES), st.integers(0, 2**64 - 1))
def test_any_word_is_read_right(success: Fraction, word: int) -> None:
    limit = 10**18
    found = int(waiting_times(success, 1, limit, Script([word, *[2**63] * 8]))[0])
    q, bits = 1 - success, 300
    u = (word << 64 | 2**63) << (bits - 128)
    if found < limit:
        assert u >= power_bounds(q, found + 1, bits).low - (1 << (bits - 128))
    assert u <= power_bounds(q, found, bits).high


def test_the_limit_cuts() -> None:
    assert waiting_times(Fraction(1, 10**18), 2, 1000, Script([0, 1])).tolist() == [1000, 1000]


@pytest.mark.parametrize(("success", "limit"), [(Fraction(0), 5), (Fraction(1), 5), (Fraction(1, 2), 0)])
def test_what_is_not_defined_is_refused(success: Fraction, limit: int) -> None:
    with pytest.raises(NoiseError):
        waiting_times(success, 1, limit, system_coins())


def test_powers_are_bounded() -> None:
    for exponent in (0, 1, 7, 1000):
        exact = Fraction(2, 3) ** exponent * 2**200
        low, high = power_bounds(Fraction(2, 3), exponent, 200)
        assert low <= exact <= high
        assert high - low <= 64


@pytest.mark.parametrize("success", [Fraction(1, 3), Fraction(1, 1000)])
def test_the_law_is_right_at_large(success: Fraction) -> None:
    count = 100_000
    drawn = waiting_times(success, count, 10**12, system_coins())
    bar = math.ceil(math.log(2) / float(success))  # about the median
    share, true = float((drawn < bar).mean()), 1 - float(1 - success) ** bar
    assert abs(share - true) < math.sqrt(math.log(1e10) / (2 * count))  # Hoeffding: false alarms below 2e-10
