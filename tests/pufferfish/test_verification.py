"""Verification equals enumeration, attacker by attacker, on tiny worlds."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import pytest
from tests.pufferfish.oracle import likelihood, random_channel, random_prior, two_point_priors, worst_odds

from tetraodon.errors import PolicyError, QueryError, Refused
from tetraodon.exact.exponent import log_above, log_below
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.pufferfish import Channel, Definition, Prior, Secret, World, named, pairs, scenarios, verify
from tetraodon.pufferfish import largest_odds as likelihood_module
from tetraodon.pufferfish.scenarios import product_prior

ALL_PAIRS = [pairs.values(), pairs.presence(), pairs.membership() | pairs.all_values()]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("small_bits", [2048, 0])
def test_finite_lists_equal_enumeration(seed, small_bits, monkeypatch):
    """`small_bits` = 0 forces the path through floats and exact second looks."""
    monkeypatch.setattr(likelihood_module, "SMALL_BITS", small_bits)
    chance = random.Random(seed)
    world = World.product((0, 1), individuals=2, absent=True)
    channel = random_channel(world, 3, chance, zeros=seed % 2 == 0)
    priors = [random_prior(world, chance) for _ in range(2)]
    for family in ALL_PAIRS:
        verdict = verify(channel, Definition(family, scenarios.explicit(priors), epsilon=1))
        assert verdict.exact
        assert verdict.odds == worst_odds(channel, family, priors)
        assert verdict.holds == (verdict.odds <= math.e)


@pytest.mark.parametrize("seed", range(12))
def test_anything_equals_all_pairs_of_datasets(seed):
    chance = random.Random(seed)
    world = World.of(chance.sample(World.product((0, 1, 2), individuals=2, absent=True).datasets, 7))
    channel = random_channel(world, 3, chance, zeros=seed % 2 == 0)
    for family in ALL_PAIRS:
        verdict = verify(channel, Definition(family, scenarios.anything(), epsilon=1))
        assert verdict.odds == worst_odds(channel, family, list(two_point_priors(world)))


@pytest.mark.parametrize("seed", range(12))
def test_independent_equals_neighbours_and_beats_every_product_prior(seed):
    chance = random.Random(seed)
    world = World.product((0, 1), individuals=2, absent=True)
    channel = random_channel(world, 3, chance, zeros=seed % 2 == 0)
    scenario = scenarios.independent()
    for family in ALL_PAIRS:
        verdict = verify(channel, Definition(family, scenario, epsilon=1))
        assert verdict.odds == worst_odds(channel, family, list(two_point_priors(world, apart=1)))
        others = [scenario.draw(world, chance) for _ in range(5)]
        assert worst_odds(channel, family, others) <= verdict.odds


@pytest.mark.parametrize("seed", range(6))
def test_groups_let_anything_happen_inside(seed):
    chance = random.Random(seed)
    world = World.product((0, 1), individuals=3)
    channel = random_channel(world, 2, chance, zeros=False)
    grouped = scenarios.groups([(0, 2)])
    verdict = verify(channel, Definition(pairs.values(), grouped, epsilon=1))
    others = [grouped.draw(world, chance) for _ in range(5)]
    assert worst_odds(channel, pairs.values(), others) <= verdict.odds
    assert worst_odds(channel, pairs.values(), [verdict.witness.prior]) == verdict.odds
    everybody = verify(channel, Definition(pairs.values(), scenarios.groups([(0, 1, 2)]), epsilon=1))
    assert everybody.odds == verify(channel, Definition(pairs.values(), scenarios.anything(), epsilon=1)).odds


def test_the_witness_moves_the_odds_by_what_is_said():
    world = World.product((0, 1), individuals=2, absent=True)
    channel = random_channel(world, 3, random.Random(5), zeros=False)
    for scenario in (scenarios.anything(), scenarios.independent(), scenarios.explicit([Prior.uniform(world)])):
        verdict = verify(channel, Definition(pairs.values(), scenario, epsilon=1))
        moved = verdict.witness.posterior_odds / verdict.witness.prior_odds
        assert verdict.odds in (moved, 1 / moved)
        assert "times as likely" in verdict.text


def test_directions_are_kept_apart_for_odds():
    channel = Channel([["1/2", "1/2"], ["1/10", "9/10"]], [(0,), (1,)], ["a", "b"])
    one, two = Secret.value(0, 0), Secret.value(0, 1)
    for pair, forward, backward in (((one, two), 5, Fraction(9, 5)), ((two, one), Fraction(9, 5), 5)):
        definition = Definition(pairs.explicit([pair]), scenarios.anything(), odds=("5/9", 5))
        verdict = verify(channel, definition)
        assert (verdict.forward, verdict.backward, verdict.holds) == (forward, backward, forward == 5)


def test_a_certain_output_is_an_infinite_loss():
    channel = Channel([[1, 0], [0, 1]], [(0,), (1,)], ["a", "b"])
    verdict = verify(channel, Definition(pairs.values(), scenarios.independent(), epsilon=100))
    assert verdict.odds == verdict.epsilon == verdict.upper == math.inf
    assert verdict.holds is False
    assert "infinite" in verdict.text


def test_impossible_secrets_are_skipped_and_said():
    world = World.product((0, 1, 2), individuals=1)
    channel = random_channel(world, 2, random.Random(0), zeros=False)
    prior = Prior.of({(0,): "1/2", (1,): "1/2"})
    verdict = verify(channel, Definition(pairs.values(), scenarios.explicit([prior]), epsilon=9))
    assert len(verdict.skipped) == 2
    assert "2 pairs were skipped" in verdict.text


def test_nothing_possible_is_no_loss():
    channel = Channel([[1], [1]], [(0,), (1,)], ["a"])
    sure = Prior.of({(0,): 1})
    verdict = verify(channel, Definition(pairs.values(), scenarios.explicit([sure]), epsilon=0))
    assert (verdict.odds, verdict.holds, len(verdict.skipped)) == (1, True, 1)
    assert verdict.lower == verdict.upper == 0


def test_overlapping_secrets_are_refused_with_a_dataset():
    channel = Channel([[1], [1]], [(0,), (1,)], ["a"])
    both = pairs.explicit([(Secret.one_of(0, {0, 1}), Secret.value(0, 1))])
    with pytest.raises(PolicyError, match=r"both true of the dataset \(1,\).*Fix"):
        verify(channel, Definition(both, scenarios.anything(), epsilon=1))


def test_a_world_without_pairs_protects_nothing_and_says_so():
    channel = Channel([[1], [1]], [(0,), (1,)], ["a"])
    with pytest.raises(PolicyError, match="nothing would be protected"):
        verify(channel, Definition(pairs.presence(), scenarios.anything(), epsilon=1))


def test_a_secret_about_nobody_here_is_refused():
    channel = Channel([[1], [1]], [(0,), (1,)], ["a"])
    elsewhere = pairs.explicit([(Secret.value(4, 0), Secret.value(4, 1))])
    with pytest.raises(PolicyError, match="not in this world"):
        verify(channel, Definition(elsewhere, scenarios.anything(), epsilon=1))


def test_independence_needs_every_combination():
    channel = Channel([[1], [1], [1]], [(0, 0), (0, 1), (1, 1)], ["a"])
    with pytest.raises(Refused, match="cannot be independent"):
        verify(channel, Definition(pairs.values(), scenarios.independent(), epsilon=1))


def test_a_prior_outside_the_world_is_refused():
    channel = Channel([[1], [1]], [(0,), (1,)], ["a"])
    with pytest.raises(PolicyError, match="no dataset of this world"):
        verify(channel, Definition(pairs.values(), scenarios.explicit([{(5,): 1}]), epsilon=1))


def test_tiny_probabilities_do_not_fool_the_floats():
    small = Fraction(1, 10**400)
    channel = Channel([[small, 1 - small], [3 * small, 1 - 3 * small]], [(0,), (1,)], ["a", "b"])
    uniform = scenarios.explicit([Prior.uniform(channel.world)])
    for scenario in (uniform, scenarios.anything()):
        assert verify(channel, Definition(pairs.values(), scenario, epsilon=1)).odds == 3


def test_absence_counts_as_a_value():
    channel = Channel([["1/3", "2/3"], ["2/3", "1/3"]], [(0,), (ABSENT,)], [0, 1])
    assert verify(channel, Definition(pairs.presence(), scenarios.independent(), epsilon=1)).odds == 2


@pytest.mark.parametrize("first", [True, False])
def test_what_floats_take_for_a_tie_is_decided_exactly(first):
    """Two outputs whose odds, 2 and a trillionth of a trillionth more, look the same to a float."""
    hair = Fraction(1, 10**24)
    columns = [(Fraction(1, 4), Fraction(1, 8)), (Fraction(1, 4) + hair, Fraction(1, 8))]
    columns = columns if first else columns[::-1]
    rows = [[a for a, _ in columns], [b for _, b in columns]]
    channel = Channel([[*row, 1 - sum(row)] for row in rows], [(0,), (1,)], "abc")
    uniform = scenarios.explicit([Prior.uniform(channel.world)])
    for scenario in (uniform, scenarios.anything()):
        assert verify(channel, Definition(pairs.values(), scenario, epsilon=1)).odds == 2 + 8 * hair
        definition = Definition(pairs.values(), scenario, odds=("1/3", 2))
        assert verify(channel, definition).holds is False


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_tiny_probabilities_in_any_order(order):
    small = Fraction(1, 10**200)
    sizes = [small, 3 * small, 21 * small]
    rows = [[sizes[n], 1 - sizes[n]] for n in order]
    channel = Channel(rows, [(0,), (1,), (2,)], ["a", "b"])
    for scenario in (scenarios.explicit([Prior.uniform(channel.world)]), scenarios.anything()):
        assert verify(channel, Definition(pairs.values(), scenario, epsilon=1)).odds == 21


def test_draws_from_one_law_need_a_world_of_such_draws() -> None:
    channel = random_channel(World.of([(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 0)]), 2, random.Random(0))
    with pytest.raises(Refused, match="cannot be independent"):
        verify(channel, Definition(pairs.values(), scenarios.iid(), epsilon=1))
    unlike = World.of([(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 2)])
    with pytest.raises(Refused, match="share no law"):
        verify(random_channel(unlike, 2, random.Random(0)), Definition(pairs.values(), scenarios.iid(), epsilon=1))


def test_what_a_search_found_is_no_proof_even_where_the_other_direction_is_infinite() -> None:
    """Odds may fall without bound; whether they rise by more than 8 is not known: neighbours rise by 10."""
    world = World.product((0, 1), individuals=3)
    rows = []
    for dataset in world.datasets:
        one = Fraction(1, 2) if dataset == (0, 0, 1) else Fraction(1, 20)
        other = Fraction(dataset[0], 20)
        rows.append([one, other, 1 - one - other])
    pair = pairs.explicit([(Secret.value(0, 0), Secret.value(0, 1))])
    verdict = verify(Channel(rows, world.datasets, [0, 1, 2]), Definition(pair, scenarios.iid(), odds=(0, 8)))
    assert verdict.holds is None
    assert verify(Channel(rows, world.datasets, [0, 1, 2]), Definition(pair, scenarios.iid(), odds=(0, 10))).holds


def test_what_is_no_definition_is_refused():
    channel = Channel([["1"], ["1"]], datasets=[(0,), (1,)], outputs=[0])
    with pytest.raises(QueryError, match="no definition"):
        verify(channel, "differential privacy")


# -- hockey stick ------------------------------------------------------------------------------------
# (epsilon, delta): the smallest delta equals the largest over all events, counted one by one.

WORLD = World.product((0, 1), individuals=2)


def largest(channel, priors, factor):
    """max P(B | s1) - factor P(B | s2) over pairs, directions, priors and every set of outputs B."""
    worst = Fraction(0)
    for prior, pair in itertools.product(priors, pairs.all_values().on(channel.world)):
        if not all(prior.probability(secret) for secret in pair):
            continue
        for one, other in (pair, pair[::-1]):
            for size in range(len(channel.outputs) + 1):
                for event in itertools.combinations(channel.outputs, size):
                    p = sum(likelihood(channel, prior, one, w) for w in event)
                    q = sum(likelihood(channel, prior, other, w) for w in event)
                    worst = max(worst, p - factor * q)
    return worst


@pytest.mark.parametrize("seed", range(4))
def test_delta_equals_the_largest_over_all_events(seed):
    chance = random.Random(seed)
    channel = random_channel(WORLD, 3, chance)
    prior = random_prior(WORLD, chance)
    definition = Definition(pairs.all_values(), scenarios.explicit([prior]), epsilon=0, delta="0.2")
    verdict = verify(channel, definition)
    assert verdict.delta == (largest(channel, [prior], 1),) * 2
    assert verdict.holds == (verdict.delta[1] <= definition.delta)
    half = Fraction(1, 2)
    priors = [
        Prior(((x, half), (y, half)))
        for x, y in itertools.combinations(WORLD.datasets, 2)
        if sum(a != b for a, b in zip(x, y, strict=True)) == 1
    ]
    independent = verify(channel, named.indistinguishability(epsilon=0, delta="0.2"))
    assert independent.delta == (largest(channel, priors, 1),) * 2
    enclosed = verify(channel, named.indistinguishability(epsilon=1, delta="0.2"))
    assert float(enclosed.delta[0]) == pytest.approx(float(largest(channel, priors, Fraction(math.e))), abs=1e-12)
    assert 0 <= enclosed.delta[1] - enclosed.delta[0] < 1e-30


def test_everything_with_probability_delta():
    """[MK15]: nothing with probability 1 - delta, and the whole dataset with probability delta."""
    delta = Fraction(1, 1000)
    channel = Channel.of(lambda d: {"nothing": 1 - delta, d: delta}, WORLD)
    assert verify(channel, named.indistinguishability(epsilon=0, delta=delta)).holds is True
    assert verify(channel, named.indistinguishability(epsilon=0, delta=delta / 2)).holds is False
    assert verify(channel, named.indistinguishability(epsilon=100)).odds == math.inf
    assert "Smallest delta" in verify(channel, named.indistinguishability(epsilon=1, delta=delta)).text


def test_a_bracket_of_attackers_gives_an_upper_bound_only():
    channel = random_channel(WORLD, 2, random.Random(0))
    verdict = verify(channel, Definition(pairs.all_values(), scenarios.iid(), epsilon=0, delta="1/1000"))
    assert verdict.delta[0] == 0
    assert verdict.holds is None


@pytest.mark.parametrize("seed", range(3))
def test_the_worst_of_many_neighbours_is_found(seed):
    """A secret that leaves several values: every two datasets of a class are compared."""
    world = World.product(range(4), individuals=2)
    channel = random_channel(world, 3, random.Random(seed))
    split = pairs.explicit([(Secret.one_of(0, {0, 1}), Secret.one_of(0, {2, 3}))])
    verdict = verify(channel, Definition(split, scenarios.independent(), epsilon=0, delta="0.1"))
    worst = Fraction(0)
    for x, y in itertools.permutations(world.datasets, 2):
        if x[1] == y[1] and (x[0] < 2) != (y[0] < 2):
            rows = zip(channel.matrix[world.index[x]], channel.matrix[world.index[y]], strict=True)
            worst = max(worst, sum((max(Fraction(0), a - b) for a, b in rows), Fraction(0)))
    assert verdict.delta == (worst, worst)
    one, other = (channel.matrix[world.index[d]] for d, _ in verdict.witness.prior.weights)
    assert sum(abs(a - b) for a, b in zip(one, other, strict=True)) == 2 * worst


def test_what_bounds_draws_from_one_law_is_not_presented_as_exact_or_as_an_attacker() -> None:
    world = World.product((0, 1), individuals=3)
    channel = random_channel(world, 2, random.Random(1))
    verdict = verify(channel, Definition(pairs.values(), scenarios.iid(), epsilon="0.1", delta="0.01"))
    assert not verdict.exact
    assert verdict.witness is None
    assert verdict.delta is not None
    assert verdict.delta[0] == 0 < verdict.delta[1]
    assert "at most" in verdict.text
    assert "an actual attacker" not in verdict.text


def test_impossible_pairs_are_told_with_delta_too() -> None:
    sure = Prior.of({(0, 0): "1/2", (0, 1): "1/2"})
    channel = random_channel(WORLD, 2, random.Random(2))
    verdict = verify(channel, Definition(pairs.all_values(), scenarios.explicit([sure]), epsilon=1, delta="0.1"))
    assert [pair.about for pair in verdict.skipped] == [frozenset({0})]
    assert "skipped" in verdict.text


# -- attacker search ---------------------------------------------------------------------------------
# Brackets: the lower end is an actual attacker, the upper end is never passed by any.

SEARCHED = World.product((0, 1), individuals=2)


@pytest.mark.parametrize("seed", range(3))
def test_iid_is_enclosed(seed):
    channel = random_channel(SEARCHED, 3, random.Random(seed), zeros=False)
    verdict = verify(channel, Definition(pairs.values(), scenarios.iid(), epsilon=1))
    laws = [{0: Fraction(n, 40), 1: 1 - Fraction(n, 40)} for n in range(1, 40)]
    everyone = [product_prior(SEARCHED, [law, law], "i.i.d.") for law in laws]
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
    channel = random_channel(SEARCHED, 3, random.Random(seed), zeros=False)
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
    channel = random_channel(SEARCHED, 3, random.Random(1), zeros=False)
    same = pairs.explicit([(Secret.agree(0, 1), ~Secret.agree(0, 1))])
    verdict = verify(channel, Definition(same, scenarios.independent(), epsilon=9))
    assert not verdict.exact
    assert verdict.holds is True  # the proved end decides
    laws = [{0: Fraction(n, 12), 1: 1 - Fraction(n, 12)} for n in range(1, 12)]
    everyone = [product_prior(SEARCHED, list(pair), "independent") for pair in itertools.product(laws, repeat=2)]
    assert log_below(worst_odds(channel, same, everyone)) <= verdict.lower + Fraction(1, 50)
    assert verdict.lower <= verdict.upper
    assert "an actual attacker" in verdict.text
    assert "proved" in verdict.text


def test_undecided_is_said():
    channel = random_channel(SEARCHED, 3, random.Random(1), zeros=False)
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

    channel = random_channel(SEARCHED, 2, random.Random(1))
    with pytest.raises(Refused, match="no method is known"):
        verify(channel, Definition(pairs.values(), Aliens(), epsilon=1))


def test_nothing_to_tell_apart():
    channel = random_channel(SEARCHED, 2, random.Random(1), zeros=False)
    never = pairs.explicit([(Secret.value(0, 7), Secret.value(0, 8))])
    assert verify(channel, Definition(never, scenarios.iid(), epsilon=1)).odds == 1
