"""Soft steps: no edge of any tiny world moves what they measure by more than their certificate says."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.worlds import graphs

from tetraodon.certificate.sensitivity import certify
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import Refused
from tetraodon.exact.arrays import LARGEST
from tetraodon.gate import without_ledger
from tetraodon.mechanism.kmeans.lloyd import PARTS, SoftSteps, expected_score, plan_soft
from tetraodon.mechanism.kmeans.plan import plan_kmeans
from tetraodon.noise.laws import LaplaceNoise
from tetraodon.policy.attribute_graph import Everything, Within
from tetraodon.policy.joint_graph import JointMetric
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import Factor, SecretGraph

FREE = without_ledger(certify({"dataset": "d", "attributes": {"x": ["a"]}, "budget": {"epsilon": 1}}, [[0]], 1))


def policy_of(graph: SecretGraph) -> Policy:
    return Policy("tiny", graph.domain, graph, Fraction(1), (), "secret" if graph.absent else "public")


def ball(columns: int, theta: int, size: int = 101) -> Policy:
    domain = Domain(tuple(Attribute(f"x{i}", Integers(0, size - 1)) for i in range(columns)))
    metric = JointMetric("l1", Fraction(theta), domain.shape, (Fraction(0),) * columns, (Fraction(1),) * columns)
    return policy_of(SecretGraph(domain, (Factor(domain.names, metric),), 1))


@settings(max_examples=150, deadline=None)
@given(graphs(), st.data())
def test_no_edge_loses_more_than_certified(graph: SecretGraph, data: st.DataObject) -> None:
    policy, domain = policy_of(graph), graph.domain
    clusters, sharp = data.draw(st.integers(1, 3)), data.draw(st.sampled_from([1, 4, 16, 4096]))
    steps = plan_soft(policy, domain.names, clusters, Fraction(1), 1, sharp)
    certified = steps.certificate(policy, domain.names).epsilon
    assert certified == (1 if graph.has_edges else 0)
    codes = np.array([domain.codes_of(x) for x in range(domain.size)])
    anchor = np.array([[data.draw(st.integers(0, size - 1)) for size in domain.shape] for _ in range(clusters)])
    lengths = np.array([data.draw(st.sampled_from([0.5, 1.0, 3.0])) for _ in domain.shape])
    parts = steps.shares(codes, anchor, lengths)
    rows = [(parts, steps.count_scale)]
    for column, (box, scale) in enumerate(zip(steps.box, steps.sum_scales, strict=True)):
        inside = np.clip(codes[:, column, None] - anchor[:, column], -box, box)
        rows.append((parts * inside, scale))
    for x in range(domain.size):
        if graph.absent:
            assert sum(int(np.abs(table[x]).sum()) / scale for table, scale in rows) <= certified
        for y in range(x):
            if graph.is_edge(domain.value(x), domain.value(y)):
                moved = sum(int(np.abs(table[x] - table[y]).sum()) / scale for table, scale in rows)
                assert moved <= certified


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 5), st.integers(1, 3), st.integers(1, 200), st.data())
def test_shares_move_by_half_the_range_of_the_gradients(
    clusters: int, columns: int, sharp: int, data: st.DataObject
) -> None:
    """Any two points, not only near ones: |w(x) - w(y)| <= sum of |x_i - y_i| * sharpness / (2 * length)."""
    sizes = (30,) * columns
    steps = SoftSteps(1, (7,) * columns, Fraction(1), (Fraction(1),) * columns, clusters, sharp, sizes)
    place = st.lists(st.integers(0, 29), min_size=columns, max_size=columns)
    points = np.array([data.draw(place) for _ in range(12)])
    anchor = np.array([data.draw(place) for _ in range(clusters)])
    parts = steps.shares(points, anchor, np.ones(columns))
    assert (parts >= 0).all()
    assert (np.abs(parts.sum(axis=1) - PARTS) <= clusters).all()
    moved = np.abs(parts[:, None] - parts[None]).sum(axis=2)
    gap = np.abs(points[:, None] - points[None]).sum(axis=2)
    assert (moved <= PARTS * gap * sharp / (2 * 29) + 2 * clusters).all()


def test_short_secrets_need_less_noise() -> None:
    noise = [plan_soft(ball(3, theta), ("x0", "x1", "x2"), 4, Fraction(1), 4, 16).count_scale for theta in (1, 5, 50)]
    assert noise == sorted(noise)
    assert noise[0] * 4 < noise[1]


def test_sharp_borders_cost_noise_and_soft_ones_blur() -> None:
    names = ("x0", "x1")
    made = [plan_soft(ball(2, 5), names, 2, Fraction(1), 2, sharp) for sharp in (8, 64)]
    assert made[0].count_scale < made[1].count_scale
    assert expected_score(made[0], 10**9) > expected_score(made[1], 10**9)
    with pytest.raises(Refused, match="Fix: use `steps`"):
        plan_soft(ball(2, 5), names, 2, Fraction(1), 2, 10**6)


def test_without_noise_it_finds_the_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LaplaceNoise, "draw", lambda *_: np.zeros(_[-1], np.int64))
    steps = SoftSteps(8, (25, 25), Fraction(1), (Fraction(1), Fraction(1)), 2, 64, (101, 101))
    codes = np.array([[10, 10], [12, 14], [90, 85], [88, 91], [89, 88]])
    found = steps.run(codes, [101, 101], np.ones(2), np.array([[30.0, 30.0], [70.0, 70.0]]), FREE)
    assert np.allclose(np.sort(found, axis=0), [[11, 12], [89, 88]], atol=0.5)


def test_equal_centres_share_alike() -> None:
    steps = SoftSteps(1, (2,), Fraction(1), (Fraction(1),), 2, 8, (11,))
    assert (steps.shares(np.array([[0], [7]]), np.array([[5], [5]]), np.ones(1)) == PARTS // 2).all()


def test_sums_too_long_are_refused_by_the_plan() -> None:
    with pytest.raises(Refused, match="Fix: use a coarser grid"):
        SoftSteps(1, (2**46,), Fraction(1), (Fraction(1),), 1, 8, (2**47,))


@pytest.mark.parametrize("rows", [1, 3, 4, 5, 64, 200])
def test_nothing_is_refused_for_how_many_rows_there_are(rows: int) -> None:
    """Sums of 4 rows here leave 60 bits and those of 64 rows 63; they are added up all the same, and cut off."""
    size, box = 2**43, 2**42
    steps = SoftSteps(1, (box,), Fraction(1), (Fraction(1),), 1, 8, (size,))
    codes = np.linspace(box, size - 1, rows).astype(np.int64)[:, None]
    counts, sums = steps.asked(codes, np.zeros((1, 1), np.int64), np.ones(1))
    whole = sum(PARTS * min(code, box) for code in codes[:, 0].tolist())
    assert counts.tolist() == [rows * PARTS]
    assert sums.tolist() == [min(whole, LARGEST)]
    assert steps.run(codes, [size], np.ones(1), np.zeros((1, 1)), FREE).shape == (1, 1)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**32))
def test_a_record_adds_the_same_beside_any_others(clusters: int, columns: int, seed: int) -> None:
    """The numbers of a table are the sum of those of its records alone, to the last part."""
    chance = np.random.default_rng(seed)
    steps = SoftSteps(1, (250,) * columns, Fraction(1), (Fraction(1),) * columns, clusters, 64, (1001,) * columns)
    codes, anchor = (chance.integers(0, 1001, (count, columns)) for count in (chance.integers(1, 300), clusters))
    lengths = chance.uniform(0.1, 3, columns)
    alone = sum(steps.asked(codes[[row]], anchor, lengths) for row in range(len(codes)))
    assert np.array_equal(steps.asked(codes, anchor, lengths), alone)


def test_plans_keep_the_budget() -> None:
    line = Domain((Attribute("x", Integers(0, 50)), Attribute("y", Integers(0, 50))))
    factors = (Factor(("x",), Within(51, 3)), Factor(("y",), Everything(51)))
    for policy in (ball(4, 10), policy_of(SecretGraph(line, factors, 2, True))):
        plan = plan_kmeans(policy, "0.3", 3, rows=1000, method="soft")
        assert plan.method == "soft"
        assert plan.epsilon == Fraction(3, 10)
