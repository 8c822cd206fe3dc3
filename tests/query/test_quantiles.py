"""Quantiles of running counts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tetraodon as td
from tetraodon.query.query import asked_in_words
from tetraodon.query.ranges import read_quantile


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


def policy(item: dict[str, object]) -> td.Policy:
    base = {"dataset": "d", "presence": "public", "attributes": {"age": {"integer": [0, 9]}, "sex": ["f", "m"]}}
    return td.load_policy({**base, "budget": {"epsilon": 1}, "release": [{"name": "m", **item}]})


def test_a_median_is_the_quantile_at_one_half() -> None:
    said = policy({"median": "age", "by": "sex"})
    assert said == policy({"quantiles": "age", "at": [0.5], "by": "sex"})
    assert said.items[0].query == td.queries.median("age", by="sex") == td.queries.quantiles("age", at=[0.5], by="sex")
    assert asked_in_words(td.queries.median("age")) == "median of age"
    assert td.queries.median("age").drawing(said.domain, ()).head == "Median of age"
    assert asked_in_words(td.queries.quantiles("age")) == "quantiles of age"


def test_a_median_is_at_nothing_else() -> None:
    told = "release.1: a median is the quantile at 0.5. Fix: leave `at` out, or write `quantiles`."
    with pytest.raises(td.errors.PolicyError) as caught:
        policy({"median": "age", "at": [0.1]})
    assert str(caught.value) == told
    with pytest.raises(td.errors.PolicyError, match="this says both `quantiles` and `median`"):
        policy({"median": "age", "quantiles": "age"})
