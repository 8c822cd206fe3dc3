"""Cycles and flows are as far as the list of all minimal sequences goes."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations

from tests.known_worlds import one_at_a_time, random_case, random_query, whole_histogram

from tetraodon.certificate.known.push import (
    answer_space,
    edge_vectors,
    farthest_cycle,
    farthest_flow,
    farthest_listed,
    longest_flow,
    reach_of,
    straight_flow,
)
from tetraodon.certificate.known.sequences import classes_of, minimal_sequences, null_vector
from tetraodon.policy.known import Known, Marginal


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
        listed = minimal_sequences(classes.vectors, edge_vectors(classes), work=150_000)
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
            assert max(map(len, listed.found)) <= max(longest_flow(balance), classes.count)
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
