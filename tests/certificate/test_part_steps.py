"""Queries about parts of the records: the worst step is that of a listing of all steps, on many small worlds."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from tetraodon.certificate.edge_loss import Weighted
from tetraodon.certificate.pair_loss import loss_of_pair
from tetraodon.certificate.worst_edge import worst_edge
from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Everything, Public, Within
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.query.contribution import One, Prefix
from tetraodon.query.linear import LinearQuery, Measurement, Split
from tetraodon.query.number import Number
from tetraodon.query.records_where import records_where
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
