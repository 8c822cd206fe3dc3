"""The corrected theorems never fall below the oracle, refuse outside their conditions; the printed ones are caught."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.known_worlds import (
    Case,
    line,
    one_at_a_time,
    printed_8_2,
    printed_8_3,
    printed_8_5,
    printed_8_6,
    random_case,
    whole_histogram,
)
from tests.theory.closed_forms import (
    Price,
    from_disjoint_rectangles,
    from_one_marginal,
    from_policy_graph,
    from_the_number_of_counts,
)
from tetraodon.certificate import oracle
from tetraodon.certificate.known.push import largest_push
from tetraodon.errors import PolicyError, Refused
from tetraodon.policy.known import CountWhere, Known, Marginal, Rectangle
from tetraodon.policy.secret_graph import SecretGraph


def truth_at(case: Case) -> int:
    """The largest move of the whole histogram between neighbours of case.n records, by looking."""
    near = oracle.changes(oracle.world(case.graph, case.known, case.n))
    return int(oracle.largest(near, whole_histogram(case)[0][0], case.graph.domain))


Form = Callable[[SecretGraph, tuple[Known, ...]], Price]


@pytest.mark.parametrize("form", [from_policy_graph, from_the_number_of_counts, from_one_marginal])
def test_safe_wherever_it_answers(form: Form) -> None:
    rng = random.Random(8)
    answered = 0
    for _ in range(500):
        case = random_case(rng)
        if case.graph.absent:
            continue
        if form is from_one_marginal:
            case = Case(case.graph, (Known(Marginal((rng.choice(case.graph.domain.names),))),), case.n)
        try:
            price = form(case.graph, case.known)
        except Refused:
            continue
        exact = largest_push(case.graph, case.known, whole_histogram(case)).value
        assert truth_at(case) <= exact <= price.value
        assert not price.exact or exact == price.value
        answered += 1
    assert answered > 30


def test_rectangles_are_safe_and_must_be_disjoint() -> None:
    rng = random.Random(86)
    for _ in range(60):
        size = rng.randint(4, 6)
        ends = sorted(rng.sample(range(size), 4))
        known = (Known(Rectangle((("v", ends[0], ends[1]),))), Known(Rectangle((("v", ends[2], ends[3]),))))
        case = Case(line(size, theta=rng.randint(1, 2)).graph, known, 3)
        assert truth_at(case) <= from_disjoint_rectangles(case.graph, known).value
    overlapping = (Known(Rectangle((("v", 0, 2),))), Known(Rectangle((("v", 2, 3),))))
    with pytest.raises(PolicyError, match="overlap"):
        from_disjoint_rectangles(line(5).graph, overlapping)


PRINTED = {
    "Theorem 8.2": (line(5, "v in (0, 1)", "v in (1, 2)"), printed_8_2, 4, 6),
    "Corollary 8.3": (line(4, "v in (2, 3)", theta=3), printed_8_3, 2, 4),
    "Corollary 8.3 for one attribute at a time": (
        one_at_a_time((2, 2, 2), Known(CountWhere("a1 = 1")), Known(CountWhere("a2 = 1")), n=4),
        printed_8_3,
        4,
        8,
    ),
    "Theorem 8.5": (one_at_a_time((2, 2, 2), Known(Marginal(("a1",))), Known(Marginal(("a2",)))), printed_8_5, 4, 6),
    "Theorem 8.6": (
        line(6, "v between 0 and 1", "v between 3 and 4"),
        lambda _: printed_8_6([(0, 1), (3, 4)], 1),
        4,
        6,
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_the_printed_formula_is_caught(name: str) -> None:
    case, formula, printed, truth = PRINTED[name]
    assert formula(case) == printed
    assert truth_at(case) == truth > printed


@pytest.mark.parametrize("formula", [printed_8_2, printed_8_3])
def test_putting_a_printed_formula_back_fails_on_random_policies_too(formula: Callable[[Case], int | None]) -> None:
    rng = random.Random(82)
    caught = 0
    for _ in range(150):
        case = random_case(rng)
        if not case.graph.absent:
            printed = formula(case)
            caught += printed is not None and printed < truth_at(case)
    assert caught >= 3


def test_each_refuses_outside_its_condition() -> None:
    overlapping = line(5, "v in (0, 1)", "v in (1, 2)")
    for form in (from_policy_graph, from_the_number_of_counts):
        with pytest.raises(Refused, match="not sparse"):
            form(overlapping.graph, overlapping.known)
    with pytest.raises(Refused, match="not one known marginal"):
        from_one_marginal(overlapping.graph, overlapping.known)
    with pytest.raises(Refused, match="whole table"):
        from_one_marginal(line(5).graph, (Known(Marginal(("v",))),))
    with pytest.raises(Refused, match="not every"):
        from_disjoint_rectangles(overlapping.graph, overlapping.known)
    public = one_at_a_time((2, 2), Known(Marginal(("a1",))))
    from tetraodon.policy.attribute_graph import Everything, Public
    from tetraodon.policy.secret_graph import Factor

    graph = SecretGraph(public.graph.domain, (Factor(("a1",), Public(2)), Factor(("a2",), Everything(2))), 1)
    with pytest.raises(Refused, match="no secret changes"):
        from_one_marginal(graph, public.known)
