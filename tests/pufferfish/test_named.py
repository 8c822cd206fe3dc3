"""Definitions by name say what the theorems say they say."""

import itertools
import math
import random
from fractions import Fraction

import pytest
from tests.pufferfish.oracle import random_channel, worst_odds

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import PolicyError
from tetraodon.policy.attribute_graph import Within
from tetraodon.policy.secret_graph import ABSENT, Factor, SecretGraph
from tetraodon.pufferfish import Additive, Channel, Definition, Laplace, Prior, World, named, pairs, scenarios, verify

TINY = World.product((0, 1), individuals=2, absent=True)


def ratio(channel, related):
    """The largest likelihood ratio over related datasets, by plain loops."""
    worst = Fraction(1)
    for (n, x), (m, y) in itertools.permutations(enumerate(channel.datasets), 2):
        if related(x, y):
            for a, b in zip(channel.matrix[n], channel.matrix[m], strict=True):
                if a:
                    worst = max(worst, a / b if b else math.inf)
    return worst


def differ(x, y):
    return [(a, b) for a, b in zip(x, y, strict=True) if a != b]


@pytest.mark.parametrize("seed", range(6))
def test_theorem_3_1_no_free_lunch_compares_all_datasets(seed):
    channel = random_channel(TINY, 3, random.Random(seed), zeros=False)
    assert verify(channel, named.no_free_lunch(epsilon=1)).odds == ratio(channel, lambda *_: True)


@pytest.mark.parametrize("seed", range(6))
def test_theorem_6_1_differential_privacy_is_adding_or_deleting_a_record(seed):
    channel = random_channel(TINY, 3, random.Random(seed), zeros=False)

    def one_more(x, y):
        return len(differ(x, y)) == 1 and ABSENT in differ(x, y)[0]

    assert verify(channel, named.differential_privacy(epsilon=1)).odds == ratio(channel, one_more)


@pytest.mark.parametrize("seed", range(4))
def test_indistinguishability_changes_a_value(seed):
    world = World.product((0, 1, 2), individuals=2)
    channel = random_channel(world, 3, random.Random(seed), zeros=False)
    changed = ratio(channel, lambda x, y: len(differ(x, y)) == 1)
    assert verify(channel, named.indistinguishability(epsilon=1)).odds == changed


def test_theorem_6_2_correlation_breaks_differential_privacy_and_the_witness_shows_it():
    """Odds of 7 for one record more or less are odds of 9 when twins come together."""
    world = World.product((0, 1), individuals=2, absent=True)

    def law(dataset):
        ones = sum(record == 1 for record in dataset)
        return {0: Fraction(3 ** (2 - ones), 10), 1: 1 - Fraction(3 ** (2 - ones), 10)}

    channel = Channel.of(law, world)
    definition = named.differential_privacy(epsilon=2)
    alone = verify(channel, definition)
    twins = Prior.of({(1, 1): "1/2", (ABSENT, ABSENT): "1/2"}, "the attacker who knows the twins come together")
    both = verify(channel, definition.against(scenarios.explicit([twins])))
    assert both.odds == 9 == worst_odds(channel, definition.pairs, [twins])
    assert (alone.odds, alone.holds, both.holds) == (7, True, False)
    assert both.witness.prior == twins
    assert both.witness.posterior_odds / both.witness.prior_odds in (9, Fraction(1, 9))


def test_induced_neighbours_are_necessary_and_not_sufficient():
    """[KM12] Example 9.2: induced neighbours see e^eps where the attacker's odds move by more."""
    n, epsilon = 4, Fraction(1, 2)

    def in_order(dataset):
        return list(dataset) == sorted(dataset, reverse=True)

    world = World.product((0, 1), individuals=n).where(
        in_order(dataset) for dataset in World.product((0, 1), individuals=n)
    )
    mechanism = Additive(sum, Laplace(1 / epsilon), world)
    induced = named.induced_neighbours(world, in_order, epsilon=epsilon)
    assert len(induced.pairs.on(world)) == n  # D_k and D_(k+1)
    assert verify(mechanism, induced).upper == epsilon
    attacked = verify(mechanism, Definition(pairs.values(), scenarios.anything(), epsilon=epsilon))
    assert attacked.upper == n * epsilon


def test_induced_neighbours_without_a_constraint_are_plain_moves():
    world = World.product((0, 1), individuals=2, absent=True)
    found = named.induced_neighbours(world, lambda _: True, epsilon=1).pairs.on(world)
    plain = [
        (x, y)
        for x, y in itertools.combinations(world.datasets, 2)
        if len(differ(x, y)) == 1 and ABSENT in differ(x, y)[0]
    ]
    assert len(found) == len(plain)


