"""The least epsilon for an error is the least: against plans at every smaller number of three digits."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

import tetraodon as td
from tetraodon.releases import least_epsilon
from tetraodon.releases.least_epsilon import LEAST, MOST, epsilon_at_place, error_bound, place_of, plan_for_error
from tetraodon.releases.plan import offers
from tetraodon.releases.plan import plan as make_plan

QUERIES = (
    {"histogram": ["x"]},
    {"cdf": "x"},
    {"ranges": "x"},
    {"histogram": ["x", "y"]},
    {"histogram": ["y"]},
    {"count": "y = 'a'"},
    {"total": "x"},
    {"quantiles": "x", "bounds": True, "at": ["1/2"]},
)


def policy_of(size: int, release: list[dict[str, Any]], **more: Any) -> td.Policy:
    return td.load_policy(
        {
            "tetraodon": 1,
            "dataset": "line",
            "presence": "public",
            "attributes": {"x": {"integer": [1, size]}, "y": {"categories": ["a", "b", "c"]}},
            "budget": {"epsilon": 1},
            "release": [{"name": f"q{number}", **query} for number, query in enumerate(release)],
        }
        | more
    )


def random_policy(chance: random.Random) -> td.Policy:
    release = [dict(chance.choice(QUERIES)) for _ in range(chance.choice((1, 1, 2)))]
    for query in release:
        query["share"] = chance.choice((1, 2, 5))
    return policy_of(
        chance.choice((3, 8, 20)),
        release,
        presence=chance.choice(("public", "secret")),
        secrets={"x": chance.choice(({"within": 1}, {"within": 3}, "everything")), "y": "everything"},
        together=chance.choice(("one attribute at a time", "all at once")),
        budget={"epsilon": chance.choice((1, 4)), "delta": chance.choice((0, "1e-6", "0.01"))},
    )


def kept(policy: td.Policy, place: int, error: int, sure: Fraction) -> bool:
    plan = make_plan(policy, epsilon=epsilon_at_place(place))
    return all(error_bound(item, policy, sure) <= error for item in plan)


def place_found(plan: td.Plan) -> int:
    near = place_of(float(plan.policy.epsilon))
    return next(place for place in (near, near + 1) if epsilon_at_place(place) == plan.policy.epsilon)


@pytest.mark.parametrize("seed", range(12))
def test_no_smaller_epsilon_of_three_digits_keeps_the_error(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every place of the thirty below, and every fortieth down to a third. And few plans are made on the way."""
    chance = random.Random(seed)
    policy, error = random_policy(chance), chance.choice((2, 5, 13, 40))
    sure = chance.choice((Fraction(1, 2), Fraction(95, 100), Fraction(999, 1000)))
    made: list[td.Policy] = []
    monkeypatch.setattr(least_epsilon, "offers", lambda priced, known: (made.append(priced), offers(priced, known))[1])
    found = plan_for_error(policy, error, confidence=100 * sure)
    assert len(made) <= 12
    place = place_found(found)
    assert kept(policy, place, error, sure)
    below = {*range(place - 30, place), *range(place - 400, place - 30, 40)}
    assert not any(kept(policy, lower, error, sure) for lower in below if lower >= LEAST)


def test_below_a_change_of_noise() -> None:
    """Gaussian noise keeps the error from 0.126 on. At more epsilon Laplace noise errs less on average and is chosen,
    but its tails are longer: it does not keep the error before 0.228.
    """
    secrets = {"x": {"within": 1}, "y": "public"}
    policy = policy_of(3, [{"total": "x"}], secrets=secrets, budget={"epsilon": 1, "delta": "0.01"})
    sure = Fraction(9999, 10000)
    found = plan_for_error(policy, 40, confidence=100 * sure)
    assert [item.strategy.noise.name for item in found] == ["gaussian"]
    place = place_found(found)
    assert not kept(policy, place - 1, 40, sure)
    assert not kept(policy, place_of(0.2), 40, sure)
    assert kept(policy, place_of(0.23), 40, sure)


def test_exact_answers_need_the_least_there_is() -> None:
    policy = policy_of(8, [{"histogram": ["y"]}], secrets={"y": "public"})
    assert plan_for_error(policy, 1).policy.epsilon == epsilon_at_place(LEAST)


def test_errors_out_of_reach_are_refused() -> None:
    with pytest.raises(td.errors.Refused, match="no reasonable epsilon"):
        plan_for_error(policy_of(10**9, [{"total": "x"}], budget={"epsilon": 1, "delta": "0.01"}), 1)


def test_a_policy_that_cannot_be_planned_says_why() -> None:
    with pytest.raises(td.errors.PolicyError, match="nothing to release"):
        plan_for_error(policy_of(8, []), 5)


def test_places_are_the_numbers_of_three_digits_in_order() -> None:
    places = [*range(LEAST, LEAST + 50), *range(-950, 950), *range(MOST - 50, MOST)]
    epsilons = [epsilon_at_place(place) for place in places]
    assert epsilons == sorted(set(epsilons))
    assert all(abs(place_of(float(e) * 1.0001) - place) == 0 for place, e in zip(places, epsilons, strict=True))
