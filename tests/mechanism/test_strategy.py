"""What is proposed for each question, and what comes free."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import tetraodon as td
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.errors import QueryError
from tetraodon.mechanism.direct import DIRECT, EXACT, free_totals
from tetraodon.mechanism.identity import IDENTITY
from tetraodon.mechanism.registry import proposals
from tetraodon.mechanism.strategy import Strategy
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, splits


def policy(**changes: Any) -> td.Policy:
    document = {
        "tetraodon": 1,
        "dataset": "d",
        "presence": "public",
        "attributes": {"x": {"integer": [0, 9]}, "c": ["a", "b", "z"], "p": ["u", "v"]},
        "secrets": {"x": {"within": 2}, "c": {"blocks": [["a", "b"], ["z"]]}, "p": "public"},
        "budget": {"epsilon": 1},
    }
    return td.load_policy({**document, **changes})


@pytest.mark.parametrize(
    ("query", "mechanisms"),
    [
        (td.queries.histogram("x"), {"identity", "ordered"}),
        (td.queries.histogram("c"), {"identity"}),
        (td.queries.total("x"), {"direct"}),
        (td.queries.mean("x"), {"direct"}),
        (td.queries.count("x > 3"), {"direct"}),
    ],
)
def test_who_offers_what(query: Any, mechanisms: set[str]) -> None:
    assert {strategy.mechanism.name for strategy in proposals(query, policy())} >= mechanisms


def test_what_is_free_costs_nothing() -> None:
    here = policy()
    (totals,) = free_totals(splits(["x", "c", "p"]), here)
    assert [split.name for split in totals.by] == ["c", "p"]
    assert certify_measurements(here.graph, Strategy(EXACT, (), (totals,)).measurements(Fraction(0))).epsilon == 0


def test_nothing_is_free_where_somebody_may_be_absent() -> None:
    assert free_totals(splits(["x"]), policy(presence="secret")) == ()


def test_weights_are_noise_in_multiples_of_the_scale() -> None:
    query = LinearQuery(One())
    strategy = Strategy(DIRECT, (query, query), weights=(Fraction(1), Fraction(1, 3)))
    assert [m.scale for m in strategy.measurements(Fraction(6))] == [6, 2]
    with pytest.raises(td.errors.QueryError, match="weight"):
        Strategy(DIRECT, (query,), weights=(Fraction(1), Fraction(1)))


def test_a_mechanism_that_nobody_can_read_is_no_strategy() -> None:
    with pytest.raises(QueryError, match=r"nobody can read.*Fix:"):
        Strategy(IDENTITY, ())
