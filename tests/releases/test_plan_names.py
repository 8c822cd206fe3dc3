"""Plans that tell names: shares of the budget, thresholds, and intervals that hold the truth whatever was told."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tetraodon as td
from tetraodon.releases.codec import plan_document

BASE: dict[str, Any] = {
    "dataset": "d",
    "presence": "public",
    "attributes": {"x": {"integer": [0, 3]}, "word": {"open": "text"}},
    "budget": {"epsilon": 1, "delta": "1e-6"},
    "release": [{"name": "words", "names": "word"}, {"name": "xs", "histogram": "x", "share": 3}],
}


def test_items_divide_the_budget_as_their_shares_say() -> None:
    plan = td.plan(BASE)
    (words,) = plan.names
    assert (words.epsilon, plan["xs"].epsilon, plan.epsilon) == (Fraction(1, 4), Fraction(3, 4), 1)
    assert words.above.scale == 8  # one person's word becomes another: two counts move
    assert Fraction(1, 2 * 10**6) < words.certificate.delta <= Fraction(1, 10**6)
    assert plan.certificate.delta == words.certificate.delta


def test_several_items_divide_delta() -> None:
    two = [{"name": name, "names": "word"} for name in ("one", "two")]
    plan = td.plan(BASE | {"release": two})
    assert len(plan) == 0
    assert [item.epsilon for item in plan.names] == [Fraction(1, 2)] * 2
    assert all(item.certificate.delta <= Fraction(1, 2 * 10**6) for item in plan.names)
    assert plan.certificate.delta <= Fraction(1, 10**6)
    assert plan_document(plan)["queries"] == []


def test_others_have_laplace_noise_beside_names() -> None:
    """Fifteen tables would rather have Gaussian noise, which needs the delta too."""
    attributes = {name: {"integer": [0, 4]} for name in "abcdef"} | {"word": {"open": "text"}}
    many = [{"name": x + y, "histogram": [x, y]} for x in "abcdef" for y in "abcdef" if x < y]
    document = BASE | {"attributes": attributes, "release": many}
    assert td.plan(document).certificate.rho is not None
    assert td.plan(document | {"release": [*many, {"name": "words", "names": "word"}]}).certificate.rho is None


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "0.05", "delta": "1e-6"}])
def test_names_need_a_delta_beside_an_epsilon(budget: dict[str, Any]) -> None:
    with pytest.raises(td.errors.PolicyError, match="without a delta"):
        td.plan(BASE | {"budget": budget})


def test_errors_and_other_promises_are_found_for_numbers_only() -> None:
    with pytest.raises(td.errors.Refused, match="asks for names too"):
        td.plan_for_error(BASE, 10)
    with pytest.raises(td.errors.Refused, match="asks for names too"):
        td.compare(BASE, [1])


def test_a_plan_without_names_says_nothing_of_them() -> None:
    assert "names" not in plan_document(td.plan(BASE | {"release": BASE["release"][1:]}))


def test_the_sentence_says_how_many_must_share_a_name() -> None:
    (words,) = td.plan(BASE).names
    most = words.above.threshold
    assert f"fewer than about {most + 1:,} people share do not appear" in words.sentence
    assert f"those that {2 * most + 1:,} or more share all do" in words.sentence


@pytest.mark.parametrize(("epsilon", "delta"), [(1, "1e-2"), (3, "1e-4"), (20, "1e-3")])
def test_intervals_hold_the_truth_for_every_count_given_that_it_was_told(epsilon: int, delta: str) -> None:
    """Summed over every noise, for every truth: nothing is drawn."""
    (words,) = td.plan(BASE | {"budget": {"epsilon": epsilon, "delta": delta}, "release": BASE["release"][:1]}).names
    most, scale = words.above.threshold, float(words.above.scale)
    weights = {noise: math.exp(-abs(noise) / scale) for noise in range(-most, most + 1)}
    for truth in range(1, 3 * most + 4):
        passed = np.array([truth + noise for noise in weights if truth + noise > most])
        chances = np.array([weight for noise, weight in weights.items() if truth + noise > most])
        lower, upper = words.intervals(passed)
        held = (lower <= truth) & (truth <= upper)
        assert (chances * held).sum() / chances.sum() >= 0.95 - 1e-12
        assert (lower >= 1).all()
        assert (lower <= passed).all()
        assert (passed <= upper).all()


def test_no_intervals_of_no_names() -> None:
    (words,) = td.plan(BASE).names
    lower, upper = words.intervals(np.array([], np.int64))
    assert lower.size == upper.size == 0


def test_the_expected_error_is_that_of_the_noise() -> None:
    (words,) = td.plan(BASE).names
    most, scale = words.above.threshold, float(words.above.scale)
    weights = [math.exp(-abs(noise) / scale) for noise in range(-most, most + 1)]
    squares = sum(w * noise**2 for w, noise in zip(weights, range(-most, most + 1), strict=True))
    assert words.expected_error == pytest.approx(math.sqrt(squares / sum(weights)))
