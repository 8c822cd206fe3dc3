"""Losses add up where that is proved, and are computed together everywhere else."""

import math
from fractions import Fraction

import pytest

from tetraodon.errors import PolicyError, Refused
from tetraodon.pufferfish import (
    Additive,
    Channel,
    Definition,
    Laplace,
    Prior,
    World,
    compose,
    named,
    pairs,
    scenarios,
    verify,
)

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
