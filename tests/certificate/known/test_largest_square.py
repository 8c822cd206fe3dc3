"""Squares under known counts are what the oracle finds, with `==` where they are said to be exact."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.certificate.known.test_largest_push import cells
from tests.known_worlds import is_star_neighbour, one_at_a_time, random_case, random_query

import tetraodon as td
from tetraodon.certificate import oracle
from tetraodon.certificate.certificate import Dataset
from tetraodon.certificate.edge_loss import Weighted
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.certificate.known import unlisted as unlisted_domain
from tetraodon.certificate.known.sequences import classes_of
from tetraodon.certificate.known.unlisted import largest_square, secrets_change_known
from tetraodon.noise.laws import GAUSSIAN
from tetraodon.policy.known import Known, Marginal
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.query.contribution import One, Prefix
from tetraodon.query.linear import LinearQuery, Measurement, Split, splits


def squares(graph: SecretGraph, asked: list[Weighted], moved: np.ndarray) -> Fraction:
    """The largest sum of squares of changes of the histogram."""
    domain = graph.domain
    each = [((moved[:, : domain.size] @ query.matrix(domain)[0].T) ** 2).sum(axis=1) for query, _ in asked]
    return max(
        sum((w**2 * int(s) for (_, w), s in zip(asked, one, strict=True)), Fraction(0))
        for one in zip(*each, strict=True)
    )


def test_it_is_what_the_oracle_finds_or_a_bound() -> None:
    rng = random.Random(17)
    exact = bounds = equal = 0
    for _ in range(400):
        case = random_case(rng)
        graph = replace(case.graph, known=case.known)
        if not graph.has_edges or not secrets_change_known(graph):
            continue
        asked = [
            (random_query(rng, graph.domain), Fraction(rng.randint(1, 5), rng.randint(1, 4)))
            for _ in range(rng.randint(1, 2))
        ]
        near = sorted(oracle.changes(oracle.world(case.graph, case.known, case.n)))
        truth = squares(graph, asked, np.array(near or [[0] * (graph.domain.size + 1)], np.int64))
        found = largest_square(graph, asked)
        assert found.value >= truth
        if not found.exact:
            bounds += 1
            continue
        exact += 1
        if found.value:
            assert found.witness is not None
            ends = [end.records if isinstance(end, Dataset) else (end,) for end in found.witness]
            first, second = (cells(graph, records) for records in ends)
            assert is_star_neighbour(oracle.world(case.graph, case.known, 1), first, second)
            change = np.zeros((1, graph.domain.size + 1), np.int64)
            np.subtract.at(change[0], list(first), 1)
            np.add.at(change[0], list(second), 1)
            assert squares(graph, asked, change) == found.value
        classes = classes_of(graph, graph.known)
        if classes.count == classes.dimension + 1 <= case.n:  # cycles have no more people than there are classes
            assert found.value == truth
            equal += 1
    assert exact > 5 * bounds
    assert equal > 100


@pytest.mark.parametrize(
    ("query", "square"),
    [
        (LinearQuery(One(), splits(("a1", "a2", "a3"))), 2 * 200),  # one up and one down in each known cell
        (LinearQuery(One(), splits(("a1", "a3"))), 2 * 10 * 20**2),  # the same in all 20 cells of every a1
        (LinearQuery(One(), (Split("a3"),)), 2 * 199**2),  # the secret move changes no a3
        (LinearQuery(Prefix("a3", 3, 3)), 2 * 199**2),
        (LinearQuery(Prefix("a3", 3, 3), splits(("a1", "a2"))), 2 * 200),
    ],
)
def test_a_known_table_of_200_cells(query: LinearQuery, square: int) -> None:
    case = one_at_a_time((10, 20, 3), Known(Marginal(("a1", "a2"))))
    found = largest_square(replace(case.graph, known=case.known), [(query, Fraction(3))])
    assert (found.value, found.exact) == (9 * square, True)


def test_two_tables_push_no_more_than_each() -> None:
    case = one_at_a_time((10, 20, 3), Known(Marginal(("a1", "a2"))))
    graph = replace(case.graph, known=case.known)
    fine, coarse = LinearQuery(One(), splits(("a1", "a2", "a3"))), LinearQuery(One(), (Split("a3"),))
    found = largest_square(graph, [(fine, Fraction(1)), (coarse, Fraction(1, 100))])
    assert 400 <= found.value <= 400 + 2 * Fraction(199, 100) ** 2
    half = largest_square(graph, [(fine, Fraction(1)), (fine, Fraction(1, 2))])
    assert (half.value, half.exact) == (500, True)


def test_weights_that_are_too_long_are_rounded_up() -> None:
    case = one_at_a_time((3, 2), Known(Marginal(("a1",))))
    graph = replace(case.graph, known=case.known)
    table, running = LinearQuery(One(), splits(("a1", "a2"))), LinearQuery(Prefix("a2", 2, 2), splits(("a1",)))
    long = Fraction(10**12 + 39, 10**12 + 61)
    found = largest_square(graph, [(table, Fraction(1)), (running, long)])
    assert (found.value, found.exact) == (2 * 3 + long**2 * 3, True)  # both are pushed as far as they can be
    mixed = largest_square(graph, [(LinearQuery(One(), (Split("a2"),)), Fraction(1)), (running, long)])
    assert 2 * 2**2 + long**2 * 2 <= mixed.value <= 2 * 2**2 + long**2 * 3


def test_domains_that_cannot_be_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same numbers, whether the known table is listed or not; and a bound that counts what one answer looks at."""
    small = one_at_a_time((3, 4, 5), Known(Marginal(("a1", "a2"))))
    large = one_at_a_time((3, 4, 5000), Known(Marginal(("a1", "a2"))))
    fine, half = LinearQuery(One(), splits(("a1", "a2", "a3"))), LinearQuery(One(), splits(("a1", "a3")))
    for listed in (True, False):
        if not listed:
            monkeypatch.setattr(unlisted_domain, "LISTED_CLASSES", 1)
        for case in (small, large):
            graph = replace(case.graph, known=case.known)
            found = largest_square(graph, [(fine, Fraction(1))])
            assert (found.value, found.exact) == (24, True)
            assert largest_square(graph, [(half, Fraction(1))]).value == 2 * 3 * 4**2


def test_what_no_secret_moves_costs_nothing() -> None:
    case = one_at_a_time((3, 2), Known(Marginal(("a1",))))
    graph = replace(case.graph, known=case.known)
    assert largest_square(graph, [(LinearQuery(One(), (Split("a1"),)), Fraction(1))]).value == 0


def test_gaussian_noise_is_priced_by_it() -> None:
    policy = td.load_policy(
        {
            "dataset": "people",
            "presence": "public",
            "attributes": {"state": {"integer": [1, 200]}, "age": {"integer": [0, 9]}},
            "known": [{"marginal": "state"}],
            "budget": {"epsilon": 1},
        }
    )
    query = LinearQuery(One(), splits(("state", "age")))
    found = certify_measurements(policy.graph, [Measurement(query, Fraction(20), GAUSSIAN)], delta=Fraction(1, 10**6))
    assert (found.rho, found.exact) == (Fraction(1, 2), True)  # 400 / (2 * 20^2)
