"""Noisy k-means put before the verifier: whatever centres a round starts from, it keeps its part of the epsilon."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.mechanism.kmeans.lloyd import Steps, plan_steps
from tetraodon.mechanism.kmeans.plan import plan_kmeans
from tetraodon.policy.attribute_graph import Everything, Within
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import ABSENT, Factor, SecretGraph
from tetraodon.pufferfish import Additive, DiscreteLaplace, World, named, verify

LINE = Domain((Attribute("x", Integers(0, 8)),))
ROUNDS = 2


def policy_of(secrets: Everything | Within, presence: str) -> Policy:
    graph = SecretGraph(LINE, (Factor(("x",), secrets),), 1, absent=presence == "secret")
    return Policy("tiny", LINE, graph, Fraction(1), (), presence)


CASES = {
    "everything": policy_of(Everything(9), "public"),
    "everything, presence too": policy_of(Everything(9), "secret"),
    "near": policy_of(Within(9, 1), "public"),
}


def one_round(steps: Steps, anchor: tuple[int, ...], world: World) -> Additive:
    def asked(dataset: Any) -> tuple[int, ...]:
        codes = np.array([[LINE.codes_of(LINE.cell(r))[0]] for r in dataset if r is not ABSENT], np.int64)
        exact = steps.asked(codes.reshape(-1, 1), np.array(anchor)[:, None], np.ones(1))
        return tuple(exact.ravel().tolist())

    scales = [scale for scale in (steps.count_scale, *steps.sum_scales) for _ in anchor]
    return Additive(asked, tuple(map(DiscreteLaplace, scales)), world)


@pytest.mark.parametrize("name", CASES)
def test_a_round_keeps_its_part_of_the_budget_from_any_centres(name: str) -> None:
    policy = CASES[name]
    steps = plan_steps(policy, ["x"], policy.epsilon, ROUNDS)
    part = policy.epsilon / ROUNDS
    world = World.of_domain(LINE, individuals=1, absent=policy.graph.absent)
    losses = []
    for anchor in itertools.combinations_with_replacement(range(9), 2):
        verdict = verify(one_round(steps, anchor, world), named.blowfish(policy, epsilon=part))
        assert verdict.exact
        assert verdict.holds
        losses.append(verdict.upper)
    if name.startswith("everything"):
        assert max(losses) == part  # and no smaller one


@pytest.mark.parametrize("name", CASES)
def test_a_table_and_the_rounds_that_refine_it_keep_the_budget_together(name: str) -> None:
    policy = CASES[name]
    plan = plan_kmeans(policy, 1, 2, rows=100_000, method="refined")
    assert plan.method == "refined"
    assert plan.synopsis is not None
    assert plan.steps is not None
    world = World.of_domain(LINE, individuals=1, absent=policy.graph.absent)
    rows = plan.synopsis.query.matrix(LINE)[0].tolist()

    def cells(dataset: Any) -> tuple[int, ...]:
        return tuple(sum(row[LINE.cell(r)] for r in dataset if r is not ABSENT) for row in rows)

    table = Additive(cells, tuple(DiscreteLaplace(plan.scale) for _ in rows), world)
    for anchors in itertools.product([(2, 6), (1, 7), (3, 4), (0, 8)], repeat=plan.steps.rounds):
        whole = table
        for anchor in anchors:
            whole = whole.with_(one_round(plan.steps, anchor, world))
        verdict = verify(whole, named.blowfish(policy, epsilon=1))
        assert verdict.exact
        assert verdict.holds
        assert verdict.upper <= plan.epsilon
