"""Quotients lie between their ends for any two sums between theirs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.questions.answered import MeasuredSum
from tetraodon.questions.quotient import quotient

numbers = st.integers(-12, 12)


def measured(truth: int, noise: int, reach: int) -> MeasuredSum:
    return MeasuredSum(np.array([[truth + noise]]), Fraction(1, 2), not reach, lambda _: float(reach))


@given(st.data())
def test_a_quotient_is_where_its_interval_says(data: st.DataObject) -> None:
    parts, truth = [], []
    for _ in range(2):
        reach = data.draw(st.integers(0, 6))
        truth.append(data.draw(numbers))
        parts.append(measured(truth[-1], data.draw(st.integers(-reach, reach)), reach))
    found = quotient(*parts)
    [lower], [value], [upper] = found.lower, found.value, found.upper
    assert np.isfinite([lower, upper]).all()
    assert lower <= value <= upper
    if truth[1]:
        assert lower - 1e-9 <= truth[0] / truth[1] <= upper + 1e-9


def test_exact_sums_have_an_exact_quotient() -> None:
    found = quotient(measured(3, 0, 0), measured(-2, 0, 0))
    assert (found.lower[0], found.value[0], found.upper[0]) == (-1.5, -1.5, -1.5)
