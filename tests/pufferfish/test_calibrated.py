"""Numbers on a grid, and sums of values that nobody bounds: told within what was promised."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import tetraodon as td
from tetraodon import pufferfish as pf
from tetraodon.certificate.correlated_records import certify_release
from tetraodon.engine import DataRefusal
from tetraodon.errors import NoiseError, PolicyError
from tetraodon.noise import laplace_quantile
from tetraodon.pufferfish.calibrated import AnswerGrid, Calibrated, absolute_sum, relative_sum
from tetraodon.pufferfish.scenarios import Composable
from tetraodon.queries import total
from tetraodon.query.kinds import linear
from tetraodon.query.linear import Measurement

SURE = Composable(True, True, "one dataset each")


def made(steps: int, grid: AnswerGrid) -> Calibrated:
    return Calibrated("sum", "something", Fraction(1), steps, grid, sum, SURE, "by hand", True)


def test_the_scale_is_what_a_secret_moves_over_epsilon() -> None:
    mechanism = made(6, AnswerGrid(Fraction(1)))
    assert mechanism.scale == 6
    assert mechanism.certificate.epsilon == 1
    assert made(0, AnswerGrid(Fraction(1))).certificate.epsilon == 0


def test_intervals_cover_the_noise_and_the_rounding() -> None:
    reach = laplace_quantile(6, Fraction(95, 100))
    told = made(6, AnswerGrid(Fraction(1, 2))).interpret(10)
    assert (told.lower, told.median, told.upper) == ((10 - reach) / 2, 5.25, (11 + reach) / 2)
    exact = made(6, AnswerGrid(Fraction(1, 2), exact=True)).interpret(10)
    assert (exact.lower, exact.median, exact.upper) == ((10 - reach) / 2, 5.0, (10 + reach) / 2)
    assert made(0, AnswerGrid(Fraction(1), exact=True)).interpret(3).upper == 3


def test_a_geometric_grid_has_a_mean_only_while_the_noise_falls_faster() -> None:
    grid = AnswerGrid(Fraction(2), geometric=True, shift=Fraction(1))
    assert made(1, grid).has_mean  # ln 2 < 1
    assert not made(2, grid).has_mean
    assert made(1, grid).interpret(3).median == pytest.approx(2**3.5 - 1)
    assert grid.at(10**6) == float("inf")


def test_no_budget_and_no_noise_are_refused() -> None:
    with pytest.raises(NoiseError, match="epsilon"):
        Calibrated("sum", "something", Fraction(0), 1, AnswerGrid(Fraction(1)), sum, SURE, "by hand", True)
    with pytest.raises(NoiseError, match="no noise"):
        made(0, AnswerGrid(Fraction(1))).on(None)  # type: ignore[arg-type]


HALVES = [Fraction(n, 2) for n in (0, 1, 4, 7, 9)]


def check(mechanism: Calibrated, world: pf.World, pairs: object, scenario: object, *, tight: bool = True) -> None:
    for factor, holds in ((1, True), (Fraction(99, 100), False)):
        definition = pf.Definition(pairs, scenario, epsilon=factor * mechanism.epsilon)  # type: ignore[arg-type]
        if holds or tight:
            assert pf.verify(mechanism.on(world), definition).holds == holds


@pytest.mark.parametrize("epsilon", ["0.5", 1, 2])
def test_absolute_errors_of_individuals(epsilon: object) -> None:
    """[KM12] Lemma 7.1 with k = 1: values less than 4 apart; 0.5 and 4.5 fall on steps 4 apart and are not."""
    mechanism = absolute_sum(individual=1, epsilon=epsilon)  # type: ignore[arg-type]
    assert mechanism.scale == 4 / Fraction(epsilon)  # type: ignore[arg-type]
    worlds = pf.World.product([Fraction(1, 2), Fraction(17, 4), *HALVES[2:]], individuals=2)
    check(mechanism, worlds, pf.pairs.intervals(k=1), pf.scenarios.independent())


def test_aggregates_alone_and_with_individuals() -> None:
    world = pf.World.product([Fraction(1, 2), Fraction(17, 4), 0, 2], individuals=2)
    alone = absolute_sum(aggregate=1, epsilon=1)
    check(alone, world, pf.pairs.aggregate(k=1), pf.scenarios.anything())
    both = absolute_sum(individual="0.5", aggregate=1, epsilon=1)
    assert both.steps == alone.steps == 4
    check(both, world, pf.pairs.aggregate(k=1), pf.scenarios.anything())
    check(both, world, pf.pairs.intervals(k="0.5"), pf.scenarios.independent(), tight=False)
    together = pf.Definition(
        pf.pairs.aggregate(k=1) | pf.pairs.intervals(k="0.5"), pf.scenarios.independent(), epsilon=both.epsilon
    )
    assert pf.verify(both.on(world), together).lower <= both.epsilon


def test_relative_errors() -> None:
    """c = 1/2: values less than 16 times apart. Powers of two are the grid; 63/64 is just below a step of it."""
    mechanism = relative_sum(c="1/2", epsilon=1, base=2)
    assert mechanism.steps == 4
    world = pf.World.product([Fraction(63, 64), Fraction(31, 2), 1, 3], individuals=1)
    check(mechanism, world, pf.pairs.relative(c="1/2"), pf.scenarios.independent())
    two = pf.World.product([Fraction(63, 64), Fraction(31, 2), 1, 3], individuals=2)
    check(mechanism, two, pf.pairs.relative(c="1/2"), pf.scenarios.independent(), tight=False)


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
