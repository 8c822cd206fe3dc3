"""Gaussian noise by couplings: divergences against integrals over the mixtures, verdicts in small worlds."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.pufferfish.test_wasserstein import WORLD, clique

from tetraodon import pufferfish as pf
from tetraodon.errors import NoiseError, Refused
from tetraodon.pufferfish.least_noise import GaussianAnswer, gaussian_wasserstein, renyi_together

DELTA = Fraction(1, 10**5)
TWO = pf.World.of([(0,), (3,)])
POINTS = pf.scenarios.explicit([{(0,): "0.5", (3,): "0.5"}])


def chain(stays: str) -> Any:
    moves = str(1 - Fraction(stays))
    return pf.scenarios.chain(transition=[[stays, moves], [moves, stays]], source="a study")


def divergence(one: dict[int, float], other: dict[int, float], sigma: float, order: float) -> float:
    """Of two mixtures of normal laws, by adding up densities on a fine grid."""
    grid = np.linspace(-40 * sigma, 40 * sigma, 40_001)
    densities = [
        sum(m * np.exp(-((grid - x) ** 2) / (2 * sigma**2)) for x, m in law.items()) / sum(law.values())
        for law in (one, other)
    ]
    logs = [np.log(np.maximum(each, 1e-300)) for each in densities]
    powers = np.exp(order * logs[0] + (1 - order) * logs[1]) * (densities[0] > 1e-290) * (densities[1] > 1e-290)
    return math.log(powers.sum() * (grid[1] - grid[0]) / math.sqrt(2 * math.pi * sigma**2)) / (order - 1)


@pytest.mark.parametrize("order", ["1.2", 2, 8])
@pytest.mark.parametrize("scenario", [clique(), chain("0.8")])
def test_a_divergence_is_bounded_by_what_mass_travels(scenario: Any, order: Any) -> None:
    definition = pf.Definition(pf.pairs.values(), scenario, epsilon="0.1")
    found = gaussian_wasserstein(sum, definition, WORLD, order=order)
    assert Fraction("0.0998") < found.renyi(order) <= Fraction("0.1")
    assert found.renyi(order) <= found.rho * Fraction(order)
    [prior] = scenario.priors(WORLD)
    worst = 0.0
    for person in range(4):
        laws: list[dict[int, float]] = [{}, {}]
        for people, weight in prior.weights:
            law = laws[people[person]]
            law[sum(people)] = law.get(sum(people), 0.0) + float(weight)
        for a, b in (laws, laws[::-1]):
            worst = max(worst, divergence(a, b, float(found.sigma), float(Fraction(order))))
    assert 0 < worst <= float(found.renyi(order)) + 1e-9


@pytest.mark.parametrize("epsilon", ["0.3", 3])
@pytest.mark.parametrize("scenario", [clique(), chain("0.9")])
def test_the_noise_is_accepted_and_less_than_for_the_farthest_mass(scenario: Any, epsilon: Any) -> None:
    definition = pf.Definition(pf.pairs.values(), scenario, epsilon=epsilon, delta=DELTA)
    found = gaussian_wasserstein(sum, definition, WORLD)
    assert pf.verify(found.on(WORLD), definition).holds
    apart = pf.World.of([(0,), (int(found.farthest),)])
    prior = pf.scenarios.explicit([{(0,): "0.5", (int(found.farthest),): "0.5"}])
    plain = gaussian_wasserstein(sum, pf.Definition(pf.pairs.values(), prior, epsilon=epsilon, delta=DELTA), apart)
    assert found.sigma <= plain.sigma * Fraction(2001, 2000)


def test_between_points_nothing_is_given_away() -> None:
    """One dataset under each secret: divergence and delta are those of two normal laws."""
    definition = pf.Definition(pf.pairs.values(), POINTS, epsilon=1, delta=DELTA)
    found = gaussian_wasserstein(sum, definition, TWO)
    assert found.farthest == 3
    assert found.renyi(2) == 2 * found.rho == 9 / found.sigma**2
    assert pf.verify(found.on(TWO), definition).holds
    assert pf.verify(pf.Additive(sum, pf.Gaussian(found.sigma * Fraction(998, 1000)), TWO), definition).holds is False


def test_divergences_add_up_where_every_secret_leaves_one_dataset() -> None:
    definition = pf.Definition(pf.pairs.values(), POINTS, epsilon=1, delta=DELTA)
    found = gaussian_wasserstein(sum, definition, TWO)
    together = renyi_together([found, found], delta=DELTA)
    joint = found.on(TWO).with_(found.on(TWO))
    level = pf.Definition(pf.pairs.values(), pf.scenarios.anything(), epsilon=together, delta=DELTA)
    assert pf.verify(joint, level).holds
    below = pf.Definition(pf.pairs.values(), pf.scenarios.anything(), epsilon=together * Fraction(9, 10), delta=DELTA)
    assert pf.verify(joint, below).holds is False
    assert 1 < together < 2


def test_what_is_not_known_is_refused() -> None:
    definition = pf.Definition(pf.pairs.values(), clique(), epsilon=1, delta=DELTA)
    found = gaussian_wasserstein(sum, definition, WORLD)
    with pytest.raises(Refused, match="not known to add up"):
        renyi_together([found, found], delta=DELTA)
    other = gaussian_wasserstein(sum, pf.Definition(pf.pairs.values(), POINTS, epsilon=1, delta=DELTA), TWO)
    with pytest.raises(Refused, match="different definitions"):
        renyi_together([other, found], delta=DELTA)
    with pytest.raises(Refused, match="infinitely many attackers"):
        gaussian_wasserstein(sum, definition.against(pf.scenarios.independent()), WORLD)
    with pytest.raises(Refused, match="or a divergence of an order"):
        gaussian_wasserstein(sum, definition, WORLD, order=2)
    pure = pf.Definition(pf.pairs.values(), clique(), epsilon=1)
    with pytest.raises(Refused, match="or a divergence of an order"):
        gaussian_wasserstein(sum, pure, WORLD)
    with pytest.raises(Refused, match="of an order above 1"):
        gaussian_wasserstein(sum, pure, WORLD, order=1)


def test_what_no_secret_moves_needs_no_noise() -> None:
    definition = pf.Definition(pf.pairs.values(), clique(), epsilon=1, delta=DELTA)
    found = gaussian_wasserstein(len, definition, WORLD)
    assert isinstance(found, GaussianAnswer)
    assert (found.sigma, found.rho, found.renyi(2)) == (0, 0, 0)
    with pytest.raises(NoiseError, match="no noise to verify"):
        found.on(WORLD)
