"""Prices under known counts are what the oracle finds, over many random tiny policies, with `==`."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.known_worlds import Case, is_star_neighbour, line, one_at_a_time, random_case, random_query, whole_histogram

import tetraodon as td
from tetraodon.certificate import oracle
from tetraodon.certificate.certificate import Dataset
from tetraodon.certificate.kernel import certify_measurements, sensitivity_of
from tetraodon.certificate.known import push as module
from tetraodon.certificate.known.push import largest_push
from tetraodon.certificate.known.sequences import classes_of
from tetraodon.certificate.oracle import TinyWorld
from tetraodon.certificate.sensitivity import certify
from tetraodon.errors import Refused
from tetraodon.policy.known import CountWhere, Known, Marginal
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import ABSENT, SecretGraph
from tetraodon.query.linear import LinearQuery, Measurement

POLICIES, QUERIES = 3400, 3


def cells(graph: SecretGraph, dataset: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(graph.domain.size if value is ABSENT else graph.domain.cell(value) for value in dataset)


def check_witness(
    case: Case, here: TinyWorld, queries: list[tuple[LinearQuery, Fraction]], push: Any, people: int | None
) -> None:
    """The two datasets are neighbours, by the check that looks at moves only, and as far apart as was said."""
    ends = [end.records if isinstance(end, Dataset) else (end,) for end in push.witness]
    first, second = (cells(case.graph, records) for records in ends)
    assert people is None or len(first) <= people
    assert is_star_neighbour(replace(here, n=1), first, second)
    change = np.zeros(case.graph.domain.size + 1, np.int64)
    np.subtract.at(change, list(first), 1)
    np.add.at(change, list(second), 1)
    moved = [
        oracle.largest({tuple(change.tolist())}, q, case.graph.domain) * w / q.contribution.unit for q, w in queries
    ]
    assert sum(moved) == push.value


def test_it_is_what_the_oracle_finds() -> None:
    rng = random.Random(4)
    cases = hard = exact = refused = 0
    for _ in range(POLICIES):
        case = random_case(rng)
        here = oracle.world(case.graph, case.known, case.n)
        near = oracle.changes(here)
        for k in range(QUERIES):
            query = random_query(rng, case.graph.domain)
            asked = [(query, query.contribution.unit)]
            truth = oracle.largest(near, query, case.graph.domain)
            limited = largest_push(case.graph, case.known, asked, most=case.n)
            assert (limited.value, limited.exact) == (truth, True), case
            cases += 1
            if truth and k == 0:
                check_witness(case, here, asked, limited, case.n)
                try:
                    supremum = largest_push(case.graph, case.known, asked)
                except Refused:
                    refused += 1
                    continue
                assert supremum.value >= truth
                exact += supremum.exact
                if supremum.exact:
                    check_witness(case, here, asked, supremum, None)
            else:
                exact += k == 0
        hard += QUERIES * (case.n >= 3 and case.overlapping and not case.complete)
    assert cases >= 10_000
    assert hard >= cases / 2
    assert refused == 0
    assert exact >= 0.9 * POLICIES


def test_several_queries_with_their_own_weights() -> None:
    rng = random.Random(40)
    for _ in range(150):
        case = random_case(rng)
        domain = case.graph.domain
        asked = [(random_query(rng, domain), Fraction(rng.randint(1, 5), rng.randint(1, 4))) for _ in range(2)]
        rows = [row * w for q, w in asked for row in q.matrix(domain)[0].astype(object)]
        here = oracle.world(case.graph, case.known, case.n)
        near = oracle.changes(here)
        truth = max(
            (
                sum(abs(sum(c * e for c, e in zip(change[: domain.size], row, strict=True))) for row in rows)
                for change in near
            ),
            default=Fraction(0),
        )
        push = largest_push(case.graph, case.known, asked, most=case.n)
        assert push.exact
        assert push.value == truth
        if truth:
            check_witness(case, here, asked, push, case.n)


@pytest.mark.parametrize(
    ("case", "price"),
    [
        (line(5, "v in (0, 1)", "v in (1, 2)"), 6),
        (one_at_a_time((2, 2, 2), Known(Marginal(("a1",))), Known(Marginal(("a2",)))), 8),
        (one_at_a_time((2, 2, 2, 3), Known(Marginal(("a1",))), Known(Marginal(("a2",))), Known(Marginal(("a3",)))), 18),
        (one_at_a_time((4, 2, 3), Known(Marginal(("a1",))), Known(Marginal(("a2",)))), 22),
        (one_at_a_time((3, 2), Known(Marginal(("a1",)))), 6),
        (one_at_a_time((40, 20), Known(Marginal(("a1",)))), 80),
        (one_at_a_time((3, 1), Known(Marginal(("a1",)))), 0),
        (line(6, "v between 0 and 1", "v between 3 and 4"), 6),
        (line(4, "v in (2, 3)", theta=3), 4),
    ],
)
def test_prices_of_histograms_by_hand(case: Case, price: int) -> None:
    push = largest_push(case.graph, case.known, whole_histogram(case))
    assert push.exact
    assert push.value == price


def test_a_block_histogram_moves_once_a_count_is_known() -> None:
    """Exact by policy without known counts, and not with them: zero sensitivity has to be certified anew."""
    from tests.known_worlds import pairs_graph

    case = pairs_graph(4, [(0, 1), (2, 3)], "v in (1, 2)")
    blocks = LinearQuery(*_blocks())
    assert largest_push(case.graph, (), [(blocks, Fraction(1))]).value == 0
    assert largest_push(case.graph, case.known, [(blocks, Fraction(1))]).value > 0


def _blocks() -> tuple[Any, Any]:
    from tetraodon.query.contribution import One
    from tetraodon.query.linear import Split

    return One(), (Split("v", (0, 0, 1, 1)),)


def test_what_is_known_costs_nothing_to_repeat() -> None:
    rng = random.Random(43)
    from tetraodon.policy.known import known_query

    for _ in range(100):
        case = random_case(rng)
        asked = [(known_query(entry, case.graph.domain), Fraction(1)) for entry in case.known]
        assert largest_push(case.graph, case.known, asked).value == 0


def test_beyond_small_systems_a_bound_or_a_refusal() -> None:
    for shape, bound in (((5, 2, 2), 36), ((16, 2, 2), 288), ((4, 3, 2), 584)):
        margins = one_at_a_time(shape, Known(Marginal(("a1",))), Known(Marginal(("a2",))))
        push = largest_push(margins.graph, margins.known, whole_histogram(margins))
        assert (push.value, push.exact, push.witness) == (bound, False, None)
        assert "differ in at most" in push.how
    more = one_at_a_time((5, 5, 5), *(Known(Marginal((f"a{k}",))) for k in (1, 2, 3)))
    with pytest.raises(Refused, match="no useful bound"):
        largest_push(more.graph, more.known, whole_histogram(more))
    wide = one_at_a_time((100, 100), Known(CountWhere("a1 = 3 and a2 = 4")))
    with pytest.raises(Refused, match="cells"):
        largest_push(wide.graph, wide.known, whole_histogram(wide))


def test_a_refusal_comes_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the length of sequences is bounded, neither pairs of classes nor signs are gone through."""

    def too_long(*_: Any, **__: Any) -> Any:
        raise AssertionError("this takes minutes where there are thousands of classes")

    monkeypatch.setattr(module, "reach_of", too_long)
    monkeypatch.setattr(module, "differences", too_long)
    many = one_at_a_time((6, 6, 6), *(Known(Marginal((f"a{k}",))) for k in (1, 2, 3)))
    with pytest.raises(Refused, match="no useful bound"):
        largest_push(many.graph, many.known, whole_histogram(many))


