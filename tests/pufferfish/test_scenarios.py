"""Each set of attackers samples, conditions and composes as it says."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from fractions import Fraction

import pytest
from tests.pufferfish.oracle import random_channel, worst_odds

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import PolicyError, Refused
from tetraodon.policy.attribute_graph import Blocks as GraphBlocks
from tetraodon.policy.attribute_graph import Within
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.pufferfish import Additive, Definition, Laplace, Prior, Secret, World, named, pairs, scenarios, verify
from tetraodon.pufferfish.scenarios import universally_composable

WORLD = World.product((0, 1), individuals=2)
TWINS = {(0, 0): "2/5", (1, 1): "2/5", (0, 1): "1/10", (1, 0): "1/10"}
EVERY_KIND = [
    scenarios.anything(),
    scenarios.independent(),
    scenarios.iid(),
    scenarios.informed(1),
    scenarios.given(lambda d: sum(d) < 2),
    scenarios.explicit([TWINS, Prior.uniform(WORLD)]),
    scenarios.chain(transition=[["0.9", "0.1"], ["0.4", "0.6"]]),
    scenarios.groups([(0, 1)]),
    scenarios.groups([(0, 1)], scenarios.contagion(2, introduced=Fraction(1, 10), spread=Fraction(1, 2))),
    scenarios.network([((), {(): {0: "1/2", 1: "1/2"}}), ((0,), {(0,): {0: 1}, (1,): {0: "1/3", 1: "2/3"}})]),
]


@pytest.mark.parametrize("scenario", EVERY_KIND, ids=lambda scenario: scenario.text[:40])
def test_every_kind_draws_samples_and_conditions(scenario):
    chance = random.Random(0)
    prior = scenario.draw(WORLD, chance)
    assert sum(weight for _, weight in prior.weights) == 1
    assert scenario.sample(WORLD, chance) in WORLD.datasets
    secret = Secret.value(0, 0)
    conditional = prior.given(secret)
    assert all(secret.holds(dataset) for dataset, _ in conditional.weights)
    assert sum(weight for _, weight in conditional.weights) == 1
    assert scenario.text
    assert scenario.source
    assert scenario.composability(pairs.values(), WORLD).reason


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: scenarios.explicit([{(0,): "0.5"}]), "sum to 0.5, not to 1"),
        (lambda: scenarios.explicit([{(0,): "1.5", (1,): "-0.5"}]), "negative"),
        (lambda: scenarios.explicit([]), "no attacker"),
        (lambda: scenarios.explicit([TWINS], source="estimated from the protected table"), "would leak"),
        (lambda: scenarios.explicit([TWINS], source=" "), "where its numbers come from"),
        (lambda: scenarios.chain(transition=[["0.5", "0.4"], [0, 1]]), "row 0 .* sum to 0.9"),
        (lambda: scenarios.chain(transition=[[1]], start="anywhere"), "unknown way"),
        (lambda: scenarios.chain(transition=[[1, 0]]), "not square"),
        (lambda: scenarios.chain(transition=[["1/2", "1/2"]] * 2, start=[1]), "differ in size"),
        (lambda: scenarios.chain(transition=[[1, 0], [0, 1]]).priors(WORLD), "more than one stationary"),
        (lambda: scenarios.chain(transition=[["-1", 2], [0, 1]]), "negative"),
        (lambda: scenarios.chain(transition=[[1]]).priors(WORLD), "not the values of the world"),
        (lambda: scenarios.groups([(0, 1), (1,)]), "two groups"),
        (lambda: scenarios.groups([(0, 2)], {(0, 0): 1}), "each individual once"),
        (lambda: scenarios.groups([(0, 1)], {(0,): 1}), "does not fit"),
        (lambda: scenarios.groups([(0, 1)], {(0, 0): "1/2"}), "do not sum to 1"),
        (lambda: scenarios.network([((1,), {}), ((), {})]), "does not come before"),
        (lambda: scenarios.network([((), {(): {0: "1/2"}})]), "do not sum to 1"),
        (lambda: scenarios.informed(-1), "negative"),
        (lambda: scenarios.chain(transition=[]), "no transition matrix"),
        (lambda: scenarios.explicit([TWINS], source="fitted to the data we release"), "would leak"),
        (lambda: scenarios.groups([(0,)], {(0,): 1}).priors(WORLD), "speaks of 1 individuals"),
        (lambda: scenarios.network([((), {(): {0: 1}})]).priors(WORLD), "speaks of 1 individuals"),
        (lambda: scenarios.chain(transition=[[1]]).priors(World.product((0,), individuals=1, absent=True)), "absent"),
        (lambda: scenarios.given(lambda d: sum(d) > 5).draw(WORLD, random.Random(0)), "contradicts"),
        (lambda: scenarios.iid().draw(World.of([(0, 1), (1, 1), (1, 0)]), random.Random(0)), "cannot be independent"),
        (lambda: Prior.of(TWINS).given(Secret.value(0, 5)), "probability zero"),
        (lambda: Prior(((0, Fraction(1, 2)), (0, Fraction(1, 2)))), "twice"),
        (lambda: Prior.proportional({0: 0}), "all weights are zero"),
    ],
)
def test_bad_input_is_refused_with_a_fix(make, message):
    with pytest.raises((PolicyError, Refused), match=rf"{message}.*Fix:"):
        make()


def test_probabilities_in_the_order_of_the_datasets_are_a_prior() -> None:
    world = World.of([(0,), (1,)])
    (prior,) = scenarios.explicit([["1/3", "2/3"]]).priors(world)
    assert prior.weights == (((0,), Fraction(1, 3)), ((1,), Fraction(2, 3)))
    assert scenarios.explicit({(0,): 0.5, (1,): 0.5}).priors(world)[0].weights[0] == ((0,), Fraction(1, 2))
    with pytest.raises(PolicyError, match="3 probabilities where the world has 2 datasets"):
        scenarios.explicit([[0.2, 0.3, 0.5]]).priors(world)
    with pytest.raises(PolicyError, match="attacker 0 is no prior"):
        scenarios.explicit(["all"])


# -- scenario models ---------------------------------------------------------------------------------
# Attackers with numbers: each prior is the product that its model says.


def test_a_chain_multiplies_its_steps():
    world = World.product((0, 1), individuals=3)
    chain = scenarios.chain(transition=[["0.9", "0.1"], ["0.4", "0.6"]], start=["0.5", "0.5"], source="a textbook")
    (prior,) = chain.priors(world)
    assert dict(prior.weights)[(0, 1, 1)] == Fraction(1, 2) * Fraction(1, 10) * Fraction(6, 10)
    assert "a textbook" in chain.text
    several = scenarios.chain(transition=[[[1, 0], [0, 1]], [["1/2", "1/2"]] * 2], start=[["1/2", "1/2"], [1, 0]])
    assert len(several.priors(world)) == 4


def test_contagion_sums_to_one_and_spreads():
    joint = scenarios.contagion(3, introduced=Fraction(1, 5), spread=Fraction(1, 3))
    assert sum(joint.values()) == 1
    nobody = scenarios.contagion(3, introduced=Fraction(1, 5), spread=Fraction(0))
    for inside in itertools.product((0, 1), repeat=3):
        assert nobody[inside] == Fraction(1, 5) ** sum(inside) * Fraction(4, 5) ** (3 - sum(inside))
    assert joint[(1, 1, 1)] > nobody[(1, 1, 1)]


def test_groups_multiply_and_a_network_follows_its_parents():
    joint = {(0, 0): "1/2", (1, 1): "1/2"}
    (twins,) = scenarios.groups([(0, 2), (1, 3)], joint, source="a register").priors(
        World.product((0, 1), individuals=4)
    )
    assert dict(twins.weights) == {d: Fraction(1, 4) for d in ((0, 0, 0, 0), (0, 1, 0, 1), (1, 0, 1, 0), (1, 1, 1, 1))}
    network = scenarios.network(
        [((), {(): {0: "1/3", 1: "2/3"}}), ((0,), {(0,): {0: 1}, (1,): {0: "1/4", 1: "3/4"}})], source="a study"
    )
    (prior,) = network.priors(World.product((0, 1), individuals=2))
    assert dict(prior.weights) == {(0, 0): Fraction(1, 3), (1, 0): Fraction(1, 6), (1, 1): Fraction(1, 2)}
    assert "a study" in network.text


def test_a_stationary_chain_looks_the_same_at_every_step():
    world = World.product(("a", "b"), individuals=3)
    (prior,) = scenarios.chain(transition=[["0.9", "0.1"], ["0.4", "0.6"]], states=("a", "b")).priors(world)
    for step in range(3):
        assert sum(p for d, p in prior.weights if d[step] == "a") == Fraction(4, 5)


# -- known sums --------------------------------------------------------------------------------------
# Known sums: the exact neighbours bound every product prior given the sums, and are attained by one.


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


# -- scenario ----------------------------------------------------------------------------------------
# Sets of attackers draw priors of their kind, and say whether losses add up.

PAIRED = {(0, 0): "2/5", (1, 1): "2/5", (0, 1): "1/10", (1, 0): "1/10"}


TRIO = World.product((0, 1), individuals=2)


def test_theorem_8_1_decides_one_prior_at_a_time():
    two_points = Prior.of({(0, 1): "1/2", (1, 1): "1/2"})
    assert universally_composable(two_points, pairs.values(), TRIO).universally
    loose = universally_composable(Prior.of(PAIRED), pairs.values(), TRIO)
    assert not loose.universally
    assert "more than one dataset" in loose.reason
    assert scenarios.explicit([two_points]).composability(pairs.values(), TRIO).adds_up
    assert scenarios.independent().composability(pairs.values(), TRIO).adds_up
    assert scenarios.independent().composability(pairs.aggregate(k=1), TRIO).adds_up is None
    assert scenarios.given(lambda d: sum(d) < 2, scenarios.anything()).composability(pairs.values(), TRIO).adds_up
    assert scenarios.given(sum, scenarios.explicit([two_points])).composability(pairs.values(), TRIO).adds_up


THREE = World.product((0, 1, 2), individuals=3)


def marginal(prior, people):
    found = {}
    for dataset, weight in prior.weights:
        key = tuple(dataset[i] for i in people)
        found[key] = found.get(key, Fraction(0)) + weight
    return found


@pytest.mark.parametrize("members", [(), ((0, 2),), ((0, 1, 2),)])
def test_groups_are_independent_of_each_other(members):
    scenario = scenarios.groups(members)
    prior = scenario.draw(THREE, random.Random(1))
    groups = {scenario.group_of(i) for i in range(3)}
    for dataset, weight in prior.weights:
        expected = Fraction(1)
        for group in groups:
            people = sorted(group)
            expected *= marginal(prior, people)[tuple(dataset[i] for i in people)]
        assert weight == expected


def test_one_law_for_all_but_the_informed():
    for informed in (0, 1, 2):
        prior = scenarios.informed(informed).draw(THREE, random.Random(2))
        laws = [marginal(prior, [i]) for i in range(3)]
        alike = sum(a == b for a, b in itertools.combinations(laws, 2))
        assert alike >= {0: 3, 1: 1, 2: 0}[informed]


def test_which_group_decides_a_pair():
    scenario = scenarios.groups([(0, 2)])
    assert scenario.fits(frozenset({2}), THREE) == {0, 2}
    assert scenario.fits(frozenset({1}), THREE) == {1}
    assert scenario.fits(frozenset({0, 1}), THREE) is None
    assert scenario.fits(None, THREE) is None
    assert scenarios.independent().fits(None, World.product((0, 1), individuals=1)) == {0}


def test_a_constraint_conditions():
    given = scenarios.given(lambda d: sum(d) == 1, scenarios.explicit([{(0, 1, 0): "1/2", (1, 1, 0): "1/2"}]))
    (prior,) = given.priors(THREE)
    assert prior.weights == (((0, 1, 0), Fraction(1)),)
    assert given.restrict(THREE).size == 3
    assert scenarios.given(sum).priors(THREE) is None
    assert "who know that a constraint holds" in given.text
    assert given.source == "stated by the analyst"


# -- prior -------------------------------------------------------------------------------------------
# One attacker's belief: exact, sampled exactly, conditioned exactly.

PRIOR_TWINS = {(0, 0): "2/5", (1, 1): "2/5", (0, 1): "1/10", (1, 0): "1/10"}


def test_a_sample_follows_the_prior_exactly():
    """Walk every outcome of the one coin that `sample` draws."""

    class Coin(random.Random):
        turn = 0

        def randrange(self, stop):
            assert stop == 10
            return self.turn

    prior, coin, seen = Prior.of(PRIOR_TWINS), Coin(), Counter()
    for coin.turn in range(10):
        seen[prior.sample(coin)] += 1
    assert {dataset: Fraction(count, 10) for dataset, count in seen.items()} == dict(prior.weights)


def test_conditioning_is_bayes_rule():
    prior = Prior.of(PRIOR_TWINS)
    secret = Secret.value(0, 1)
    conditional = dict(prior.given(secret).weights)
    assert conditional == {(1, 1): Fraction(4, 5), (1, 0): Fraction(1, 5)}
    assert prior.probability(secret) == Fraction(1, 2)


def test_impossible_datasets_are_left_out():
    assert Prior.of({(0,): 1, (1,): 0}).weights == (((0,), Fraction(1)),)
    assert Prior.of({(0,): 1}).on(World.of([(1,), (0,)])) == [0, 1]
    assert Prior.proportional({(0,): 1, (1,): 3}).weights[1][1] == Fraction(3, 4)
