"""Intervals of products, squares, averages and variances hold whatever their parts allow."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.query.released import answered
from tests.query.test_covariance import DOMAIN, records_of

from tetraodon.query.kinds import correlation
from tetraodon.query.moments import Between, Moments, half, middle, quotient
from tetraodon.query.query import MeasuredSum

ends = st.tuples(st.integers(-5, 5), st.integers(-5, 5)).map(sorted)


def between(pair: list[int]) -> Between:
    low, high = (np.array(float(end)) for end in pair)
    return Between((low + high) / 2, low, high)


@given(ends, ends)
def test_products_and_squares_are_between_their_ends(one: list[int], other: list[int]) -> None:
    products = [a * b for a in one for b in other]
    found = between(one).times(between(other))
    assert (found.lower, found.upper) == (min(products), max(products))
    squares = [a * a for a in range(one[0], one[1] + 1)]
    found = between(one).square()
    assert (found.lower, found.upper) == (min(squares), max(squares))


@given(st.data())
def test_averages_and_variances_are_between_their_ends(data: st.DataObject) -> None:
    records = np.array(data.draw(records_of))
    reach = tuple(data.draw(st.integers(0, most)) for most in (40, 60, 60, 20, 20, 4))
    noise = tuple(data.draw(st.integers(-far, far)) for far in reach)
    query = correlation("age", "pay")
    moments = Moments(answered(query, DOMAIN, records, noise, reach), query.pairs)  # type: ignore[arg-type]
    for name, codes in zip(("age", "pay"), records.T, strict=True):
        attribute = DOMAIN[name]
        values = codes + float(attribute.number(0)) - middle(attribute)
        average, variance = moments.average(name), moments.covariance(name, name)
        assert -half(attribute) <= average.lower - 0 <= values.mean() + 1e-9 <= average.upper + 2e-9
        assert 0 <= variance.lower <= values.var() + 1e-9
        assert values.var() - 1e-9 <= variance.upper <= half(attribute) ** 2


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
