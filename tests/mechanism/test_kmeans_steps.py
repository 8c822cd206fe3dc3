"""k-means: centres from tables and by steps."""

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
from tetraodon.mechanism.kmeans.lloyd import (
    PARTS,
    SoftSteps,
    Steps,
    centred_sum_sensitivity,
    expected_score,
    first_centres,
    plan_soft,
    plan_steps,
)
from tetraodon.mechanism.kmeans.plan import plan_kmeans
from tetraodon.mechanism.kmeans.synopsis import Synopsis, cluster, likely_points, parts_of_graph, ramps
from tetraodon.noise.laws import LaplaceNoise
from tetraodon.policy.attribute_graph import Everything, Within
from tetraodon.policy.joint_graph import JointMetric
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import Factor, SecretGraph

# -- synopsis ---------------------------------------------------------------------------------------
# The table of shares equals the plain product of tables, to the last unit.


def shares(synopsis: Synopsis, codes: tuple[int, ...]) -> np.ndarray:
    """A record's parts of every cell, as an outer product."""
    product = np.ones((), np.int64)
    for axis, code in zip(synopsis.axes, codes, strict=True):
        product = np.multiply.outer(product, axis.table[:, code])
    return product


@st.composite
def synopses(draw: st.DrawFn) -> Synopsis:
    axes = []
    for name in "abc"[: draw(st.integers(1, 3))]:
        size = draw(st.integers(1, 7))
        bins = draw(st.integers(1, size))
        axes.append(ramps(name, size, bins, wide=draw(st.booleans()), most_units=draw(st.sampled_from([1, 2, 256]))))
    return Synopsis(tuple(axes))


@given(synopses(), st.data())
def test_spreading_is_the_sum_of_products(synopsis: Synopsis, data: st.DataObject) -> None:
    row = st.tuples(*(st.integers(0, axis.size - 1) for axis in synopsis.axes))
    rows = data.draw(st.lists(row, min_size=1, max_size=6))
    found = synopsis.spread(np.array(rows))
    assert np.array_equal(found, sum(shares(synopsis, one) for one in rows))
    assert found.sum() == len(rows) * synopsis.units


def test_shares_beyond_one_word_are_exact() -> None:
    synopsis = Synopsis(tuple(ramps(name, 1001, 2, wide=True, most_units=1000) for name in "abc"))
    codes = np.array([[123, 457, 991], [999, 1, 500], [333, 333, 334]])
    assert synopsis.units == 10**9
    expected = sum(shares(synopsis, tuple(one)) for one in codes.tolist())
    assert np.array_equal(synopsis.spread(codes), expected)


def test_too_many_parts_are_refused_and_too_many_records_cut_off() -> None:
    axes = tuple(ramps(name, 1001, 2, wide=True, most_units=1000) for name in "abcde")
    with pytest.raises(Refused, match="Fix: use shorter ramps"):
        Synopsis(axes)
    fine = Synopsis(axes[:4])
    assert fine.spread(np.zeros((2**10, 4), np.int64), np.full(2**10, 2**12)).max() == LARGEST


# -- centres ----------------------------------------------------------------------------------------
# What follows the noise: weights that explain the table, and centres of weighted points.

COLUMNS = [Attribute("a", Integers(0, 100)), Attribute("b", Integers(0, 100))]


def test_weights_explain_an_almost_exact_table() -> None:
    synopsis = Synopsis(tuple(ramps(name, 101, 4, wide=True, most_units=256) for name in "ab"))
    coins = np.random.default_rng(1)
    codes = np.concatenate([coins.normal(25, 5, (500, 2)), coins.normal(70, 8, (500, 2))]).round().astype(np.int64)
    table = synopsis.spread(np.clip(codes, 0, 100)) / synopsis.units
    points, weight = likely_points(synopsis, COLUMNS, table, np.array(1000.0), 1.0)
    assert (weight >= 0).all()
    assert weight.sum() == pytest.approx(1000)
    shares = [axis.table[:, points[:, i].astype(int)] / axis.units for i, axis in enumerate(synopsis.axes)]
    assert np.abs(np.einsum("in,jn,n->ij", *shares, weight) - table).max() < 10
    centres, _ = cluster(points, weight, 2, starts=5, rounds=20)
    assert np.abs(np.sort(centres, axis=0) - [[25, 25], [70, 70]]).max() < 5


