"""Tests and beliefs after a release, beside all tests and priors of small worlds."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tetraodon as td
from tetraodon.noise import laplace_pmf
from tetraodon.policy.explain import changed_belief, power


@given(st.fractions(Fraction(1, 100), 4, max_denominator=100), st.fractions(Fraction(1, 50), Fraction(1, 2)))
def test_no_test_of_a_noisy_count_is_stronger(epsilon: Fraction, alarm: Fraction) -> None:
    """The best tests of one count against the next are thresholds (Neyman and Pearson), with a coin there."""
    most = float(power(epsilon, Fraction(0), alarm))
    chances = [laplace_pmf(1 / epsilon, k) for k in range(-60, 61)]
    found, left = 0.0, float(alarm)
    for below, above in zip(reversed(chances), reversed([0.0, *chances[:-1]]), strict=True):
        share = min(1.0, left / below) if below else 1.0
        found, left = found + share * above, left - share * below
        if share < 1:
            break
    assert found <= most + 1e-9


def test_the_power_is_attained_where_an_output_is_as_likely_as_allowed() -> None:
    """A coin that tells the truth with chance e^epsilon / (1 + e^epsilon), and a test that trusts it half the time."""
    truth = math.e / (1 + math.e)
    alarm = Fraction(1, 20)
    trusted = float(alarm) / (1 - truth)
    assert float(power(Fraction(1), Fraction(0), alarm)) == pytest.approx(truth * trusted)
    assert float(power(Fraction(0), Fraction(1, 100), alarm)) == pytest.approx(0.06)


def test_no_belief_changes_further_and_some_changes_as_far() -> None:
    """Two records of two values, the first told by a coin: every event, priors at random, the record a step off."""
    chance, worst = random.Random(1), 0.0
    datasets = list(itertools.product((0, 1), repeat=2))
    truth = math.e / (1 + math.e)
    for _ in range(4000):
        prior = [chance.random() ** 4 for _ in datasets]
        seen = [truth if dataset[0] == 1 else 1 - truth for dataset in datasets]
        off = [1 - each for each in seen]
        after = [[p * s for p, s in zip(prior, told, strict=True)] for told in (seen, off)]
        after = [[each / sum(side) for each in side] for side in after]
        apart = sum(abs(one - other) for one, other in zip(*after, strict=True)) / 2
        worst = max(worst, apart)
    most = float(changed_belief(Fraction(1)))
    assert most == pytest.approx(math.tanh(0.5))
    assert most * 0.999 < worst <= most + 1e-12


def test_what_is_said() -> None:
    base = {"dataset": "d", "presence": "public", "attributes": {"x": {"integer": [0, 9]}}, "budget": {"epsilon": 1}}

    def told(**changes: object) -> str:
        return td.explain({**base, **changes}).text.replace("\n", " ")

    assert "at most 13.6% of cases" in told()
    assert "46.3 percentage points" in told()
    forgiving = told(budget={"epsilon": 1, "delta": 0.001})
    assert "at most 13.7% of cases" in forgiving
    assert "percentage points" not in forgiving
    assert "other ways" not in told(budget={"epsilon": 20})
    assert "other ways" not in told(secrets={"x": "public"})
