"""The worst edge where queries count the records that satisfy a condition."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.certificate.test_missing_apart import brute_force

import tetraodon as td
from tetraodon.certificate import conditional_steps
from tetraodon.certificate.conditional_steps import answered_part, by_answers
from tetraodon.certificate.edge_loss import Weighted
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.certificate.pair_loss import loss_of_pair
from tetraodon.certificate.worst_edge import worst_edge
from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.errors import Refused
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Everything, Pairs, Public, Within, WithinOrMissing
from tetraodon.policy.joint_graph import JointMetric, Regions
from tetraodon.policy.secret_graph import ABSENT, Factor, SecretGraph
from tetraodon.query.contribution import One, Prefix
from tetraodon.query.linear import LinearQuery, Measurement, Split
from tetraodon.query.number import Number
from tetraodon.query.records_where import RecordsWhere, records_where
from tetraodon.query.smooth import Hats

# -- part steps -----------------------------------------------------------------------------------


DOMAIN = Domain(
    (
        Attribute("a", Integers(0, 3)),
        Attribute("b", Categories(("x", "y", "z")), other=0),
        Attribute("c", Integers(-1, 2)),
    )
)
CONDITIONS = (
    "",
    "a >= 1",
    "a < 1",
    "a = 1 or c > 1",
    "b = 'x' and a < 2",
    "b <> 'x'",
    "c between 0 and 1",
    "c <> 1",
    "a + c > 2",
    "b in ('x', 'z') and c >= 0",
    "a >= 2 and b = 'y' and c < 2",
)


def random_graph(chance: random.Random) -> SecretGraph:
    def secrets(size: int) -> AttributeGraph:
        missing, some = WithinOrMissing(size, 1), Pairs(size, frozenset({(0, 2), (1, 2)}))
        kinds: list[AttributeGraph] = [Public(size), Everything(size), Within(size, 1), Blocks((0, 1, 0, 1)[:size])]
        return chance.choice([*kinds, *kinds, missing, some])

    factors = tuple(Factor((one.name,), secrets(one.size)) for one in DOMAIN)
    if chance.random() < 0.3:
        metric = chance.choice(["l1", "l2", "linf"])
        near = JointMetric(metric, Fraction(1), (4, 4), (Fraction(0), Fraction(-1)), (Fraction(1),) * 2)
        blocks = [0, *(chance.randrange(2) for _ in range(15))]
        parts = Regions((4, 4), tuple(blocks), ("north", "south")[: 1 + max(blocks)])
        factors = (Factor(("a", "c"), chance.choice([near, parts])), factors[1])
    return SecretGraph(DOMAIN, factors, chance.choice((1, 1, 2, 3)), chance.random() < 0.4)


def random_query(chance: random.Random) -> LinearQuery:
    those = records_where(chance.choice(CONDITIONS), (), DOMAIN)
    inside = DOMAIN if those is None else those.inside
    size = {one.name: one.size for one in inside}
    smooth = [Hats("a", size["a"], 2)] if size["a"] > 1 else []
    weighted = Number(inside["c"], inside["a"])
    kind = chance.choice([One(), Prefix("a", size["a"], size["a"]), Number(inside["c"]), weighted, *smooth])
    free = [name for name in DOMAIN.names if name not in kind.names]
    by = [_split(name, size[name], chance) for name in chance.sample(free, chance.randrange(len(free) + 1))]
    query = LinearQuery(kind, tuple(by))
    return query if those is None else those.lifted(query)


def _split(name: str, size: int, chance: random.Random) -> Split:
    """By value, or in two bins."""
    bins = tuple(code % 2 for code in range(size)) if size > 1 and chance.random() < 0.3 else None
    return Split(name, bins)


def listed(graph: SecretGraph, queries: list[Weighted], power: int) -> Fraction:
    """The worst step, by listing all of them and every row of every query."""
    x, y = graph.edge_cells()
    total = np.zeros(len(x) + DOMAIN.size * graph.absent, object)
    for query, weight in queries:
        rows = query.matrix(DOMAIN)[0].astype(object)
        moved = [(np.abs(rows[:, x] - rows[:, y]) ** power).sum(axis=0)] if len(x) else []
        moved += [(np.abs(rows) ** power).sum(axis=0)] if graph.absent else []
        if moved:
            total = total + weight * np.concatenate(moved)
    return Fraction(max(total, default=0))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("power", [1, 2])
def test_the_worst_step_is_that_of_a_listing(seed: int, power: int) -> None:
    chance = random.Random(1000 * power + seed)
    for _ in range(25):
        graph = random_graph(chance)
        queries = [(random_query(chance), Fraction(chance.randrange(1, 7), 3)) for _ in range(chance.randrange(1, 5))]
        found = worst_edge(graph, queries, squares=power == 2)
        assert found.exact
        assert found.value == listed(graph, queries, power)
        if found.value:
            assert found.witness is not None
            assert graph.is_edge(*found.witness)
            measured = [Measurement(query, 1 / weight) for query, weight in queries]
            if power == 1:
                assert loss_of_pair(DOMAIN, measured, found.witness) == found.value


# -- single steps ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("edges", [0, 10**6])
def test_no_bound_is_below_the_truth(seed: int, edges: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on large worlds: cells that are not looked at together, and steps that are too many to be listed."""
    monkeypatch.setattr(conditional_steps, "MATRIX_LIMIT", 0)
    monkeypatch.setattr(conditional_steps, "KEPT", 4)
    monkeypatch.setattr(conditional_steps, "EDGE_LIMIT", edges)
    chance = random.Random(seed)
    exact = tried = 0
    for _ in range(40):
        graph = random_graph(chance)
        queries = [(random_query(chance), Fraction(chance.randrange(1, 7), 3)) for _ in range(chance.randrange(1, 4))]
        truth = listed(graph, queries, 1)
        try:
            found = worst_edge(graph, queries)
        except Refused:
            continue
        tried += 1
        exact += found.exact
        assert found.value == truth if found.exact else found.value >= truth
    assert 3 * exact > tried > 20


