"""Brackets: the lower end is an actual attacker, the upper end is never passed by any."""

import itertools
import random
from fractions import Fraction

import pytest
from tests.pufferfish.oracle import random_channel, worst_odds

from tetraodon.errors import Refused
from tetraodon.exact.exponent import log_above, log_below
from tetraodon.pufferfish import Definition, Secret, World, named, pairs, scenarios, verify
from tetraodon.pufferfish.scenarios import product_prior

WORLD = World.product((0, 1), individuals=2)


@pytest.mark.parametrize("seed", range(3))
def test_iid_is_enclosed(seed):
    channel = random_channel(WORLD, 3, random.Random(seed), zeros=False)
    verdict = verify(channel, Definition(pairs.values(), scenarios.iid(), epsilon=1))
    laws = [{0: Fraction(n, 40), 1: 1 - Fraction(n, 40)} for n in range(1, 40)]
    everyone = [product_prior(WORLD, [law, law], "i.i.d.") for law in laws]
    on_the_grid = worst_odds(channel, pairs.values(), everyone)
    assert log_below(on_the_grid) <= verdict.upper
    assert log_above(on_the_grid) - Fraction(1, 100) <= verdict.lower <= verdict.upper
    found = verdict.witness.prior
    mass = dict(found.weights)
    assert mass.get((0, 1)) == mass.get((1, 0))  # one law for both
    assert log_above(worst_odds(channel, pairs.values(), [found])) >= verdict.lower  # and it does what is said
    assert verify(channel, named.indistinguishability(epsilon=1)).upper == pytest.approx(verdict.upper, abs=1e-30)


@pytest.mark.parametrize("seed", range(3))
def test_an_attacker_informed_of_all_but_one_is_exact(seed):
    channel = random_channel(WORLD, 3, random.Random(seed), zeros=False)
    verdict = verify(channel, Definition(pairs.values(), scenarios.informed(1), epsilon=1))
    assert verdict.exact
    assert verdict.odds == verify(channel, named.indistinguishability(epsilon=1)).odds


@pytest.mark.parametrize("seed", range(2))
def test_knowing_more_never_helps_less(seed):
    world = World.product((0, 1), individuals=3)
    channel = random_channel(world, 2, random.Random(seed), zeros=False)
    uppers = [verify(channel, Definition(pairs.values(), scenarios.informed(k), epsilon=1)).upper for k in range(3)]
    assert uppers[0] <= uppers[2] + Fraction(1, 10**30)


def test_a_pair_about_two_independent_records_is_enclosed():
    channel = random_channel(WORLD, 3, random.Random(1), zeros=False)
    same = pairs.explicit([(Secret.agree(0, 1), ~Secret.agree(0, 1))])
    verdict = verify(channel, Definition(same, scenarios.independent(), epsilon=9))
    assert not verdict.exact
    assert verdict.holds is True  # the proved end decides
    laws = [{0: Fraction(n, 12), 1: 1 - Fraction(n, 12)} for n in range(1, 12)]
    everyone = [product_prior(WORLD, list(pair), "independent") for pair in itertools.product(laws, repeat=2)]
    assert log_below(worst_odds(channel, same, everyone)) <= verdict.lower + Fraction(1, 50)
    assert verdict.lower <= verdict.upper
    assert "an actual attacker" in verdict.text
    assert "proved" in verdict.text


def test_undecided_is_said():
    channel = random_channel(WORLD, 3, random.Random(1), zeros=False)
    same = pairs.explicit([(Secret.agree(0, 1), ~Secret.agree(0, 1))])
    verdict = verify(channel, Definition(same, scenarios.independent(), epsilon=9))
    middle = (Fraction(verdict.lower) + Fraction(verdict.upper)) / 2
    undecided = verify(channel, Definition(same, scenarios.independent(), epsilon=middle))
    assert undecided.holds is None
    assert not undecided
    assert undecided.text.startswith("Not decided")


def test_constraints_can_be_stacked():
    world = World.product((0, 1), individuals=3)
    channel = random_channel(world, 3, random.Random(2), zeros=False)
    stacked = scenarios.given(lambda d: d[0] <= d[1], scenarios.given(lambda d: d[1] <= d[2]))
    at_once = scenarios.given(lambda d: d[0] <= d[1] <= d[2])
    one, other = (verify(channel, Definition(pairs.values(), s, epsilon=1)) for s in (stacked, at_once))
    assert (one.lower, one.upper) == (other.lower, other.upper)
    assert {d for d, _ in one.witness.prior.weights} <= {(0, 0, 0), (0, 0, 1), (0, 1, 1), (1, 1, 1)}


def test_an_unknown_kind_of_attackers_is_refused():
    class Aliens(type(scenarios.anything()).__mro__[1]):
        text = "aliens"

        def draw(self, world, chance):
            raise NotImplementedError

        def composability(self, pairs, world):
            raise NotImplementedError

    channel = random_channel(WORLD, 2, random.Random(1))
    with pytest.raises(Refused, match="no method is known"):
        verify(channel, Definition(pairs.values(), Aliens(), epsilon=1))


def test_nothing_to_tell_apart():
    channel = random_channel(WORLD, 2, random.Random(1), zeros=False)
    never = pairs.explicit([(Secret.value(0, 7), Secret.value(0, 8))])
    assert verify(channel, Definition(never, scenarios.iid(), epsilon=1)).odds == 1
