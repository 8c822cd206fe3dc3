"""Lloyd's steps: the printed lemma's counterexample, the true sensitivity, a certificate that covers any centres."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.worlds import graphs

from tetraodon.certificate.sensitivity import certify
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.gate import without_ledger
from tetraodon.mechanism.kmeans.lloyd import Steps, centred_sum_sensitivity, first_centres, plan_steps
from tetraodon.noise.laws import LaplaceNoise
from tetraodon.policy.attribute_graph import Everything, Within
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import Factor, SecretGraph

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
