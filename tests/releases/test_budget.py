"""Budgets are filled: nothing is left over that any item could still use."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.worlds import graphs, positive, queries

import tetraodon as td
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.mechanism.direct import DIRECT, EXACT
from tetraodon.mechanism.identity import IDENTITY
from tetraodon.mechanism.strategy import Strategy
from tetraodon.policy.policy import Item, Policy
from tetraodon.query.contribution import AllRanges
from tetraodon.query.kinds import count
from tetraodon.releases import proposals as budget
from tetraodon.releases.proposals import certify, fill


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_item_could_have_less_noise(data: st.DataObject) -> None:
    graph = data.draw(graphs(2))
    usable = queries(graph.domain).filter(lambda q: not isinstance(q.contribution, AllRanges))
    policy = Policy("tiny", graph.domain, graph, data.draw(positive), (Item("q", count()),))
    chosen = []
    for query in data.draw(st.lists(usable, min_size=1, max_size=3)):
        strategy = Strategy(DIRECT, (query,))
        loss = certify_measurements(graph, strategy.measurements(Fraction(1))).epsilon
        if loss:
            chosen.append((strategy, Fraction(loss) / data.draw(positive)))
    if not chosen:
        return
    scales = fill(policy, chosen)
    assert certify(policy, chosen, scales).epsilon == policy.epsilon
    for number in range(len(scales)):
        less = [scale * Fraction(99, 100) if i == number else scale for i, scale in enumerate(scales)]
        assert certify(policy, chosen, less).epsilon > policy.epsilon


@pytest.mark.parametrize("at_most", [1, 2, 3])
def test_items_that_are_alike_stop_together(monkeypatch: pytest.MonkeyPatch, at_most: int) -> None:
    """Scales are what they are if items stop step by step, after fewer certificates."""
    names = "abcdefgh"
    policy = td.load_policy(
        {
            "dataset": "wide",
            "presence": "public",
            "attributes": {name: {"integer": [0, 1 + (name > "f")]} for name in names},
            "together": {"at most": at_most},
            "budget": {"epsilon": 1},
            "release": [{"name": name, "histogram": name, "share": 1 + (name in "be")} for name in names],
        }
    )
    asked = [Strategy(DIRECT, (item.linear(policy.domain),)) for item in policy.items]
    chosen = [(strategy, Fraction(9) / item.share) for strategy, item in zip(asked, policy.items, strict=True)]
    chosen.append((Strategy(DIRECT, (td.queries.histogram("a", "b").linear(policy.domain),)), Fraction(9)))
    times = []

    def counted(*args: Any, **more: Any) -> Any:
        times.append(len(args[1]))
        return certify_measurements(*args, **more)

    monkeypatch.setattr(budget, "certify_measurements", counted)
    together, of_all = fill(policy, chosen), sum(times)
    monkeypatch.setattr(budget, "_lone", lambda *_: set())
    times.clear()
    assert together == fill(policy, chosen)
    assert of_all < sum(times)


def test_exact_items_take_nothing() -> None:
    from tests.worlds import Domain

    from tetraodon.domain import Attribute, Integers
    from tetraodon.policy.attribute_graph import Everything
    from tetraodon.policy.secret_graph import Factor, SecretGraph
    from tetraodon.query.contribution import One
    from tetraodon.query.linear import LinearQuery, splits

    domain = Domain((Attribute("x", Integers(0, 3)),))
    graph = SecretGraph(domain, (Factor(("x",), Everything(4)),), 1)
    policy = Policy("tiny", domain, graph, Fraction(1), (Item("q", count()),), "public")
    total = Strategy(EXACT, (), (LinearQuery(One()),))
    table = Strategy(IDENTITY, (LinearQuery(One(), splits(["x"])),), table=splits(["x"]))
    assert fill(policy, [(total, Fraction(0)), (table, Fraction(5))]) == [0, 2]


@pytest.mark.parametrize(("together", "times"), [("all at once", 2), ("one attribute at a time", 60)])
def test_a_budget_is_filled_with_few_certificates(monkeypatch: pytest.MonkeyPatch, together: str, times: int) -> None:
    """Two for each step that the budget stops at, not one for each item each time: planning grew cubically."""
    names = [f"a{number}" for number in range(30)]
    policy = td.load_policy(
        {
            "tetraodon": 1,
            "dataset": "wide",
            "together": together,
            "attributes": {name: ["x", "y", "z"] for name in names},
            "budget": {"epsilon": 1},
            "release": [{"name": name, "histogram": [name]} for name in names],
        }
    )
    chosen = [(item.strategy, Fraction(number + 1)) for number, item in enumerate(td.plan(policy))]
    asked = []
    certified = budget.certify_measurements
    monkeypatch.setattr(budget, "certify_measurements", lambda *a, **more: asked.append(1) or certified(*a, **more))
    scales = budget.fill(policy, chosen)
    assert len(asked) <= times
    assert budget.certify(policy, chosen, scales).epsilon == 1
