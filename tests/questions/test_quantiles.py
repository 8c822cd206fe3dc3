"""Quantiles of running counts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.questions.quantiles import read_quantile


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8).filter(any), st.fractions(0, 1))
def test_exact_counts_give_the_sample_quantile(counts: list[int], share: Fraction) -> None:
    sample = [value for value, count in enumerate(counts) for _ in range(count)]
    running = np.cumsum(counts).astype(float)
    rank = max(1, -(-share.numerator * len(sample) // share.denominator))
    found = read_quantile(running, running, running, share)
    assert found[0] == found[1] == found[2] == sample[rank - 1]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8).filter(any), st.fractions(0, 1), st.integers(0, 4))
def test_wider_counts_give_wider_intervals(counts: list[int], share: Fraction, reach: int) -> None:
    running = np.cumsum(counts).astype(float)
    lower, upper = running - reach, running + reach
    lower[-1] = upper[-1] = running[-1]
    code, low, high = read_quantile(running, lower, upper, share)
    assert low <= code <= high
    exact = read_quantile(running, running, running, share)[0]
    assert low <= exact <= high
