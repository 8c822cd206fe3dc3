"""Known sums: the exact neighbours bound every product prior given the sums, and are attained by one."""

import random

import pytest
from tests.pufferfish.oracle import random_channel, worst_odds

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import PolicyError, Refused
from tetraodon.policy.attribute_graph import Blocks as GraphBlocks
from tetraodon.policy.attribute_graph import Within
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.pufferfish import Additive, Definition, Laplace, Secret, World, named, pairs, scenarios, verify


@pytest.mark.parametrize("seed", range(8))
def test_no_product_prior_passes_the_exact_loss_and_one_attains_it(seed):
    chance = random.Random(seed)
    world = World.product((0, 1, 2), individuals=3)
    channel = random_channel(world, 2, chance, zeros=False)
    scenario = scenarios.known_sums(lambda x: (x == 0, x == 1) if seed % 2 else x == 0)
    some = pairs.explicit([p for p in pairs.all_values().on(world) if p.about == {0}][: 1 + seed % 3])
    verdict = verify(channel, Definition(some, scenario, epsilon=1))
    assert verdict.exact
    others = [scenario.draw(world, chance) for _ in range(15)]
    totals = dict(zip(world.datasets, scenario.totals(world), strict=True))
    assert all(len({totals[d] for d, _ in prior.weights}) == 1 for prior in others)
    assert worst_odds(channel, some, others) <= verdict.odds
    attacker = verdict.witness.prior
    assert worst_odds(channel, some, [attacker]) == verdict.odds
    assert len({scenario.totals(world)[world.index[d]] for d, _ in attacker.weights}) == 1


def test_it_lies_inside_the_bracket_of_the_general_constraint():
    world = World.product((0, 1), individuals=3)
    channel = random_channel(world, 3, random.Random(1), zeros=False)
    one = world.where(sum(d) == 1 for d in world)
    exact = verify(channel, Definition(pairs.values(), scenarios.known_sums(lambda x: x), epsilon=1))
    given = scenarios.given(lambda d: sum(d) == 1)
    enclosed = verify(channel, Definition(pairs.values(), given, epsilon=1))
    assert one.size == 3
    assert enclosed.lower <= exact.upper


@pytest.mark.parametrize(
    ("size", "graph", "known", "answer"),
    [
        # docs/errata.md, Theorem 8.2: line 0..4, theta = 1, known counts of {0,1} and {1,2}: distance 6
        (5, Within(5, 1), lambda x: (x[0] in (0, 1), x[0] in (1, 2)), 6),
        # docs/errata.md, Corollary 8.3: complete graph on four values, known count of {2,3}: distance 4
        (4, GraphBlocks((0, 0, 0, 0)), lambda x: x[0] in (2, 3), 4),
    ],
)
def test_the_counterexamples_of_the_errata(size, graph, known, answer):
    domain = Domain((Attribute("x", Integers(0, size - 1)),))
    secrets = SecretGraph(domain, (Factor(("x",), graph),), 1)
    world = World.of_domain(domain, individuals=3 if answer == 6 else 2)

    def histogram(dataset):
        return tuple(sum(record == (value,) for record in dataset) for value in range(size))

    definition = named.blowfish(secrets, epsilon=1, known=known)
    mechanism = Additive(histogram, Laplace(1), world)
    neighbours = definition.scenarios.neighbours(definition.pairs.on(world), world)
    answers, places = mechanism.answers, neighbours.masks.argmax(axis=1)
    reach = max(
        sum(abs(a - b) for a, b in zip(answers[places[x]], answers[places[y]], strict=True))
        for x, y in zip(neighbours.first, neighbours.second, strict=True)
    )
    assert reach == answer
    assert verify(mechanism, definition).upper == answer


def test_laplace_noise_pays_for_what_is_known():
    world = World.product((0, 1), individuals=3)
    for known, expected in ((lambda x: x, 2), (lambda _: 1, 1)):
        definition = Definition(pairs.values(), scenarios.known_sums(known), epsilon=2)
        verdict = verify(Additive(lambda d: (d[0], d[1]), Laplace(1), world), definition)
        assert verdict.upper == expected
        assert verdict.holds


def test_losses_add_up_and_bad_input_is_refused():
    world = World.product((0, 1), individuals=2)
    known = scenarios.known_sums(lambda x: x)
    assert known.composability(pairs.values(), world).adds_up
    assert known.composability(pairs.aggregate(k=1), world).adds_up is None
    assert "published sums" in known.text
    channel = random_channel(world, 2, random.Random(0))
    same = pairs.explicit([(Secret.agree(0, 1), ~Secret.agree(0, 1))])
    with pytest.raises(Refused, match="several records"):
        verify(channel, Definition(same, known, epsilon=1))
    with pytest.raises(PolicyError, match="no amount"):
        verify(channel, Definition(pairs.values(), scenarios.known_sums(lambda _: ()), epsilon=1))
    graph = SecretGraph(Domain((Attribute("x", Integers(0, 1)),)), (Factor(("x",), Within(2, 1)),), 1)
    with pytest.raises(PolicyError, match="one of the two"):
        named.blowfish(graph, epsilon=1, known=lambda x: x, constraint=bool)


def test_secrets_that_do_not_exclude_each_other_are_refused_here_too() -> None:
    world = World.product((0, 1), individuals=2)
    both = pairs.explicit([(Secret.value(0, 0), Secret.one_of(0, [0, 1]))])
    channel = random_channel(world, 2, random.Random(0))
    with pytest.raises(PolicyError, match="both true of the dataset"):
        verify(channel, Definition(both, scenarios.known_sums(lambda record: record), epsilon=1))
