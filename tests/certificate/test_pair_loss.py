"""The loss of one given step, and whether a loss is attained."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.worlds import graphs, positive, queries

import tetraodon as td
from tetraodon.certificate.edge_loss import Loss
from tetraodon.certificate.kernel import certify_measurements, sensitivity_of
from tetraodon.certificate.pair_loss import attained, loss_of_pair, rho_of_pair
from tetraodon.noise.laws import GAUSSIAN, LAPLACE
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.queries import cdf, count, histogram, mean, ranges, total, variance
from tetraodon.query.contribution import Prefix
from tetraodon.query.kinds import linear
from tetraodon.query.linear import LinearQuery, Measurement

# -- pairs ----------------------------------------------------------------------------------------


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_it_is_the_distance_of_two_columns(data: st.DataObject) -> None:
    domain = data.draw(graphs()).domain
    measurements = [
        Measurement(query, data.draw(positive)) for query in data.draw(st.lists(queries(domain), max_size=3))
    ]
    cells = st.one_of(st.integers(0, domain.size - 1), st.none())
    pair = (data.draw(cells), data.draw(cells))
    truth = Fraction(0)
    for measurement in measurements:
        for row in measurement.query.matrix(domain)[0].tolist():
            first, second = (0 if cell is None else row[cell] for cell in pair)
            truth += abs(first - second) / measurement.scale
    values = tuple(ABSENT if cell is None else domain.value(cell) for cell in pair)
    assert loss_of_pair(domain, measurements, (values[0], values[1])) == truth


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_witness_of_a_certificate_loses_what_is_certified(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    measurements = [Measurement(query, data.draw(positive)) for query in data.draw(st.lists(queries(graph.domain)))][:3]
    certificate = certify_measurements(graph, measurements)
    if certificate.witness is not None:
        assert loss_of_pair(graph.domain, measurements, certificate.witness) == certificate.epsilon


# -- within a share of the value ------------------------------------------------------------------


QUESTIONS = [
    total("wage"),
    total("wage", by="s"),
    histogram("wage"),
    histogram("wage", "s"),
    cdf("wage"),
    ranges("wage"),
    count("wage < 13"),
    count("wage > 28 and s = 'f'"),
    count("wage > 20"),
    variance("wage"),
    mean("wage"),
]
ONE_AT_A_TIME = {"together": "one attribute at a time", "secrets": {"wage": {"within": "20%"}}}


def policy(**changes: Any) -> td.Policy:
    document = {
        "dataset": "d",
        "presence": "public",
        "attributes": {"wage": {"integer": [10, 33]}, "s": ["f", "m"]},
        "secrets": {"wage": {"within": "20%"}, "s": "public"},
        "budget": {"epsilon": 1},
    }
    return td.load_policy({**document, **changes})


def by_looking(here: td.Policy, measurements: list[Measurement], *, squares: bool = False) -> Fraction:
    values = [here.domain.value(cell) for cell in range(here.domain.size)]
    price = rho_of_pair if squares else loss_of_pair
    x, y = here.graph.edge_cells()
    return max(price(here.domain, measurements, (values[a], values[b])) for a, b in zip(x, y, strict=True))


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
@pytest.mark.parametrize("changes", [{}, ONE_AT_A_TIME], ids=["sex public", "one at a time"])
@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=str)
def test_a_certificate_is_the_worst_edge_or_a_bound(question: Any, changes: dict[str, Any], law: Any) -> None:
    here = policy(**changes)
    measured = [Measurement(linear(question, here.domain), Fraction(3), law)]
    found = certify_measurements(here.graph, measured, delta=Fraction(1, 1000))
    stated = found.epsilon if law is LAPLACE else found.rho
    looked = by_looking(here, measured, squares=law is GAUSSIAN)
    assert stated == looked if found.exact else stated >= looked
    if found.exact:
        assert here.graph.is_edge(*found.witness)


@pytest.mark.parametrize("question", QUESTIONS[:5], ids=str)
def test_what_is_worst_at_the_top_is_exact(question: Any) -> None:
    here = policy()
    assert certify_measurements(here.graph, [Measurement(linear(question, here.domain), Fraction(3))]).exact


def test_below_the_top_it_is_a_bound() -> None:
    """Three running counts of the smallest values: no secret there goes as far as at the top."""
    here = policy()
    running = [Measurement(LinearQuery(Prefix("wage", 24, 3)), Fraction(1))]
    found = certify_measurements(here.graph, running)
    assert (found.epsilon, found.exact, by_looking(here, running)) == (3, False, 2)


def test_sensitivity_says_so_too() -> None:
    here = policy()
    found = sensitivity_of(here.graph, linear(total("wage"), here.domain))
    assert (found.value, found.exact) == (5, True)
    assert here.graph.is_edge(*found.witness)


def test_presence_and_known_counts_and_groups() -> None:
    absent = policy(presence="secret")
    measured = [Measurement(linear(total("wage"), absent.domain), Fraction(1))]
    found = certify_measurements(absent.graph, measured)
    assert (found.epsilon, found.exact) == (33, True)
    known = policy(known=[{"count": "wage < 20"}])
    assert not certify_measurements(known.graph, measured).exact
    groups = policy(groups={"by": "s", "rules": {"m": {"secrets": {"wage": {"within": "50%"}}}}})
    found = certify_measurements(groups.graph, measured)
    assert (found.epsilon, found.exact) == (11, False)
    plain = policy(groups={"by": "s", "rules": {"m": "none"}}, secrets={"wage": {"within": 3}, "s": "public"})
    assert certify_measurements(plain.graph, measured).exact


def test_a_bound_stays_one() -> None:
    here, told = policy(), Loss(Fraction(2), None, exact=False)
    assert attained(here.graph, told, []) == told
    assert not attained(here.graph, Loss(Fraction(2), None, exact=True), []).exact


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "0.1"}, {"epsilon": 1, "delta": "1e-6", "once": True}])
def test_people_are_planned_beside_rows(budget: dict[str, Any]) -> None:
    """Only what rows lose is looked for at a pair of rows: with Gaussian noise the plan ended in an AssertionError."""
    release = [{"name": "people", "people": "all"}, {"name": "wages", "total": "wage"}]
    asked = policy(individuals={"key": "who", "at most": 2}, presence="secret", budget=budget, release=release)
    certificate = td.plan(asked).certificate
    assert certificate.finite
    assert not certificate.exact
