"""Strategies of smoothed counts: predicted errors against plain linear algebra, and the promised gains."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from tests.theory.largest_move import largest_move

import tetraodon as td
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.mechanism.hierarchical import HIERARCHICAL, strategy_of
from tetraodon.mechanism.hierarchical.shape_search import Shape
from tetraodon.mechanism.strategy import Scaled, Strategy
from tetraodon.noise import laplace_variance
from tetraodon.noise.laws import GAUSSIAN
from tetraodon.policy.attribute_graph import Everything, Public, Within
from tetraodon.policy.policy import Item, Policy
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.query.contribution import One
from tetraodon.query.kinds import Query, cdf, count, histogram, linear, quantiles, ranges
from tetraodon.query.linear import LinearQuery, Split
from tetraodon.query.smooth import Ramps


def line(size: int, reach: int | None, *, absent: bool = False, groups: int = 1) -> Policy:
    domain = Domain((Attribute("g", Integers(1, groups)), Attribute("x", Integers(0, size - 1))))
    graph = Everything(size) if reach is None else Within(size, reach)
    factors = (Factor(("g",), Public(groups)), Factor(("x",), graph))
    secrets = SecretGraph(domain, factors, 1, absent=absent)
    return Policy("tiny", domain, secrets, Fraction(1), (Item("q", count()),), "secret" if absent else "public")


def variance_by_matrices(query: Query, strategy: Strategy, scale: Fraction, domain: Domain) -> float:
    """Mean variance of the answers under least squares with every matrix written out."""
    rows, spread = [], []
    for measurement in strategy.measurements(scale):
        matrix, unit = measurement.query.matrix(domain)
        rows.append(matrix * float(unit))
        variance = laplace_variance(measurement.scale) if measurement.scale else 0.0
        spread.append(np.full(len(matrix), variance * float(unit) ** 2))
    noise = np.concatenate(spread)
    a = np.concatenate(rows)[noise > 0]
    whole = np.linalg.inv(a.T / noise[noise > 0] @ a)
    for known in np.concatenate(rows)[noise == 0]:
        along = whole @ known
        whole = whole - np.outer(along, along) / (known @ along)
    answers = linear(query, domain).matrix(domain)[0]
    return float(np.mean(np.einsum("ij,jk,ik->i", answers, whole, answers)))


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    "shape", [Shape(0.5, ((3, 0.5),)), Shape(0.4, ((2, 0.3),), ((6, 0.3),)), Shape(0.7, (), ((4, 0.3),))]
)
def test_the_prediction_is_the_variance(shape: Shape, groups: int, known: bool) -> None:
    policy = line(17, 5, groups=groups)
    by = (Split("g"),)
    exact = (LinearQuery(One(), by),) if known else ()
    strategy = strategy_of(shape, 5, "x", 17, by, exact)
    named = ranges("x", [[0, 4], [3, 9]], by=["g"])
    for query in (cdf("x", by=["g"]), quantiles("x", by=["g"]), ranges("x", by=["g"]), named):
        found = Scaled(strategy, Fraction(7, 2), policy.domain).expected_error(query) ** 2
        assert found == pytest.approx(variance_by_matrices(query, strategy, Fraction(7, 2), policy.domain), rel=1e-9)


@pytest.mark.parametrize("groups", [1, 2])
def test_where_presence_is_secret_a_total_with_noise_costs_nothing(groups: int) -> None:
    policy, query, at = line(40, None, absent=True, groups=groups), ranges("x", by=["g"]), Fraction(7, 2)
    without, total = HIERARCHICAL.propose(query, policy)
    lost = [certify_measurements(policy.graph, one.measurements(at)).epsilon for one in (without, total)]
    assert float(lost[1]) == pytest.approx(float(lost[0]), rel=1e-3)
    errors = [Scaled(one, at, policy.domain).expected_error(query) for one in (without, total)]
    assert errors[1] < 0.9 * errors[0]
    assert errors[1] ** 2 == pytest.approx(variance_by_matrices(query, total, at, policy.domain), rel=1e-9)
    scaled, numbers = Scaled(total, at, policy.domain), np.random.default_rng(1)
    counts = numbers.integers(0, 9, (groups, 40))
    exact = tuple(
        (one.matrix(policy.domain)[0] @ counts.ravel()).reshape(one.shape(policy.domain)) for one in total.noisy
    )
    assert HIERARCHICAL.fit(scaled, exact) == pytest.approx(counts)
    asked = numbers.random((3, groups * 40))
    weights = np.concatenate([part * 1.0 for part in HIERARCHICAL.parts(scaled, asked)], axis=1)
    rows = np.concatenate([one.matrix(policy.domain)[0] for one in total.noisy])
    assert weights @ rows == pytest.approx(asked)  # what is read from the noisy numbers has no bias


@pytest.mark.parametrize("reach", [2, 5, 11, None])
@pytest.mark.parametrize("absent", [True, False])
def test_certificates_are_what_enumeration_finds(reach: int | None, absent: bool) -> None:
    policy = line(40, reach, absent=absent)
    for strategy in HIERARCHICAL.propose(cdf("x"), policy):
        measurements = strategy.measurements(Fraction(3))
        certificate = certify_measurements(policy.graph, measurements)
        slow = largest_move(policy.graph, [(m.query, 1 / m.scale) for m in measurements if m.scale])
        assert certificate.exact
        assert certificate.epsilon == slow


def test_the_shares_of_a_shape_are_its_losses() -> None:
    """A step of `reach` positions loses the leaves' scale over 2 in all, up to the rounding of the scales."""
    policy = line(400, 30)
    strategy = strategy_of(Shape(0.5, ((5, 0.3),), ((20, 0.2),)), 30, "x", 400, (), ())
    lost = certify_measurements(policy.graph, strategy.measurements(Fraction(4))).epsilon
    assert float(lost) == pytest.approx(1, rel=1e-3)