def test_bins_without_ramps_stand_for_their_middles() -> None:
    synopsis = Synopsis((parts_of_graph("a", np.arange(101) // 51, 2), ramps("b", 101, 1, wide=True, most_units=9)))
    points, weight = likely_points(synopsis, COLUMNS, np.array([[30.0], [70.0]]), np.array(100.0), 1.0)
    assert points.tolist() == [[25.0, 50.0], [75.5, 50.0]]
    assert weight == pytest.approx([30, 70], abs=1)


def test_a_table_of_noise_alone_still_gives_weights() -> None:
    synopsis = Synopsis((ramps("a", 101, 5, wide=True, most_units=256),))
    _, weight = likely_points(synopsis, COLUMNS[:1], np.array([-900.0, 5, -3, 0, 1]), np.array(1.0), 500.0)
    assert np.isfinite(weight).all()
    assert weight.sum() == pytest.approx(1)


def test_the_weights_of_a_fine_table_with_little_noise_go_all_the_way() -> None:
    attributes = [Attribute(name, Integers(0, 100)) for name in "abcdefg"]
    synopsis = Synopsis(tuple(ramps(name, 101, 4, wide=True, most_units=16) for name in "abcdefg"))
    coins = np.random.default_rng(5)
    middles = coins.uniform(15, 85, (4, 7))
    codes = np.clip(middles[coins.integers(4, size=5_000)] + coins.normal(0, 6, (5_000, 7)), 0, 100)
    noisy = synopsis.spread(codes.round().astype(np.int64)) / synopsis.units + coins.laplace(0, 0.3, synopsis.shape)
    points, weight = likely_points(synopsis, attributes, noisy, np.array(5_000.0), 0.3)
    centres, _ = cluster(points, weight, 4, starts=10, rounds=25)
    gaps = np.abs(centres[:, None, :] - middles).max(axis=2)
    assert gaps.min(axis=1).max() < 6


def test_weights_keep_exact_totals() -> None:
    halves, thirds = np.arange(101) // 51, np.arange(101) // 34
    fine = Synopsis((parts_of_graph("a", halves, 8), parts_of_graph("b", thirds, 6)))
    coarse = Synopsis((parts_of_graph("a", halves, 2), parts_of_graph("b", thirds, 3)))
    coins = np.random.default_rng(3)
    codes = coins.integers(0, 101, (400, 2))
    codes = codes[(codes[:, 0] > 50) | (codes[:, 1] > 33)]  # one total is nothing
    totals = coarse.spread(codes)
    noisy = fine.spread(codes) + coins.laplace(0, 4, fine.shape)
    points, weight = likely_points(fine, COLUMNS, noisy, totals.astype(float), 4.0, coarse)
    found = np.zeros(coarse.shape)
    np.add.at(found, tuple(axis.first[points[:, i].astype(int)] for i, axis in enumerate(coarse.axes)), weight)
    assert (weight >= 0).all()
    assert found == pytest.approx(totals)
    assert np.abs(weight.reshape(fine.shape) - fine.spread(codes)).mean() < np.abs(noisy - fine.spread(codes)).mean()


def test_clustering_weighted_points() -> None:
    points = np.array([[0.0], [1.0], [10.0], [11.0]])
    centres, rounds = cluster(points, np.array([1.0, 3.0, 1.0, 1.0]), 2, starts=4, rounds=10)
    assert sorted(centres.ravel().tolist()) == [0.75, 10.5]
    assert rounds >= 1
    again, _ = cluster(points, np.array([1.0, 3.0, 1.0, 1.0]), 2, starts=4, rounds=10)
    assert np.array_equal(centres, again)  # what follows the noise is reproducible


def test_fewer_points_than_clusters_repeat_a_centre() -> None:
    centres, _ = cluster(np.array([[2.0], [7.0]]), np.array([1.0, 1.0]), 3, starts=2, rounds=5)
    assert centres.shape == (3, 1)
    assert set(centres.ravel().tolist()) == {2.0, 7.0}


# -- lloyd steps ------------------------------------------------------------------------------------
# Lloyd's steps: the printed lemma's counterexample, the true sensitivity, a certificate that covers any centres.

FREE = without_ledger(certify({"dataset": "d", "attributes": {"x": ["a"]}, "budget": {"epsilon": 1}}, [[0]], 1))


def policy_of(graph: SecretGraph) -> Policy:
    return Policy("tiny", graph.domain, graph, Fraction(1), (), "secret" if graph.absent else "public")


LINE = Domain((Attribute("x", Integers(0, 10)),))
STEPS_OF_ONE = policy_of(SecretGraph(LINE, (Factor(("x",), Within(11, 1)),), 1))
NEAREST = [int(abs(x - 8) < abs(x - 2)) for x in range(11)]


def test_the_printed_lemma_is_wrong() -> None:
    """[HMD14] Lemma 6.1 says 2 theta = 2. The edge 5-6 crosses from the cell of 2 to the cell of 8."""
    zero = [[Fraction(0)], [Fraction(0)]]
    assert (NEAREST[5], NEAREST[6]) == (0, 1)
    assert centred_sum_sensitivity(STEPS_OF_ONE, NEAREST, zero) == 11
    by_row = [[x * (cell == c) for x, cell in enumerate(NEAREST)] for c in (0, 1)]
    assert certify(STEPS_OF_ONE, by_row, 1).epsilon == 11  # the kernel says the same


def test_centring_helps() -> None:
    assert centred_sum_sensitivity(STEPS_OF_ONE, NEAREST, [[Fraction(2)], [Fraction(8)]]) == 5


@settings(max_examples=150, deadline=None)
@given(graphs(most=2), st.data())
def test_the_corrected_sensitivity_is_what_the_kernel_finds(graph: SecretGraph, data: st.DataObject) -> None:
    policy, domain = policy_of(graph), graph.domain
    cell = data.draw(st.lists(st.integers(0, 2), min_size=domain.size, max_size=domain.size))
    number = st.fractions(-3, 3, max_denominator=4)
    offset = [[data.draw(number) for _ in domain] for _ in range(3)]
    rows = []
    for c in range(3):
        for place, attribute in enumerate(domain):
            values = [attribute.number(domain.codes_of(x)[place]) - offset[c][place] for x in range(domain.size)]
            rows.append([value * (cell[x] == c) for x, value in enumerate(values)])
    assert centred_sum_sensitivity(policy, cell, offset) == certify(policy, rows, 1).epsilon


@settings(max_examples=100, deadline=None)
@given(graphs(most=2), st.data())
def test_no_round_loses_more_than_certified(graph: SecretGraph, data: st.DataObject) -> None:
    policy, domain = policy_of(graph), graph.domain
    steps = plan_steps(policy, domain.names, Fraction(1), rounds=1)
    certified = steps.certificate(policy, domain.names).epsilon
    assert certified in (0, 1)
    assert certified == 1 or not graph.has_edges
    codes = np.array([domain.codes_of(x) for x in range(domain.size)])
    anchor = np.array([[data.draw(st.integers(0, size - 1)) for size in domain.shape] for _ in range(2)])
    alone = np.stack([steps.asked(codes[[x]], anchor, np.ones(len(domain.shape))) for x in range(domain.size)], axis=-1)
    assert alone.sum(axis=-1).tolist() == steps.asked(codes, anchor, np.ones(len(domain.shape))).tolist()
    rows = alone.reshape(-1, domain.size).tolist()
    scales = [scale or Fraction(1) for scale in (steps.count_scale, *steps.sum_scales) for _ in anchor]
    assert certify(policy, rows, scales).epsilon <= certified


def test_rounds_share_the_budget() -> None:
    steps = plan_steps(STEPS_OF_ONE, ("x",), Fraction(1, 2), rounds=5)
    assert steps.certificate(STEPS_OF_ONE, ("x",)).epsilon == Fraction(1, 2)
    assert steps.rounds == 5
    assert steps.expected_noise([11], 2, 10**6) < steps.expected_noise([11], 2, 10**3)


def test_without_noise_it_is_lloyds_algorithm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LaplaceNoise, "draw", lambda *_: np.zeros(_[-1], np.int64))
    steps = Steps(6, (25, 25), Fraction(1), (Fraction(1), Fraction(1)))
    codes = np.array([[10, 10], [12, 14], [90, 85], [88, 91], [89, 88]])
    found = steps.run(codes, [101, 101], np.ones(2), first_centres(2, [101, 101]), FREE)
    assert sorted(np.round(found, 1).tolist()) == [[11.0, 12.0], [89.0, 88.0]]


def test_far_records_are_clipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LaplaceNoise, "draw", lambda *_: np.zeros(_[-1], np.int64))
    steps = Steps(1, (5,), Fraction(1), (Fraction(1),))
    found = steps.run(np.array([[20], [90], [20], [0]]), [101], np.ones(1), np.array([[20.0]]), FREE)
    assert found.tolist() == [[20 + (5 - 5) / 4]]
    found = steps.run(np.array([[20], [90]]), [101], np.ones(1), np.array([[20.0]]), FREE)
    assert found.tolist() == [[22.5]]


def test_first_centres_are_always_the_same_and_apart() -> None:
    one, two = first_centres(4, [101, 11]), first_centres(4, [101, 11])
    assert np.array_equal(one, two)
    assert len(np.unique(one, axis=0)) == 4
    assert (one >= 0).all()
    assert (one <= [100, 10]).all()


def test_plain_privacy_pays_two_boxes() -> None:
    policy = policy_of(SecretGraph(LINE, (Factor(("x",), Everything(11)),), 1))
    steps = plan_steps(policy, ("x",), Fraction(1), rounds=1)
    assert steps.box == (2,)
    assert 2 / steps.count_scale + 2 * 2 / steps.sum_scales[0] == 1


def test_long_columns_are_added_up_exactly() -> None:
    """In floats these sums of odd numbers above 2^53 would be rounded."""
    box = 2**50 + 1
    steps = Steps(1, (box,), Fraction(1), (Fraction(1),))
    codes = np.array([[box], [box - 2], [box - 4], [7], [8]], np.int64) + 3
    counts, sums = steps.asked(np.repeat(codes, 5, axis=0), np.array([[3]]), np.ones(1))
    assert counts.tolist() == [25]
    assert sums.tolist() == [5 * (3 * box - 6 + 15)]


# -- soft steps -------------------------------------------------------------------------------------
# Soft steps: no edge of any tiny world moves what they measure by more than their certificate says.


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
