"""Bounds from single moves: never below what sequences of moves really do."""

from __future__ import annotations

import random
from fractions import Fraction

from tests.known_worlds import random_case, random_query

from tetraodon.certificate.known.push import answer_space, largest_push, longest_flow
from tetraodon.certificate.known.sequences import classes_of, null_vector


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
