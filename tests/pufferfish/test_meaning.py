"""What an epsilon means, in numbers that can be looked up."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from tetraodon import pufferfish as pf
from tetraodon.errors import PolicyError, Refused
from tetraodon.pufferfish import (
    Additive,
    Channel,
    Definition,
    Laplace,
    Prior,
    World,
    choose_epsilon,
    if_the_scenario_is_wrong,
    meaning,
    named,
    pairs,
    posterior,
    readings,
    scenarios,
    verify,
)

WORLD = World.product((0, 1), individuals=2)


def test_even_odds_at_a_tenth():
    assert posterior("0.5", "0.1") == pytest.approx(math.exp(0.1) / (1 + math.exp(0.1)))
    assert round(posterior("0.5", "0.1"), 3) == 0.525


def test_the_chosen_epsilon_is_the_largest_that_serves():
    for prior, after in (("0.1", "0.2"), ("1e-3", "1/2"), ("0.5", "0.525")):
        epsilon = choose_epsilon(prior=prior, posterior=after)
        assert posterior(prior, epsilon) <= float(Fraction(after)) + 1e-15
        assert posterior(prior, epsilon + Fraction(1, 10**9)) > float(Fraction(after))


def test_a_verdict_in_words_numbers_and_a_picture():
    coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]], [(0,), (1,)], [0, 1])
    said = meaning(verify(coin, named.indistinguishability(epsilon=2)), priors=("0.5", "0.1"))
    assert "even odds become at most 75.0%" in said.sentence
    assert (said.table[0].at_least, said.table[0].at_most) == pytest.approx((0.25, 0.75))
    assert said.table[1].at_most == pytest.approx(0.25)
    assert said.text.splitlines()[1:3] == [" before  at least  at most", "  50.0%     25.0%    75.0%"]
    assert said.plot["data"]["values"][0]["before"] == 0.5
    certain = Channel([[1, 0], [0, 1]], [(0,), (1,)], [0, 1])
    assert "certain" in meaning(verify(certain, named.indistinguishability(epsilon=2))).sentence


def test_both_readings_name_the_bound():
    counterfactual, simulation = readings(named.indistinguishability(epsilon=1))
    assert "2.718" in counterfactual
    assert "2.718" in simulation


def test_loss_grows_as_the_correlation_does():
    """Two records equal with probability (1 + c) / 2: from one record's loss at c = 0 to two records' at c = 1."""

    def correlated(c):
        same, other = (1 + c) / 4, (1 - c) / 4
        return scenarios.explicit([Prior.of({(0, 0): same, (1, 1): same, (0, 1): other, (1, 0): other})])

    steps = [Fraction(n, 4) for n in range(5)]
    definition = Definition(pairs.values(), scenarios.independent(), epsilon=1)
    found = if_the_scenario_is_wrong(Additive(sum, Laplace(1), WORLD), definition, correlated, steps)
    losses = [verdict.epsilon for _, verdict in found]
    assert losses == sorted(losses)
    assert losses[0] == pytest.approx(1)
    assert losses[-1] == pytest.approx(2)
    assert [verdict.holds for _, verdict in found] == [True, False, False, False, False]


def test_bad_input():
    with pytest.raises(Refused, match="delta forgives"):
        meaning(verify(Channel([[1], [1]], [(0,), (1,)], [0]), named.indistinguishability(epsilon=1, delta="0.1")))
    with pytest.raises(PolicyError, match="not above the prior"):
        choose_epsilon(prior="0.5", posterior="0.5")
    with pytest.raises(PolicyError, match="between 0 and 1"):
        posterior(1, 1)


# -- simulation --------------------------------------------------------------------------------------
# The best simulator, beside linear programmes that look for one at a factor.


def possible(p: list[float], q: list[float], factor: float) -> bool:
    """Whether some chances are within a factor of both, by a linear programme."""
    bounds = [(max(a, b) / factor, min(a, b) * factor) for a, b in zip(p, q, strict=True)]
    if any(low > high for low, high in bounds):
        return False
    return linprog(np.zeros(len(p)), A_eq=np.ones((1, len(p))), b_eq=[1], bounds=bounds).status == 0


def test_it_is_the_least_factor_that_a_linear_programme_allows() -> None:
    chance = random.Random(2)
    for _ in range(40):
        rows = [[chance.randrange(1, 60) for _ in range(chance.randrange(2, 5))] for _ in range(1)]
        rows.append([chance.randrange(1, 60) for _ in rows[0]])
        exact = [[Fraction(n, sum(row)) for n in row] for row in rows]
        channel = pf.Channel(exact, [(0,), (1,)], range(len(rows[0])))
        found = pf.simulation(channel, pf.named.indistinguishability(epsilon=1))
        p, q = ([float(n) for n in row] for row in exact)
        assert possible(p, q, found.factor * (1 + 1e-7))
        assert not possible(p, q, found.factor * (1 - 1e-6)) or found.factor == 1
        made = [chance for _, chance in found.outputs]
        assert sum(made) == pytest.approx(1)
        for side in (p, q):
            assert max(max(a / b, b / a) for a, b in zip(side, made, strict=True)) <= found.factor * (1 + 1e-9)


def test_it_lies_between_the_root_of_the_odds_and_the_odds() -> None:
    world = pf.World.product((0, 1, 2), individuals=2)
    rows = {total: [Fraction(1 + (out == total), 6) for out in range(5)] for total in range(5)}
    channel = pf.Channel([rows[sum(d)] for d in world.datasets], world.datasets, range(5))
    definition = pf.named.indistinguishability(epsilon="0.7")
    found, verdict = pf.simulation(channel, definition), pf.verify(channel, definition)
    assert math.sqrt(verdict.odds) <= found.factor <= verdict.odds
    assert found.holds
    assert "hardest where" in found.text


def test_refusals_and_nothing_to_simulate() -> None:
    still = pf.Channel([[1], [1]], [(0,), (1,)], (0,))
    level = pf.named.indistinguishability(epsilon=1)
    assert pf.simulation(still, level).text.startswith("No record")
    open_ = pf.Channel([[1, 0], [0, 1]], [(0,), (1,)], (0, 1))
    with pytest.raises(Refused, match="for certain"):
        pf.simulation(open_, level)
    listed = level.against(pf.scenarios.explicit([{(0,): "1/2", (1,): "1/2"}]))
    with pytest.raises(Refused, match="do not compare neighbours"):
        pf.simulation(still, listed)
    with pytest.raises(Refused, match="epsilon alone"):
        pf.simulation(still, pf.Definition(level.pairs, level.scenarios, odds=("1/2", 2)))
