"""The two readings of "neighbours", and the theorem that makes N* the right one, on tiny worlds."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow
from tests.known_worlds import Case, is_star_neighbour, line, one_at_a_time, pairs_graph, random_case

from tetraodon.certificate import oracle
from tetraodon.certificate.oracle import Dataset, TinyWorld
from tetraodon.errors import QueryError, Refused
from tetraodon.policy.known import Known, Marginal
from tetraodon.policy.load import load_policy
from tetraodon.policy.secret_graph import ABSENT, complete_graph
from tetraodon.queries import histogram


def world(case: Case, n: int | None = None) -> TinyWorld:
    return oracle.world(case.graph, case.known, n or case.n)


def test_the_literal_relation_is_not_symmetric() -> None:
    case = pairs_graph(4, [(0, 1), (0, 2), (1, 3)], "v in (1, 2)")
    literal = set(oracle.pairs(world(case), "literal"))
    assert ((0, 1), (1, 3)) in literal
    assert ((1, 3), (0, 1)) not in literal
    star = set(oracle.pairs(world(case), "star"))
    assert {((0, 1), (1, 3)), ((1, 3), (0, 1))} <= star


def test_neighbours_may_move_along_pairs_that_are_no_edges() -> None:
    case = pairs_graph(3, [(0, 1)], "v = 0")
    assert ((0, 2), (1, 0)) in set(oracle.pairs(world(case), "star"))


def test_the_pair_that_the_literal_relation_throws_away() -> None:
    case = one_at_a_time((3, 2), Known(Marginal(("a1",))))
    cell = case.graph.domain.cell
    first = tuple(cell(v) for v in ((0, 0), (1, 0), (2, 1)))
    second = tuple(cell(v) for v in ((1, 1), (2, 0), (0, 1)))
    assert (first, second) in set(oracle.pairs(world(case), "star"))
    assert (first, second) not in set(oracle.pairs(world(case), "literal"))
    assert (second, first) not in set(oracle.pairs(world(case), "literal"))


def test_without_known_counts_one_record_moves_along_one_edge() -> None:
    case = Case(line(4).graph, (), 2)
    datasets = list(itertools.product(range(4), repeat=2))
    steps = {(a, b): [abs(x - y) for x, y in zip(a, b, strict=True)] for a in datasets for b in datasets}
    moved = {pair for pair, step in steps.items() if sorted(step) == [0, 1]}
    for reading in ("star", "literal"):
        assert set(oracle.pairs(world(case), reading)) == moved  # type: ignore[arg-type]


def test_how_the_two_readings_lie() -> None:
    """N* is symmetric, holds the literal relation both ways, equals it for the complete graph, and is what the check
    that looks at moves alone says."""
    rng = random.Random(11)
    for _ in range(40):
        case = random_case(rng)
        here = world(case, min(case.n, 3))
        star, literal = set(oracle.pairs(here, "star")), set(oracle.pairs(here, "literal"))
        assert star == {(b, a) for a, b in star}
        assert literal <= star
        everything = list(itertools.product(range(here.size), repeat=here.n))
        some = [(rng.choice(everything), rng.choice(everything)) for _ in range(300)]
        assert all(((a, b) in star) == is_star_neighbour(here, a, b) for a, b in some)
        full = oracle.world(complete_graph(case.graph), case.known, here.n)
        assert set(oracle.pairs(full, "star")) == set(oracle.pairs(full, "literal"))
        assert star <= set(oracle.pairs(full, "star"))


def test_rising_first_datasets_are_enough() -> None:
    rng = random.Random(12)
    for _ in range(40):
        here = world(random_case(rng), 3)
        for reading in ("star", "literal"):
            every = {_change(here, a, b) for a, b in oracle.pairs(here, reading)}  # type: ignore[arg-type]
            assert every == oracle.changes(here, reading)  # type: ignore[arg-type]


def _change(here: TinyWorld, first: Dataset, second: Dataset) -> tuple[int, ...]:
    change = [0] * here.size
    for x, y in zip(first, second, strict=True):
        change[x] -= 1
        change[y] += 1
    return tuple(change)


def test_large_worlds_are_refused() -> None:
    with pytest.raises(Refused, match="datasets"):
        world(line(10), 6)


# -- the theorem -------------------------------------------------------------------------------


def couples(
    here: TinyWorld, prior: list[list[int]], person: int, x: int, y: int, allowed: set[tuple[Dataset, Dataset]]
) -> Iterable[bool]:
    """For each known answer, whether D | D_i = x and D | D_i = y have a coupling on the allowed pairs, exactly.

    The weights of the two sides are brought to the same whole total, so that a flow of all of it is the question.
    """
    for group in here.groups:
        weight = {d: math.prod(prior[j][value] for j, value in enumerate(d)) for d in group}
        left = [d for d in group if d[person] == x and weight[d]]
        right = [d for d in group if d[person] == y and weight[d]]
        if not left or not right:
            continue
        total_left, total_right = sum(weight[d] for d in left), sum(weight[d] for d in right)
        unit = math.lcm(total_left, total_right)
        size = len(left) + len(right) + 2
        capacity = np.zeros((size, size), np.int64)
        for a, d in enumerate(left, 1):
            capacity[0, a] = weight[d] * unit // total_left
            for b, e in enumerate(right, 1 + len(left)):
                capacity[a, b] = unit if (d, e) in allowed else 0
        for b, e in enumerate(right, 1 + len(left)):
            capacity[b, size - 1] = weight[e] * unit // total_right
        assert capacity.max() < 2**31
        yield bool(maximum_flow(csr_array(capacity.astype(np.int32)), 0, size - 1).flow_value == unit)


def test_every_product_prior_has_an_exact_coupling_on_the_star_relation() -> None:
    rng = random.Random(13)
    tried = 0
    while tried < 1500:
        case = random_case(rng)
        here = world(case, 3)
        allowed = set(oracle.pairs(here, "star"))
        prior = [[rng.choice([0, 1, 1, 2, 3]) for _ in range(here.size)] for _ in range(3)]
        for x, y in itertools.permutations(range(here.size), 2):
            if here.edge[x][y] and rng.random() < 0.5:
                for coupled in couples(here, prior, 0, x, y, allowed):
                    assert coupled
                    tried += 1


def test_some_prior_has_no_coupling_on_the_literal_relation() -> None:
    case = one_at_a_time((3, 2), Known(Marginal(("a1",))))
    cell = case.graph.domain.cell
    first = [cell(v) for v in ((0, 0), (1, 0), (2, 1))]
    second = [cell(v) for v in ((1, 1), (2, 0), (0, 1))]
    prior = [[int(value in ends) for value in range(6)] for ends in zip(first, second, strict=True)]
    here = world(case)
    literal = set(oracle.pairs(here, "literal"))
    both_ways = literal | {(b, a) for a, b in literal}
    star = set(oracle.pairs(here, "star"))
    assert list(couples(here, prior, 1, first[1], second[1], both_ways)) == [False]
    assert list(couples(here, prior, 1, first[1], second[1], star)) == [True]


def test_absent_people_are_a_value_that_adds_nothing() -> None:
    rng = random.Random(14)
    case = next(c for c in iter(lambda: random_case(rng), None) if c.graph.absent)
    here = world(case, 1)
    assert here.adds[-1] == (0,) * len(here.adds[0])
    assert all(here.edge[x][-1] for x in range(here.size - 1))
    assert not here.edge[-1][-1]
    assert ABSENT is not None


def test_any_function_of_the_data_has_a_sensitivity() -> None:
    written = {
        "dataset": "d",
        "presence": "public",
        "attributes": {"a": {"integer": [0, 3]}},
        "secrets": {"a": {"within": 1}},
        "known": [{"count": "a >= 2"}],
        "budget": {"epsilon": 1},
    }
    policy = load_policy(written)
    counts = oracle.sensitivity(policy, histogram("a"), 2)
    assert counts == oracle.sensitivity(written, np.eye(4), 2)
    assert counts == oracle.sensitivity(policy, lambda people: [people.count((x,)) for x in range(4)], 2)
    assert oracle.sensitivity(policy, lambda people: max(x for (x,) in people), 2, reading="literal") == 1
    assert oracle.sensitivity(policy, len, 2) == 0


@pytest.mark.parametrize(
    ("query", "n", "reading", "words"),
    [
        (histogram("a"), 2, "other", "no such reading"),
        (histogram("a"), -1, "star", "whole number"),
        (histogram("a"), 2.5, "star", "whole number"),
        (None, 2, "star", "not a query"),
        (np.eye(3), 2, "star", "one column for each cell"),
    ],
)
def test_mistakes_are_told(query: Any, n: Any, reading: Any, words: str) -> None:
    policy = {"dataset": "d", "attributes": {"a": {"integer": [0, 3]}}, "budget": {"epsilon": 1}}
    with pytest.raises(QueryError, match=words):
        oracle.sensitivity(policy, query, n, reading)