def test_lengths_that_are_told_at_once_are_not_below_those_that_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    for shape in ((4, 3), (5, 3), (16, 2)):
        case = one_at_a_time(shape, Known(Marginal(("a1",))), Known(Marginal(("a2",))))
        classes = classes_of(case.graph, case.known)
        counted = module.length_of(classes)
        with monkeypatch.context() as patch:
            patch.setattr(module, "MANY_CLASSES", 1)
            assert module.length_of(classes) >= counted


def test_the_kernel_prices_what_is_known() -> None:
    """Certificates, sensitivities and matrices row by row, of policies that know something, are those of N*."""
    rng = random.Random(44)
    for _ in range(60):
        case = random_case(rng)
        graph = replace(case.graph, known=case.known)
        policy = Policy("d", graph.domain, graph, Fraction(1), (), "secret" if graph.absent else "public")
        query, scale = random_query(rng, graph.domain), Fraction(rng.randint(1, 5), rng.randint(1, 4))
        push = largest_push(case.graph, case.known, [(query, Fraction(1))])
        assert certify_measurements(graph, [Measurement(query, scale)]).epsilon == push.value / scale
        assert sensitivity_of(graph, query).value == push.value * query.contribution.unit
        exactly = certify_measurements(graph, [Measurement(query, Fraction(0))])
        assert exactly.epsilon == (math.inf if push.value else 0)
        rows = query.matrix(graph.domain)[0]
        assert certify(policy, rows, scale).epsilon == push.value / scale
        assert certify(policy, rows, 0).epsilon == (math.inf if push.value else 0)


def test_several_rows_of_a_person_are_not_priced() -> None:
    case = line(5, "v in (0, 1)")
    graph = replace(case.graph, known=case.known)
    with pytest.raises(Refused, match="one row each"):
        certify_measurements(graph, [Measurement(whole_histogram(case)[0][0], Fraction(1))], rows_per_person=2)
    with pytest.raises(Refused, match="one row each"):
        sensitivity_of(graph, whole_histogram(case)[0][0], rows_per_person=2)


def test_the_public_oracle_agrees_with_the_policy() -> None:
    policy = td.load_policy(
        {
            "dataset": "d",
            "presence": "public",
            "attributes": {"a": {"integer": [0, 2]}, "b": {"integer": [0, 1]}},
            "together": "one attribute at a time",
            "known": [{"marginal": "a"}],
            "budget": {"epsilon": 1},
        }
    )
    for query in (
        td.queries.histogram("a", "b"),
        td.queries.cdf("a", by=["b"]),
        td.queries.total("a"),
        td.queries.count("a = b"),
    ):
        assert td.sensitivity(policy, query).value == td.research.oracle.sensitivity(policy, query, 3)
    assert td.research.oracle.sensitivity(policy, td.queries.histogram("a", "b"), 3, reading="literal") == 4
    assert td.sensitivity(policy, td.queries.histogram("a", "b")).value == 6
