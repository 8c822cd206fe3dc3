"""Known inequalities about disjoint sets: the worst over those that are reached, and a bound where these are many."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations
from typing import Any

import pytest

import tetraodon as td
from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.certificate.known.unlisted import LISTED
from tetraodon.noise.laws import GAUSSIAN, LAPLACE, NoiseLaw
from tetraodon.policy.policy import Policy
from tetraodon.query.kinds import Query, cdf, count, histogram, linear, total
from tetraodon.query.linear import Measurement


def wards(beds: int, *others: dict[str, Any], only: tuple[int, ...] | None = None, **how: Any) -> Policy:
    """Seven wards and something else; so many of them have limits, or are known otherwise."""
    known = [{"count": f"ward = {ward}", **how} for ward in (range(beds) if only is None else only)]
    return td.load_policy(
        {
            "dataset": "hospital",
            "presence": "public",
            "attributes": {"ward": {"integer": [0, 6]}, "stay": {"integer": [1, 3]}},
            "budget": {"epsilon": 1},
            "known": [*known, *others],
        }
    )


def priced(here: Policy, question: Query, law: NoiseLaw = LAPLACE) -> Certificate:
    measured = Measurement(linear(question, here.domain), Fraction(2), law)
    return certify_measurements(here.graph, [measured], delta=Fraction(1, 1000) if law == GAUSSIAN else Fraction(0))


def loss(found: Certificate) -> Fraction:
    return Fraction(found.epsilon) if found.rho is None else found.rho


QUESTIONS = [histogram("ward", "stay"), histogram("ward"), cdf("ward"), total("stay"), count("ward < 2 and stay = 1")]


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=str)
@pytest.mark.parametrize("question", QUESTIONS, ids=str)
@pytest.mark.parametrize("beds", [2, LISTED + 1])
def test_the_worst_over_those_that_are_reached(beds: int, question: Query, law: NoiseLaw) -> None:
    every = chain.from_iterable(combinations(range(beds), size) for size in range(beds + 1))
    worst = max(loss(priced(wards(beds, only=some), question, law)) for some in every)
    found = priced(wards(beds, **{"at most": 5}), question, law)
    assert loss(found) >= worst
    if found.exact:
        assert loss(found) == worst
    assert found.exact or beds > LISTED or law == GAUSSIAN


def test_tables_are_exact_however_many_wards_have_limits() -> None:
    full = wards(7, **{"at most": 5})
    assert (priced(full, QUESTIONS[0]).epsilon, priced(full, QUESTIONS[0]).exact) == (7, True)
    assert (priced(full, QUESTIONS[1]).epsilon, priced(full, QUESTIONS[1]).exact) == (1, True)
    most = wards(5, **{"at most": 5})
    assert (priced(most, QUESTIONS[1]).epsilon, priced(most, QUESTIONS[1]).exact) == (1, True)
    assert (priced(full, cdf("ward")).epsilon, priced(full, cdf("ward")).exact) == (3, True)


def test_exact_counts_beside_them_are_always_reached() -> None:
    beside = wards(1, {"count": "ward = 4"}, {"count": "ward > 4", "is": 3}, **{"at most": 5})
    both = [wards(1, {"count": "ward = 4"}, {"count": "ward > 4"}, only=some) for some in ((), (0,))]
    for question in QUESTIONS:
        assert priced(beside, question).epsilon == max(priced(one, question).epsilon for one in both)
    assert priced(beside, count("ward = 4")).epsilon == 0
    assert priced(beside, count("ward = 0")).epsilon == Fraction(1, 2)


def test_conditions_about_several_attributes() -> None:
    sets = [{"count": f"ward < 3 and stay = {stay}", "at most": 9} for stay in (1, 2, 3)]
    here = wards(0, *sets, {"count": "ward = 5 and stay > 1", "at least": 2}, {"count": "ward = 6", "at most": 1})
    found = priced(here, cdf("ward"))
    assert not found.exact
    assert found.method == "upper bound over paths through all known counts"
    assert found.epsilon == 6 * Fraction(6, 2)  # from one end to the other, and through five sets
