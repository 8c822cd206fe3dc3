"""Sums of unbounded values: verified in small worlds at their epsilon, and shown to fail at 0.99 of it."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import tetraodon as td
from tetraodon.certificate.against_attackers import certify_release
from tetraodon.engine import DataRefusal
from tetraodon.errors import PolicyError
from tetraodon.pufferfish.calibrated import Calibrated
from tetraodon.pufferfish.sums import absolute_sum, relative_sum
from tetraodon.workload.linear import Measurement
from tetraodon.workload.query import linear, total

HALVES = [Fraction(n, 2) for n in (0, 1, 4, 7, 9)]


def check(mechanism: Calibrated, world: td.World, pairs: object, scenario: object, *, tight: bool = True) -> None:
    for factor, holds in ((1, True), (Fraction(99, 100), False)):
        definition = td.Definition(pairs, scenario, epsilon=factor * mechanism.epsilon)  # type: ignore[arg-type]
        if holds or tight:
            assert td.verify(mechanism.on(world), definition).holds == holds


@pytest.mark.parametrize("epsilon", ["0.5", 1, 2])
def test_absolute_errors_of_individuals(epsilon: object) -> None:
    """[KM12] Lemma 7.1 with k = 1: values less than 4 apart; 0.5 and 4.5 fall on steps 4 apart and are not."""
    mechanism = absolute_sum(individual=1, epsilon=epsilon)  # type: ignore[arg-type]
    assert mechanism.scale == 4 / Fraction(epsilon)  # type: ignore[arg-type]
    worlds = td.World.product([Fraction(1, 2), Fraction(17, 4), *HALVES[2:]], individuals=2)
    check(mechanism, worlds, td.pairs.intervals(k=1), td.scenarios.independent())


def test_aggregates_alone_and_with_individuals() -> None:
    world = td.World.product([Fraction(1, 2), Fraction(17, 4), 0, 2], individuals=2)
    alone = absolute_sum(aggregate=1, epsilon=1)
    check(alone, world, td.pairs.aggregate(k=1), td.scenarios.anything())
    both = absolute_sum(individual="0.5", aggregate=1, epsilon=1)
    assert both.steps == alone.steps == 4
    check(both, world, td.pairs.aggregate(k=1), td.scenarios.anything())
    check(both, world, td.pairs.intervals(k="0.5"), td.scenarios.independent(), tight=False)
    together = td.Definition(
        td.pairs.aggregate(k=1) | td.pairs.intervals(k="0.5"), td.scenarios.independent(), epsilon=both.epsilon
    )
    assert td.verify(both.on(world), together).lower <= both.epsilon


def test_relative_errors() -> None:
    """c = 1/2: values less than 16 times apart. Powers of two are the grid; 63/64 is just below a step of it."""
    mechanism = relative_sum(c="1/2", epsilon=1, base=2)
    assert mechanism.steps == 4
    world = td.World.product([Fraction(63, 64), Fraction(31, 2), 1, 3], individuals=1)
    check(mechanism, world, td.pairs.relative(c="1/2"), td.scenarios.independent())
    two = td.World.product([Fraction(63, 64), Fraction(31, 2), 1, 3], individuals=2)
    check(mechanism, two, td.pairs.relative(c="1/2"), td.scenarios.independent(), tight=False)


def test_the_scale_in_logarithms_is_that_of_the_paper() -> None:
    mechanism = relative_sum(c="0.9", epsilon=1)
    scale = float(mechanism.scale) * math.log(1.001)
    wanted = 4 * math.log(1 / 0.9)
    assert wanted <= scale < wanted + math.log(1.001)
    assert mechanism.has_mean
    assert not relative_sum(c="0.5", epsilon=1).has_mean  # 4 ln 2 > 1


def test_steps_are_whole_and_exact() -> None:
    mechanism = relative_sum(c="0.9", epsilon=1)
    base = Fraction(1001, 1000)
    for value in (Fraction(1), base**7, base**7 - Fraction(1, 10**40), Fraction(123456, 7), Fraction(1, 977)):
        step = mechanism.answer([value])
        assert base**step <= value < base ** (step + 1)
    assert base**mechanism.steps >= Fraction(9, 10) ** -4 > base ** (mechanism.steps - 1)
    assert absolute_sum(individual=1, step="0.3", epsilon=1).steps == 14


def test_zeros_are_shifted_and_what_has_no_meaning_is_refused_without_quoting_it() -> None:
    assert relative_sum(c="0.9", epsilon=1, shift=10).answer([0, 0]) == relative_sum(c="0.9", epsilon=1).answer([10])
    for values, mechanism in (
        ([1, 0], relative_sum(c="0.9", epsilon=1)),
        ([], relative_sum(c="0.9", epsilon=1)),
        ([5, -7.125], relative_sum(c="0.9", epsilon=1, shift=10)),
        ([1, math.nan], absolute_sum(individual=1, epsilon=1)),
        ([1, math.inf], absolute_sum(individual=1, epsilon=1)),
        ([1, None], absolute_sum(individual=1, epsilon=1)),
    ):
        with pytest.raises(DataRefusal) as caught:
            mechanism.answer(values)
        assert "7.125" not in str(caught.value)
        assert "Fix: " in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: absolute_sum(epsilon=1),
        lambda: absolute_sum(individual=0, epsilon=1),
        lambda: absolute_sum(individual=1, step=0, epsilon=1),
        lambda: relative_sum(c=1, epsilon=1),
        lambda: relative_sum(c="0.9", base=1, epsilon=1),
        lambda: relative_sum(c="0.9", shift=-1, epsilon=1),
    ],
)
def test_bad_errors_are_refused(make: object) -> None:
    with pytest.raises(PolicyError):
        make()  # type: ignore[operator]


def test_in_a_policy_file_the_same_is_a_distance_just_below_four_times_the_error() -> None:
    document = {
        "dataset": "d",
        "presence": "public",
        "attributes": {"x": {"integer": [0, 10**9]}},
        "secrets": {"x": {"within": 4 * 5 - 1}},
        "budget": {"epsilon": 1},
    }
    policy = td.load_policy(document)
    for x in range(25):
        in_some_pair = any(a <= 0 < a + 10 <= x < a + 20 for a in range(-10, 1))
        assert policy.graph.is_edge(0, x) == in_some_pair
    loss = certify_release(policy, [Measurement(linear(total("x"), policy.domain), Fraction(19))])
    assert loss.epsilon == 1
