"""Queries about parts of the records: the worst step is that of a listing of all steps, on many small worlds."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from tetraodon.certificate import edge_loss, line_axis
from tetraodon.certificate.edge_loss import Weighted
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.certificate.pair_loss import loss_of_pair
from tetraodon.certificate.worst_edge import worst_edge
from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.errors import Refused
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Everything, Public, Within
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.query.contribution import One, Prefix
from tetraodon.query.linear import LinearQuery, Measurement, Split
from tetraodon.query.number import Number
from tetraodon.query.records_where import RecordsWhere, records_where
from tetraodon.query.smooth import Hats

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
        kinds: list[AttributeGraph] = [Public(size), Everything(size), Within(size, 1), Blocks((0, 1, 0, 1)[:size])]
        return chance.choice(kinds)

    factors = tuple(Factor((one.name,), secrets(one.size)) for one in DOMAIN)
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
            measured = [Measurement(query, 1 / weight) for query, weight in queries]
            if power == 1:
                assert loss_of_pair(DOMAIN, measured, found.witness) == found.value


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("edges", [0, 10**6])
def test_no_bound_is_below_the_truth(seed: int, edges: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on large worlds: cells that are not looked at together, and steps that are too many to be listed."""
    monkeypatch.setattr(edge_loss, "MATRIX_LIMIT", 0)
    monkeypatch.setattr(line_axis, "EDGE_LIMIT", edges)
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


def test_conditions_that_are_joined_by_or_over_many_values() -> None:
    """Values that nothing tells apart are merged: of 3,000 x 2,000 cells a handful is looked at."""
    domain = Domain((Attribute("a", Integers(0, 2999)), Attribute("c", Integers(0, 1999))))
    either = RecordsWhere("a > 10 or c = 4", (), domain)
    for at_most in (1, 2):  # a step of c alone leaves those, and moves two counts by c
        graph = SecretGraph(domain, (Factor(("a",), Within(3000, 5)), Factor(("c",), Everything(2000))), at_most)
        both = [(either.lifted(LinearQuery(One())), Fraction(1)), (LinearQuery(One(), (Split("c"),)), Fraction(1, 2))]
        found = worst_edge(graph, both)
        assert found.exact
        assert found.value == 2
        assert found.witness is not None
        assert loss_of_pair(domain, [Measurement(query, 1 / weight) for query, weight in both], found.witness) == 2


def test_a_condition_on_a_long_attribute_beside_another() -> None:
    """Refused once: the attribute has too many values to be looked at pair by pair."""
    domain = Domain((Attribute("x", Integers(0, 9999)), Attribute("s", Categories(("c0", "c1", "c2")), other=0)))
    graph = SecretGraph(domain, (Factor(("x",), Everything(10_000)), Factor(("s",), Everything(3))), 2)
    those = RecordsWhere("x > 10 and s <> 'c0'", (), domain)
    table = those.lifted(LinearQuery(One(), (Split("x", ends=(11, 9999)), Split("s", ends=(1, 2)))))
    found = certify_measurements(graph, [Measurement(table, Fraction(1))])
    assert found.exact
    assert found.epsilon == 2
