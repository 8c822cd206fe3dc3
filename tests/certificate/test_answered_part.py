"""Queries about those who answered everything that is asked: what they lose, against a listing of every edge."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from tests.certificate.test_missing_apart import brute_force

import tetraodon as td
from tetraodon.certificate.conditional_steps import answered_part, by_answers
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.query.linear import Measurement

APART = {"missing": "separate"}
SECRETS: list[Any] = [
    {},
    {"x": {"within": 1}, "y": {"within": 2}},
    {"x": "public", "s": "public"},
    {"x": {"blocks": [[0, 1], [2, 3], ["missing"]]}, "y": "public"},
    {"s": {"blocks": [["a"], ["b"]]}, "x": {"within": 2}},
    {"x": {"pairs": [[0, "missing"], [3, 0], [1, 2]]}},
]
ITEMS: list[dict[str, Any]] = [
    {"correlation": ["x", "y"]},
    {"regression": "y", "on": ["x"]},
    {"covariance": ["x", "y"], "by": "s"},
    {"covariance": ["x", "y"], "where": "s = 'a'"},
    {"covariance": ["x", "y"], "where": "x >= 1 and y < 2"},
    {"mean": "y", "weight": "x"},
    {"ratio": ["x", "y"]},
]


def policy(items: list[dict[str, Any]], size: int = 2, **more: Any) -> dict[str, Any]:
    return {
        "dataset": "d",
        "attributes": {
            "x": {"integer": [0, size + (size == 2)], **APART},
            "y": {"integer": [0, size], **APART},
            "s": ["a", "b"],
        },
        "budget": {"epsilon": 1},
        "release": [{"name": f"q{place}", **item} for place, item in enumerate(items)],
        **more,
    }


@pytest.mark.parametrize("secrets", SECRETS, ids=repr)
@pytest.mark.parametrize("together", ["all at once", "one attribute at a time"])
@pytest.mark.parametrize("presence", ["public", "secret"])
def test_the_loss_is_that_of_the_worst_pair(secrets: Any, together: str, presence: str) -> None:
    """Every kind of question about several attributes: equal to the definition, with a pair that attains it."""
    for item in ITEMS:
        made = td.load_policy(policy([item], secrets=secrets, together=together, presence=presence))
        [asked] = made.items
        those = asked.among(made.domain)
        assert those is not None
        queries = [those.lifted(one) for one in asked.query.sums(those.inside)]
        scales = [Fraction(3 + 2 * place, 2) for place in range(len(queries))]
        measured = [Measurement(q, s) for q, s in zip(queries, scales, strict=True)]
        found, truth = certify_measurements(made.graph, measured), brute_force(made, queries, scales)
        assert found.epsilon >= truth
        assert (found.epsilon == truth) or not found.exact
        assert found.exact or "blocks" in str(secrets)
        if found.witness is not None and found.exact and truth:
            x, y = found.witness
            assert made.graph.is_edge(x, y) or (presence == "secret" and ABSENT in (x, y))


@pytest.mark.parametrize("presence", ["public", "secret"])
@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "1/2"}])
def test_many_values_cost_what_they_cost_without_missing_ones(presence: str, budget: dict[str, Any]) -> None:
    """A million cells, and answers that may be left out: the same as if nobody did, with who is there a secret."""
    item = {"correlation": ["x", "y"]}
    apart = td.plan(policy([item], 999, presence=presence, budget=budget))
    document = policy([item], 999, presence="secret", budget=budget)
    document["attributes"] = {name: {"integer": [0, 999]} for name in ("x", "y")} | {"s": ["a", "b"]}
    there = td.plan(document)
    assert apart["q0"].scale == there["q0"].scale
    assert apart.certificate.exact == there.certificate.exact
    assert apart.certificate.witness is not None


@pytest.mark.parametrize("secrets", SECRETS[:3], ids=repr)
@pytest.mark.parametrize("other", [{"histogram": ["x"]}, {"mean": "y"}, {"cdf": "x"}, {"count": "all", "by": "s"}])
def test_beside_other_items_a_bound_is_told(
    secrets: Any, other: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No step moves both more than the worst steps of each: not below the listing, and said to be a bound."""
    monkeypatch.setattr("tetraodon.certificate.conditional_steps.FEW_CELLS", 8)
    made = td.load_policy(policy([ITEMS[0], other], secrets=secrets, presence="public"))
    measured = [m for item in td.plan(made) for m in item.measurements if m.scale]
    found = certify_measurements(made.graph, measured)
    truth = brute_force(made, [m.query for m in measured], [m.scale for m in measured])
    assert truth <= found.epsilon <= 2 * truth
    assert found.epsilon == truth or not found.exact


def test_what_is_no_such_part_is_left_to_others() -> None:
    made = td.load_policy(policy([{"covariance": ["x", "y"], "where": "x > 0 or y > 0"}, {"histogram": ["s"]}]))
    queries = [(item.linear(made.domain), Fraction(1)) for item in made.items]
    assert answered_part(made.graph, queries[:1]) is None
    assert answered_part(made.graph, queries[1:]) is None
    assert answered_part(made.graph, []) is None
    assert by_answers(made.graph, queries) == [queries]
