"""What symmetries leave out is found again, and both margins of a 3 x 3 table have an exact price."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from tests.certificate.known.test_largest_push import check_witness
from tests.known_worlds import Case, one_at_a_time, random_case, whole_histogram

from tetraodon.certificate import oracle
from tetraodon.certificate.known import sequences as module
from tetraodon.certificate.known.push import edge_vectors, largest_push
from tetraodon.certificate.known.sequences import (
    Classes,
    classes_of,
    differences,
    length_bound_over_a_table,
    minimal_sequences,
    symmetric_sequences,
)
from tetraodon.policy.known import Known, Marginal
from tetraodon.policy.secret_graph import complete_graph
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, splits


def margins(*shape: int, known: int = 2) -> Case:
    return one_at_a_time(shape, *(Known(Marginal((f"a{k + 1}",))) for k in range(known)))


def same(classes: Classes) -> None:
    edges = edge_vectors(classes)
    one_by_one, alike = minimal_sequences(classes.vectors, edges), symmetric_sequences(classes, edges)
    assert one_by_one.complete
    assert alike.complete
    names = [[sorted(s.vectors[k] for k in found) for found in s.found] for s in (one_by_one, alike)]
    assert sorted(names[0]) == sorted(names[1])


def test_they_are_those_that_are_found_one_by_one() -> None:
    for case in (margins(2, 2), margins(3, 2), margins(2, 2, 2, known=3)):
        same(classes_of(case.graph, case.known))
    rng, seen = random.Random(17), 0
    while seen < 60:
        case = random_case(rng)
        classes = classes_of(case.graph, case.known, case.graph.domain.names)
        if classes.arcs and 2 <= classes.dimension <= 3 and classes.count <= 5:
            same(classes)
            seen += 1


def test_the_longest_beside_one_more_count() -> None:
    case = margins(4, 2)
    classes = classes_of(case.graph, case.known)
    every = symmetric_sequences(classes, frozenset(differences(classes.vectors)))
    assert every.complete
    assert every.longest == length_bound_over_a_table(4, 1) == 12


def test_three_by_three() -> None:
    """With one attribute at a time, and everything secret; a bound where there are too many signs to compare."""
    case = margins(3, 3, 2)
    for graph, price in ((case.graph, 28), (complete_graph(case.graph), 30)):
        push = largest_push(graph, case.known, whole_histogram(case))
        assert (push.value, push.exact) == (price, True)
        here = oracle.world(graph, case.known, 1)
        check_witness(Case(graph, case.known, 1), here, whole_histogram(case), push, None)
    cells = [(LinearQuery(One(), splits(["a1", "a2"])), Fraction(1))]
    push = largest_push(case.graph, case.known, cells)
    assert (push.value, push.exact, push.witness) == (28, False, None)


def test_too_many_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    case = margins(5, 2)
    classes = classes_of(case.graph, case.known)
    for limit in ("STATES", "SYMMETRIES"):
        module._every_sequence.cache_clear()
        with monkeypatch.context() as patch:
            patch.setattr(module, limit, 20)
            assert not symmetric_sequences(classes, edge_vectors(classes)).complete
    module._every_sequence.cache_clear()
