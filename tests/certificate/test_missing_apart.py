"""Missing values that stand apart: what a sum, a mean and a variance lose, against a listing of every edge."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.theory.largest_move import largest_move

import tetraodon as td
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.domain import Attribute, Grid, Integers
from tetraodon.queries import mean, total, variance
from tetraodon.query.contribution import Answerers
from tetraodon.query.linear import LinearQuery, Measurement
from tetraodon.query.number import Number
from tetraodon.query.query import Query

SECRETS: list[Any] = [
    {},
    {"x": {"blocks": [[-2, 0], [1, 3], ["missing"]]}},
    {"x": {"pairs": [[-2, "missing"], [3, -2], [0, 1]]}},
    {"x": {"within": 2}},
    {"g": "public"},
    {"x": "public"},
]


def policy(secrets: Any, together: str, presence: str) -> td.Policy:
    return td.load_policy(
        {
            "dataset": "d",
            "presence": presence,
            "attributes": {"x": {"integer": [-2, 3], "missing": "separate"}, "g": ["a", "b"]},
            "secrets": secrets,
            "together": together,
            "budget": {"epsilon": 1},
        }
    )


def brute_force(made: td.Policy, asked: list[LinearQuery], scales: list[Fraction]) -> Fraction:
    return largest_move(made.graph, [(query, 1 / scale) for query, scale in zip(asked, scales, strict=True)])


@pytest.mark.parametrize("secrets", SECRETS)
@pytest.mark.parametrize("together", ["all at once", "one attribute at a time"])
@pytest.mark.parametrize("presence", ["public", "secret"])
@pytest.mark.parametrize(
    "query", [total("x"), mean("x"), variance("x"), total("x", by=["g"]), mean("x", by=["g"]), variance("x", by=["g"])]
)
def test_the_loss_is_that_of_the_worst_pair(query: Query, presence: str, together: str, secrets: Any) -> None:
    made = policy(secrets, together, presence)
    asked = list(query.sums(made.domain))
    scales = [Fraction(3 + 2 * place, 2) for place in range(len(asked))]
    found = certify_measurements(made.graph, [Measurement(q, s) for q, s in zip(asked, scales, strict=True)])
    assert found.epsilon == brute_force(made, asked, scales)
    assert found.exact


@pytest.mark.parametrize("low", [-7, 0, 5])
def test_many_values_cost_what_their_ends_cost(low: int) -> None:
    """A million values: two of the ends and the missing one are the worst pair, in fractions."""
    document = {
        "dataset": "d",
        "presence": "public",
        "attributes": {"x": {"integer": [low, 10**6], "missing": "separate"}},
        "budget": {"epsilon": 1},
    }
    made = td.load_policy(document)
    asked = mean("x").sums(made.domain)
    found = certify_measurements(made.graph, [Measurement(q, Fraction(7)) for q in asked])
    ends = max(10**6 - low, 10**6 + 1, abs(low) + 1)
    assert found.epsilon == Fraction(ends, 7)
    assert found.exact


def test_a_missing_value_adds_nothing() -> None:
    amount = Attribute("x", Grid(Fraction(-1), Fraction(1), Fraction(1, 2)), 5, separate=True)
    codes = np.arange(6)
    assert Number(amount).values(codes).tolist() == [-2, -1, 0, 1, 2, 0]
    assert Number(amount, squared=True).values(codes).tolist() == [16, 4, 0, 4, 16, 0]
    assert Number(amount).alone(codes, 2).tolist() == [4, 1, 0, 1, 4, 0]
    assert Answerers(("x",), 6).alone(codes).tolist() == [1, 1, 1, 1, 1, 0]
    assert Answerers(("x",), 6).columns().tolist() == [[1, 1, 1, 1, 1, 0]]
    plain = Attribute("x", Integers(0, 4))
    assert Number(plain).values(np.arange(5)).tolist() == [0, 1, 2, 3, 4]
