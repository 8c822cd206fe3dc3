"""Mechanisms found by linear programming: exactly private, and as good as the geometric mechanism."""

from fractions import Fraction

import pytest

from tetraodon.errors import PolicyError, Refused
from tetraodon.exact.exponent import exp_below
from tetraodon.pufferfish import (
    Channel,
    Definition,
    Prior,
    Secret,
    World,
    compiled,
    named,
    optimal_mechanism,
    pairs,
    scenarios,
    verify,
)


def counts(n, epsilon):
    """Differential privacy for one count: k and k + 1 are neighbours."""
    world = World.of(range(n + 1))
    return world, named.neighbours(world, lambda a, b: abs(a - b) == 1, epsilon=epsilon)


def geometric(n, ratio):
    """The geometric mechanism on 0..n, all noise beyond the ends moved to the ends."""
    rows = []
    for k in range(n + 1):
        row = [(1 - ratio) / (1 + ratio) * ratio ** abs(k - w) for w in range(n + 1)]
        row[0] = ratio**k / (1 + ratio)
        row[n] = ratio ** (n - k) / (1 + ratio)
        rows.append(row)
    return Channel(rows, range(n + 1), range(n + 1))


def best_remap_loss(channel, loss, prior):
    """The least expected loss after any deterministic post-processing: each output on its own."""
    total = 0
    for w in range(len(channel.outputs)):
        total += min(sum(p * channel.matrix[k][w] * loss(k, r) for (k, p) in prior.weights) for r in channel.outputs)
    return total


@pytest.mark.parametrize(("n", "epsilon"), [(4, Fraction(1, 2)), (8, Fraction(1)), (12, Fraction(3, 10))])
def test_it_rediscovers_the_geometric_mechanism(n, epsilon):
    """Ghosh, Roughgarden and Sundararajan: every optimal mechanism for counts is the geometric one, post-processed."""
    world, definition = counts(n, epsilon)
    for weights in (dict.fromkeys(range(n + 1), 1), {k: 1 + k % 3 for k in range(n + 1)}):
        prior = Prior.proportional(weights)
        found = optimal_mechanism(definition, lambda k, w: abs(k - w), world=world, prior=prior)
        rival = best_remap_loss(geometric(n, 1 / exp_below(epsilon)), lambda k, w: abs(k - w), prior)
        assert float(found.loss) == pytest.approx(float(rival), rel=1e-6)
        assert found.bound <= float(found.loss) * (1 + 1e-9)


def test_the_geometric_mechanism_itself_is_exactly_private():
    ratio = 1 / exp_below(Fraction(1, 2))
    _, definition = counts(6, Fraction(1, 2))
    verdict = verify(geometric(6, ratio), definition)
    assert verdict.odds == 1 / ratio
    assert verdict.holds
    assert verify(geometric(6, ratio), definition.at(Fraction(99, 200))).holds is False


def test_the_result_is_rational_and_verifies_exactly():
    world, definition = counts(8, "1/2")
    for worst in (False, True):
        found = optimal_mechanism(definition, lambda k, w: abs(k - w), world=world, worst=worst)
        assert all(isinstance(number, Fraction) for row in found.matrix for number in row)
        assert all(sum(row) == 1 for row in found.matrix)
        assert compiled(definition, world).check(found) is None
        assert verify(found, definition).holds


def test_a_definition_with_its_own_priors_needs_no_world():
    world = World.product((0, 1), individuals=2)
    correlated = Prior.of({(0, 0): "2/5", (1, 1): "2/5", (0, 1): "1/10", (1, 0): "1/10"})
    definition = Definition(pairs.values(), scenarios.explicit([correlated]), odds=("1/2", 2))
    found = optimal_mechanism(definition, lambda d, w: abs(sum(d) - w), outputs=(0, 1, 2))
    assert verify(found, definition).odds <= 2
    free = optimal_mechanism(
        Definition(pairs.values(), scenarios.independent(), odds=("1/2", 2)),
        lambda d, w: abs(sum(d) - w),
        world=world,
        outputs=(0, 1, 2),
    )
    assert found.loss != free.loss


def test_a_wrong_answer_costs_one():
    world, definition = counts(2, 1)
    zero_one = optimal_mechanism(definition, lambda k, w: k != w, world=world)
    assert zero_one.matrix == optimal_mechanism(definition, lambda k, w: int(k != w), world=world).matrix
    assert 0 < zero_one.loss < 1


def test_epsilon_zero_leaves_the_best_constant():
    world, definition = counts(4, 0)
    found = optimal_mechanism(definition, lambda k, w: abs(k - w), world=world)
    assert found.loss == Fraction(6, 5)
    assert verify(found, definition).odds == 1


def test_bad_input():
    with pytest.raises(PolicyError, match="does not list its datasets"):
        optimal_mechanism(named.no_free_lunch(epsilon=1), max)
    with pytest.raises(Refused, match="too large"):
        optimal_mechanism(named.no_free_lunch(epsilon=1), max, world=World.of(range(601)))
    with pytest.raises(Refused, match="delta"):
        compiled(named.differential_privacy(epsilon=1, delta="0.1"), World.product((0,), individuals=1))
    other = Channel([[1]], [9], [0])
    with pytest.raises(PolicyError, match="other datasets"):
        compiled(counts(2, 1)[1], World.of(range(3))).check(other)


def test_at_epsilon_zero_datasets_that_need_not_look_alike_may_be_told_apart() -> None:
    world = World.product((0, 1, 2, 3), individuals=1)
    blocks = pairs.explicit([(Secret.value(0, 0), Secret.value(0, 1)), (Secret.value(0, 2), Secret.value(0, 3))])
    definition = Definition(blocks, scenarios.independent(), epsilon=0)
    found = optimal_mechanism(definition, lambda d, w: abs(d[0] - w[0]), world=world)
    assert found.loss == Fraction(1, 2)
    assert verify(found, definition).odds == 1
    worst = optimal_mechanism(definition, lambda d, w: abs(d[0] - w[0]), world=world, worst=True)
    assert worst.loss == 1


def test_at_epsilon_zero_listed_attackers_are_refused() -> None:
    world = World.product((0, 1), individuals=2)
    definition = Definition(pairs.all_values(), scenarios.explicit([Prior.uniform(world)]), epsilon=0)
    with pytest.raises(Refused, match="at epsilon = 0"):
        optimal_mechanism(definition, lambda d, w: d != w, world=world)


def test_a_list_of_datasets_is_a_world_and_a_matrix_is_a_loss() -> None:
    world, definition = counts(4, 1)
    found = optimal_mechanism(definition, lambda k, w: abs(k - w), world=world)
    assert optimal_mechanism(definition, [[abs(k - w) for w in range(5)] for k in range(5)], world=range(5)) == found
    for wrong in ([[1]], ["12345"] * 5):
        with pytest.raises(PolicyError, match="does not fit"):
            optimal_mechanism(definition, wrong, world=world)