def test_only_questions_about_order_and_near_values_are_proposed() -> None:
    assert not list(HIERARCHICAL.propose(histogram("x"), line(100, 10)))
    assert not list(HIERARCHICAL.propose(count(), line(100, 10)))
    assert not list(HIERARCHICAL.propose(cdf("g"), line(100, 10, groups=50)))
    secret = list(HIERARCHICAL.propose(cdf("x"), line(100, 10, absent=True)))
    assert secret
    assert not any(isinstance(q.contribution, Ramps) for s in secret for q in s.noisy)


def test_known_counts_let_records_move_far_so_both_shapes_are_tried() -> None:
    known = {"known": [{"count": "x < 10"}]}
    document = {
        "dataset": "line",
        "presence": "public",
        "attributes": {"x": {"integer": [0, 199]}},
        "secrets": {"x": {"within": 5}},
        "budget": {"epsilon": 1},
        "release": [{"name": "q", "cdf": "x"}],
    }
    assert len(list(HIERARCHICAL.propose(cdf("x"), td.load_policy(document)))) == 1
    near, far = HIERARCHICAL.propose(cdf("x"), td.load_policy(document | known))
    assert any(isinstance(q.contribution, Ramps) for q in near.noisy)
    assert not any(isinstance(q.contribution, Ramps) for q in far.noisy)


def equation_15(size: int, theta: int, fanout: int = 16) -> float:
    """[HMD14] Eq. 15 at epsilon 1, its logarithm cubed as a whole."""
    first = 4 * (size - theta) / (size + 1)
    second = 8 * (fanout - 1) * (np.log(theta) / np.log(fanout)) ** 3 * size / (size + 1)
    return float((first ** (1 / 3) + second ** (1 / 3)) ** 3)


@pytest.mark.parametrize(
    ("theta", "most"), [(1, 1.0), (10, 0.4), (50, 0.34), (100, 0.34), (500, 0.34), (1000, 0.34), (4357, 0.25)]
)
def test_plans_beat_the_ordered_hierarchical_mechanism(theta: int, most: float) -> None:
    secrets = {"x": "everything" if theta == 4357 else {"within": theta}}
    document = {
        "tetraodon": 1,
        "dataset": "line",
        "individuals": "one row each",
        "presence": "public",
        "attributes": {"x": {"integer": [0, 4356]}},
        "secrets": secrets,
        "budget": {"epsilon": 1},
        "release": [{"name": "q", "ranges": "x"}],
    }
    plan = td.plan(td.load_policy(document))
    assert plan.certificate.exact
    assert plan.epsilon == 1
    assert plan["q"].mechanism == ("ordered" if theta == 1 else "hierarchical")
    assert plan["q"].expected_error ** 2 <= most * equation_15(4357, theta)


def test_a_wider_reach_never_costs_less() -> None:
    errors = []
    for reach in (2, 4, 8, 16, 64, 256, 999):
        policy = line(1000, reach)
        found = []
        for strategy in HIERARCHICAL.propose(ranges("x"), policy):
            scale = Fraction(certify_measurements(policy.graph, strategy.measurements(Fraction(1))).epsilon)
            found.append(Scaled(strategy, scale, policy.domain).expected_error(ranges("x")))
        errors.append(min(found))
    assert all(a <= b * 1.02 for a, b in pairwise(errors))


def test_weights_are_checked() -> None:
    with pytest.raises(td.errors.QueryError, match="weight"):
        Strategy(HIERARCHICAL, (LinearQuery(One()),), table=(Split("x"),), weights=(Fraction(1), Fraction(2)))
    with pytest.raises(td.errors.QueryError, match="weight"):
        Strategy(HIERARCHICAL, (LinearQuery(One()),), table=(Split("x"),), weights=(Fraction(0),))


@pytest.mark.parametrize("reach", [None, 2, 7])
def test_what_gaussian_noise_is_for_is_searched_for_where_there_is_a_delta(reach: int | None) -> None:
    """Its rho is that of looking at every step, and it errs less than what is best with Laplace noise."""
    policy = replace(line(60, reach), delta=Fraction(1, 10**6))
    pure, gaussian = (replace(one, noise=GAUSSIAN) for one in HIERARCHICAL.propose(ranges("x"), policy))
    errors = []
    for strategy in (pure, gaussian):
        measured = strategy.measurements(Fraction(1))
        found = certify_measurements(policy.graph, measured, delta=policy.delta)
        assert found.rho is not None
        x, y = policy.graph.edge_cells()
        looked = np.zeros(len(x), object)
        for one in measured:
            if one.scale:
                matrix, _ = one.query.matrix(policy.domain)
                looked += ((matrix[:, x] - matrix[:, y]) ** 2).sum(axis=0).astype(object) / (2 * one.scale**2)
        assert found.rho == max(looked) if found.exact else found.rho >= max(looked)
        errors.append(
            Scaled(strategy, Fraction(1), policy.domain).expected_error(ranges("x")) * float(found.rho) ** 0.5
        )
    assert errors[1] < errors[0]


def test_smoothed_counts_of_very_many_values_are_not_proposed() -> None:
    """Twenty million values ended in an error of the sparse solver, after gigabytes."""
    document = {
        "dataset": "d",
        "presence": "public",
        "attributes": {"x": {"integer": [0, 19_999_999]}},
        "budget": {"epsilon": 1},
    }
    assert list(HIERARCHICAL.propose(cdf("x"), td.load_policy(document))) == []
