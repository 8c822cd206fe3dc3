"""How far sequences of moves push answers: bounds, signs, cycles, flows and listed sequences."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from tests.known_worlds import one_at_a_time, random_case, random_query, whole_histogram

from tetraodon.certificate.known.push import (
    answer_space,
    edge_vectors,
    farthest_cycle,
    farthest_flow,
    farthest_listed,
    largest_push,
    longest_flow,
    reach_of,
    straight_flow,
)
from tetraodon.certificate.known.sequences import classes_of, minimal_sequences, null_vector
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import Refused
from tetraodon.policy.attribute_graph import Everything
from tetraodon.policy.known import Known, Marginal
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.query.linear import LinearQuery
from tetraodon.query.weighted_margins import WeighedMargins

# -- push bounds ----------------------------------------------------------------------------------


def test_bounds_are_never_below_the_truth() -> None:
    rng = random.Random(12)
    compared = 0
    for _ in range(300):
        case = random_case(rng)
        query = random_query(rng, case.graph.domain)
        asked = [(query, Fraction(1))]
        classes = classes_of(case.graph, case.known, tuple(sorted(query.names)))
        space = answer_space(classes, asked)
        spare = classes.count - 1 - classes.dimension
        if not classes.arcs or spare > 1:
            continue
        truth = largest_push(case.graph, case.known, asked)
        if truth.exact and truth.value and truth.how.startswith("over cycles"):
            bound = space.most_in_a_cycle()
            if spare == 1:
                balance = null_vector(classes.vectors)
                bound = max(bound, space.most_in_a_flow(balance))
                assert truth.value * space.common <= max(bound, space.most_in(longest_flow(balance)))
            assert truth.value * space.common <= bound
            compared += 1
    assert compared > 50


# -- answer space ---------------------------------------------------------------------------------


def test_one_move_pushes_the_answers_by_what_their_rows_say() -> None:
    rng = random.Random(6)
    for _ in range(80):
        case = random_case(rng)
        domain = case.graph.domain
        asked = [(random_query(rng, domain), Fraction(rng.randint(1, 5), rng.randint(1, 3))) for _ in range(2)]
        classes = classes_of(case.graph, case.known, domain.names)
        space = answer_space(classes, asked)
        rows = np.concatenate([q.matrix(domain)[0] * int(w * space.common) for q, w in asked])
        rows = np.concatenate([rows, np.zeros((len(rows), int(case.graph.absent)), np.int64)], axis=1)
        cells = np.arange(rows.shape[1])
        x, y = np.repeat(cells, len(cells)), np.tile(cells, len(cells))
        truth = np.abs(rows[:, x] - rows[:, y]).sum(axis=0)
        assert (space.apart(x, y) == truth).all()
        assert (np.abs(space.columns[:, x] - space.columns[:, y]).sum(axis=0) == truth).all()
        for a in range(classes.count):
            for b in range(classes.count):
                here = (classes.class_of[x] == a) & (classes.class_of[y] == b)
                assert space.widest[a, b] == truth[here].max()


def test_long_weights_are_refused() -> None:
    case = random_case(random.Random(1))
    query = random_query(random.Random(1), case.graph.domain)
    classes = classes_of(case.graph, case.known, case.graph.domain.names)
    with pytest.raises(Refused, match="too long"):
        answer_space(classes, [(query, Fraction(1, 3)), (query, Fraction(2**60, 7))])


def test_tables_weighed_with_their_margins_are_pushed_by_what_their_rows_say() -> None:
    domain = Domain((Attribute("a", Integers(0, 1)), Attribute("b", Integers(0, 2))))
    graph = SecretGraph(domain, (Factor(("a",), Everything(2)), Factor(("b",), Everything(3))), 2)
    query = LinearQuery(WeighedMargins(("a", "b"), (2, 3), (1, -2, -3, 16)))
    space = answer_space(classes_of(graph, (Known(Marginal(("a",))),), ("a", "b")), [(query, Fraction(1))])
    x, y = np.repeat(np.arange(6), 6), np.tile(np.arange(6), 6)
    rows = query.matrix(domain)[0]
    assert space.apart(x, y).tolist() == np.abs(rows[:, x] - rows[:, y]).sum(axis=0).tolist()


# -- sign patterns --------------------------------------------------------------------------------


def test_large_answers_are_bounded_from_above_when_not_every_sign_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(42)
    cases = [(random_case(rng), rng.random()) for _ in range(250)]
    asked = [random_query(random.Random(seed), case.graph.domain) for case, seed in cases]
    truths = [largest_push(c.graph, c.known, [(q, Fraction(1))]) for (c, _), q in zip(cases, asked, strict=True)]
    monkeypatch.setattr("tetraodon.certificate.known.push.SIGN_ROWS", 0)
    monkeypatch.setattr("tetraodon.certificate.known.push.LONE_CLASSES", 0)
    exact = 0
    for (case, _), query, truth in zip(cases, asked, truths, strict=True):
        push = largest_push(case.graph, case.known, [(query, Fraction(1))])
        assert push.value == truth.value if push.exact else push.value >= truth.value
        exact += push.exact
    assert exact >= 200


# -- farthest sequence ----------------------------------------------------------------------------


def test_closed_forms_equal_the_list_of_all_minimal_sequences() -> None:
    rng = random.Random(41)
    seen = {"cycle": 0, "flow": 0}
    for _ in range(900):
        case = random_case(rng)
        query = random_query(rng, case.graph.domain)
        classes = classes_of(case.graph, case.known, query.names)
        spare = classes.count - 1 - classes.dimension
        if not classes.arcs or spare > 1:
            continue
        reach = reach_of(answer_space(classes, [(query, query.contribution.unit)]))
        listed = minimal_sequences(classes, edge_vectors(classes))
        if not listed.complete:
            continue
        truth = farthest_listed(reach, listed, classes.vectors)
        assert truth is not None
        found = [farthest_cycle(reach)]
        if spare:
            balance = null_vector(classes.vectors)
            found.append(farthest_flow(reach, balance))
            straight = straight_flow(reach, balance)
            assert straight is None or straight.value <= truth.value
            assert listed.longest <= max(longest_flow(balance), classes.count)
        assert truth.value == max(f.value for f in found if f is not None)
        seen["flow" if spare else "cycle"] += 1
    assert min(seen.values()) > 100


def test_no_part_of_a_cycle_adds_up_to_nothing() -> None:
    """Two margins of a 2 x 2 table and secret presence: half of the cycle around the table would keep both margins."""
    case = one_at_a_time((2, 2, 2), Known(Marginal(("a1",))), Known(Marginal(("a2",))))
    classes = classes_of(replace(case.graph, absent=True), case.known, ("a1", "a2", "a3"))
    balance = null_vector(classes.vectors)
    assert sorted(balance) == [-1, -1, 0, 1, 1]
    reach = reach_of(answer_space(classes, whole_histogram(case)))
    assert len(reach.arcs) == 2 * (4 + 4)
    for arc in reach.arcs:
        cycle = farthest_cycle(replace(reach, arcs={arc: reach.arcs[arc]}), balance)
        assert cycle is not None
        assert cycle.moves[0] == arc
        assert len(cycle.moves) == 5
        steps = [[q - p for p, q in zip(classes.vectors[a], classes.vectors[b], strict=True)] for a, b in cycle.moves]
        parts = [part for size in range(1, 5) for part in combinations(steps, size)]
        assert all(any(map(sum, zip(*part, strict=True))) for part in parts)
