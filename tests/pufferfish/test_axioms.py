"""k-anonymity fails the first axiom; Pufferfish definitions pass both."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from tests.pufferfish.oracle import random_channel, random_prior

from tetraodon.errors import PolicyError, Refused
from tetraodon.pufferfish import (
    Additive,
    Channel,
    Definition,
    Laplace,
    Prior,
    World,
    compiled,
    compose,
    convexity_counterexample,
    k_anonymity,
    named,
    pairs,
    post_processing_counterexample,
    scenarios,
    verify,
)

TABLES = (("13053", "13068"), ("130**", "130**"))


def test_k_anonymity_is_not_closed_under_post_processing():
    """[MK15]: undo the generalisation, and what was safe to publish no longer is."""
    world = World.of([("13053", "13068"), ("13068", "13053")])
    found = post_processing_counterexample(k_anonymity(2), world, TABLES)
    assert found is not None
    assert k_anonymity(2)(found.accepted[0])
    assert not k_anonymity(2)(found.rejected)
    assert found.text == ("not closed under post-processing: ('130**', '130**') becomes ('13053', '13068')")
    assert convexity_counterexample(k_anonymity(2), world, TABLES) is None


def test_pufferfish_definitions_pass_both():
    """[KM12] Thm 5.1."""
    world = World.product((0, 1), individuals=1)
    definition = Definition(pairs.values(), scenarios.independent(), odds=("1/2", 2))

    def private(channel):
        return bool(verify(channel, definition))

    assert post_processing_counterexample(private, world, (0, 1, 2), grain=3) is None
    assert convexity_counterexample(private, world, (0, 1, 2), grain=3) is None


def test_a_proposal_that_is_not_convex():
    world = World.product((0, 1), individuals=1)

    def deterministic(channel):
        return all(number in (0, 1) for row in channel.matrix for number in row)

    found = convexity_counterexample(deterministic, world, (0, 1), weight=Fraction(1, 3))
    assert found is not None
    assert found.axiom == "convexity"
    assert not deterministic(found.rejected)


def test_too_many_channels_are_refused():
    with pytest.raises(Refused, match="too many channels"):
        post_processing_counterexample(lambda _: True, World.product(range(9), individuals=2), range(4), grain=4)
    with pytest.raises(Refused, match="too many pairs"):
        convexity_counterexample(lambda _: True, World.product((0, 1), individuals=2), (0, 1), grain=5)


# -- template ----------------------------------------------------------------------------------------
# A definition as linear constraints, and the verifier, agree on every channel.


def test_the_template_says_what_the_verifier_says():
    world = World.product((0, 1), individuals=1)
    definition = Definition(pairs.values(), scenarios.independent(), odds=("1/2", 2))
    for p in (Fraction(2, 3), Fraction(67, 100)):
        channel = Channel([[p, 1 - p], [1 - p, p]], world.datasets, (0, 1))
        broken = compiled(definition, world).check(channel)
        assert (broken is None) == bool(verify(channel, definition)) == (p == Fraction(2, 3))
    assert broken is not None
    assert broken.amount == Fraction(67, 100) - 2 * Fraction(33, 100)


@pytest.mark.parametrize("seed", range(12))
def test_it_agrees_with_the_verifier_on_uneven_priors(seed):
    chance = random.Random(seed)
    world = World.product((0, 1), individuals=2)
    prior = scenarios.explicit([random_prior(world, chance), random_prior(world, chance)])
    definition = Definition(pairs.values(), prior, odds=("1/2", 2))
    for _ in range(10):
        channel = random_channel(world, 2, chance, grain=9, zeros=False)
        assert (compiled(definition, world).check(channel) is None) == verify(channel, definition).holds


def test_known_sums_and_brackets_compile_too():
    world = World.product((0, 1), individuals=2)
    known = Definition(pairs.values(), scenarios.known_sums(lambda x: x), odds=("1/2", 2))
    template = compiled(known, world)
    assert len(template.constraints) == 2  # (0, 1) and (1, 0) only
    assert not template.sufficient
    assert compiled(Definition(pairs.values(), scenarios.iid(), odds=("1/2", 2)), world).sufficient
    given = Definition(pairs.values(), scenarios.given(lambda d: sum(d) == 1), odds=("1/2", 2))
    with pytest.raises(Refused, match="part of this world"):
        compiled(given, world)


# -- composition -------------------------------------------------------------------------------------
# Losses add up where that is proved, and are computed together everywhere else.

WORLD = World.product((0, 1), individuals=2)


def response(truth, p):
    """Randomised response about one bit of the data."""
    return Channel.of(lambda d: {truth(d): p, 1 - truth(d): 1 - p}, WORLD)


def test_differential_privacy_adds_up():
    both = compose(
        response(lambda d: d[0], Fraction(2, 3)),
        response(lambda d: d[0], Fraction(3, 4)),
        Definition(pairs.values(), scenarios.independent(), epsilon=2),
    )
    assert both.kind == "adds up"
    assert both.joint.odds == 6
    assert both.charge == pytest.approx(math.log(6))
    assert "add up" in both.text


def test_two_harmless_releases_can_reveal_everything():
    """Each loses nothing under a uniform prior; together they say everything. Summing would say zero."""
    uniform = Definition(pairs.values(), scenarios.explicit([Prior.uniform(WORLD)]), epsilon=1)
    parity = Channel.of(lambda d: {d[0] ^ d[1]: 1}, WORLD)
    about_one = pairs.explicit([p for p in pairs.values().on(WORLD) if p.about == {0}])
    definition = Definition(about_one, uniform.scenarios, epsilon=1)
    other = Channel.of(lambda d: {d[1]: 1}, WORLD)
    assert verify(parity, definition).odds == verify(other, definition).odds == 1
    both = compose(parity, other, definition)
    assert (both.kind, both.charge, both.joint.holds) == ("verified jointly", math.inf, False)
    assert "do not add up" in both.text
    assert "more than their sum" in both.text
    assert "Thm 8.1" in both.why.reason


def test_universally_composable_priors_add_up():
    prior = Prior.of({(0, 1): "1/3", (1, 1): "2/3"})
    definition = Definition(pairs.values(), scenarios.explicit([prior]), epsilon=2)
    both = compose(response(lambda d: d[0], Fraction(2, 3)), response(lambda d: d[0], Fraction(2, 3)), definition)
    assert both.kind == "adds up"
    assert both.why.universally
    assert both.joint.odds == 4


def test_alice_and_bob():
    """[KM12] Eq. 14: Bob's own record agrees with Alice's with probability 3/4; his release costs her."""
    alice = World.product((0, 1), individuals=1)
    mine = Channel([["2/3", "1/3"], ["1/3", "2/3"]], alice.datasets, (0, 1))
    bob = Channel([["2/3", "1/3"], ["1/3", "2/3"]], [("b0",), ("b1",)], (0, 1))

    def relation(dataset):
        near = Fraction(3, 4)
        return {("b0",): near if dataset == (0,) else 1 - near, ("b1",): near if dataset == (1,) else 1 - near}

    definition = Definition(pairs.values(), scenarios.anything(), epsilon=1)
    both = compose(mine, bob, definition, relation=relation)
    # by hand: P(Bob says 0 | Alice 0) = 3/4 * 2/3 + 1/4 * 1/3 = 7/12
    assert both.parts[1].odds == Fraction(7, 5)
    assert both.joint.odds == 2 * Fraction(7, 5)
    assert both.kind == "verified jointly"
    same = compose(mine, mine, definition, relation=lambda d: {d: 1})
    assert same.joint.odds == 4
    either = compose(mine, mine, definition, relation=[lambda d: {d: 1}, lambda _: {(0,): 1}])
    assert either.charge == same.charge
    with pytest.raises(PolicyError, match="no relation"):
        compose(mine, mine, definition, relation=[])


def test_added_noise_composes_exactly():
    world = World.product((0, 1), individuals=2)
    definition = named.indistinguishability(epsilon=1)
    both = compose(Additive(sum, Laplace(2), world), Additive(sum, Laplace(2), world), definition)
    assert (both.kind, both.charge, both.joint.upper) == ("adds up", 1, 1)


def test_delta_is_not_summed():
    channel = response(lambda d: d[0], Fraction(2, 3))
    with pytest.raises(Refused, match="not composed here"):
        compose(channel, channel, named.indistinguishability(epsilon=1, delta="0.1"))


def test_what_is_not_known_is_refused():
    channel = response(lambda d: d[0], Fraction(2, 3))
    with pytest.raises(Refused, match="cannot be verified together"):
        compose(channel, Additive(sum, Laplace(2), WORLD), named.indistinguishability(epsilon=1))
    noisy, definition = Additive(sum, Laplace(2), WORLD), named.indistinguishability(epsilon=1)
    with pytest.raises(Refused, match="finite channel"):
        compose(channel, noisy, definition, relation=lambda d: {d: 1})
    with pytest.raises(PolicyError, match="does not sum to 1"):
        compose(channel, channel, named.indistinguishability(epsilon=1), relation=lambda d: {d: "1/2"})
    with pytest.raises(PolicyError, match="does not know"):
        compose(channel, channel, named.indistinguishability(epsilon=1), relation=lambda _: {"elsewhere": 1})
    parity = Channel.of(lambda d: {d[0] ^ d[1]: 1}, WORLD)
    iid = Definition(pairs.values(), scenarios.iid(), epsilon=1)
    with pytest.raises(Refused, match="joint loss is not known"):
        compose(parity, parity, iid)