def test_delta_constrained_and_zlw():
    world = World.product((0, 1, 2, 3), individuals=2)
    channel = random_channel(world, 3, random.Random(1), zeros=False)
    metric = pairs.l1
    cases = {
        named.delta_constrained(world, metric, delta=2, epsilon=1): lambda x, y: (
            len(differ(x, y)) == 1 and metric(x, y) <= 2
        ),
        named.zlw(world, metric, delta=2, epsilon=1): lambda x, y: metric(x, y) < 2 and len(differ(x, y)) < 2,
        named.modified_zlw(world, metric, delta=2, epsilon=1): lambda x, y: metric(x, y) <= 2,
    }
    for definition, related in cases.items():
        assert verify(channel, definition).odds == ratio(channel, related)


@pytest.mark.parametrize(("delta", "factor"), [("1.5", 4), (1, 3)])
def test_theorem_7_1_and_its_factor(delta, factor):
    """Modified ZLW at epsilon means at most 4 epsilon for the balls; 4 occurs on the integers at 1.5, 3 at 1."""
    world = World.product(range(12), individuals=1)
    steep = Fraction(1, 2)
    channel = Channel.of(
        lambda d: {w: steep ** abs(d[0] - w) / sum(steep ** abs(d[0] - v) for v in range(12)) for w in range(12)}, world
    )
    mechanism = Additive(sum, Laplace(1), world)
    near = verify(mechanism, named.modified_zlw(world, pairs.l1, delta=delta, epsilon=1))
    balls = verify(mechanism, Definition(pairs.balls(delta=delta), scenarios.independent(), epsilon=4))
    assert (near.upper, balls.upper) == (1, factor)
    # the other half of the theorem, on any channel: what protects the balls protects datasets within delta
    channel_near = verify(channel, named.modified_zlw(world, pairs.l1, delta=delta, epsilon=1))
    channel_balls = verify(channel, Definition(pairs.balls(delta=delta), scenarios.independent(), epsilon=1))
    assert channel_near.odds <= channel_balls.odds <= channel_near.odds**4


def test_dgamma_is_the_tight_condition_of_alpha_beta():
    """One tuple kept with probability a + b, or inserted with b: private exactly under [RS07] Thm 4.2, tightened."""
    d, gamma = Fraction(1, 100), Fraction(1, 5)
    definition = named.dgamma(d=d, gamma=gamma)
    high = gamma * (1 - d) / (d * (1 - gamma))
    assert definition.odds == (d / gamma, high)
    world = World.product(("t",), individuals=1, absent=True)
    for a, b in itertools.product([Fraction(n, 20) for n in range(1, 20)], repeat=2):
        if a + b < 1:
            channel = Channel([[a + b, 1 - a - b], [b, 1 - b]], world.datasets, ("in", "out"))
            tight = (a + b) / b <= high and (1 - a - b) / (1 - b) >= d / gamma
            assert verify(channel, definition).holds is tight
            if tight:  # and then no attacker with a prior of at most d ends above gamma
                assert d * (a + b) / (d * (a + b) + (1 - d) * b) <= gamma


@pytest.mark.parametrize("absent", [False, True])
def test_theorem_4_4_blowfish_moves_one_record_along_one_edge(absent):
    domain = Domain((Attribute("x", Integers(0, 3)),))
    graph = SecretGraph(domain, (Factor(("x",), Within(4, 1)),), 1, absent)
    world = World.of_domain(domain, individuals=2, absent=absent)
    channel = random_channel(world, 3, random.Random(3), zeros=False)

    def neighbours(x, y):
        moved = differ(x, y)
        return len(moved) == 1 and (graph.is_edge(*moved[0]))

    assert verify(channel, named.blowfish(graph, epsilon=1)).odds == ratio(channel, neighbours)


def test_theorem_4_5_blowfish_with_a_known_count_is_enclosed():
    domain = Domain((Attribute("x", Integers(0, 1)),))
    graph = SecretGraph(domain, (Factor(("x",), Within(2, 1)),), 1)
    world = World.of_domain(domain, individuals=3)
    definition = named.blowfish(graph, epsilon=1, constraint=lambda d: sum(r[0] for r in d) == 1)
    verdict = verify(Additive(lambda d: d[0][0], Laplace(1), world), definition)
    assert verdict.lower <= 1 <= verdict.upper + Fraction(1, 10**30)
    assert verdict.lower > Fraction(99, 100)  # swapping two people is a neighbour, and somebody sees it


def test_bad_input():
    with pytest.raises(PolicyError, match="no epsilon"):
        named.blowfish(SecretGraph(Domain((Attribute("x", Integers(0, 1)),)), (Factor(("x",), Within(2, 1)),), 1))
    with pytest.raises(PolicyError, match="not in order"):
        named.dgamma(d="0.5", gamma="0.2")