def test_disjoint_parts_cost_what_one_costs() -> None:
    """Of a table that is long: no listing of its cells would do."""
    domain = Domain((Attribute("age", Integers(0, 9999)), Attribute("sex", Categories(("f", "m")), other=0)))
    factors = (Factor(("age",), Within(10_000, 7)), Factor(("sex",), Everything(2)))
    graph = SecretGraph(domain, factors, 1)
    young, old = (RecordsWhere(where, (), domain) for where in ("age < 3000", "age >= 3000"))
    tables = [part.lifted(LinearQuery(One(), (Split("sex"),))) for part in (young, old)]
    one = certify_measurements(graph, [Measurement(tables[0], Fraction(2))])
    both = certify_measurements(graph, [Measurement(table, Fraction(2)) for table in tables])
    assert one.epsilon == both.epsilon == 1
    assert both.exact
    # beside a table of all ages a step over the border moves both parts, and two ages
    ages = Measurement(LinearQuery(One(), (Split("age"),)), Fraction(2))
    together = certify_measurements(graph, [ages, *(Measurement(table, Fraction(2)) for table in tables)])
    assert together.epsilon == 2
    assert together.exact


def test_a_step_out_of_a_part_moves_all_that_the_record_adds() -> None:
    domain = Domain((Attribute("age", Integers(0, 9)), Attribute("pay", Integers(0, 4999))))
    graph = SecretGraph(domain, (Factor(("age",), Within(10, 1)), Factor(("pay",), Within(5000, 3))), 1)
    grown = RecordsWhere("age >= 5", (), domain)
    running = grown.lifted(LinearQuery(Prefix("pay", 5000, 5000)))
    found = certify_measurements(graph, [Measurement(running, Fraction(1))])
    assert found.epsilon == 5000
    assert found.witness == ((4, 0), (5, 0))
    assert DOMAIN.size < domain.size


# -- answered part --------------------------------------------------------------------------------


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
