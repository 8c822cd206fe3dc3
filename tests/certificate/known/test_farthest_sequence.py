"""Cycles and flows are as far as the list of all minimal sequences goes."""

from __future__ import annotations

import random

from tests.known_worlds import random_case, random_query

from tetraodon.certificate.known.answer_space import answer_space
from tetraodon.certificate.known.classes import classes_of
from tetraodon.certificate.known.farthest_sequence import farthest_cycle, farthest_flow, farthest_listed, straight_flow
from tetraodon.certificate.known.largest_push import edge_vectors, longest_flow
from tetraodon.certificate.known.sign_patterns import reach_of
from tetraodon.certificate.known.zero_sum import minimal_sequences, null_vector


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
