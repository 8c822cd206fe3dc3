"""The Wasserstein mechanism: the published example, distances against linear programs, verdicts in small worlds."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from tetraodon import pufferfish as pf
from tetraodon.errors import Refused
from tetraodon.pufferfish.wasserstein import coupled, wasserstein

COUNTS = [Fraction(n, 100) for n in (10, 15, 50, 15, 10)]
WORLD = pf.World.product((0, 1), individuals=4)


def clique() -> pf.scenarios.Scenario:
    """Four people of whom n are infected with the published probabilities, any n alike."""
    ways = [1, 4, 6, 4, 1]
    joint = {people: COUNTS[sum(people)] / ways[sum(people)] for people in WORLD.datasets}
    return pf.scenarios.groups([(0, 1, 2, 3)], joint, source="[SWC17] section 3")


def test_the_published_flu_example() -> None:
    """W = 2 where group differential privacy pays 4."""
    definition = pf.Definition(pf.pairs.values(), clique(), epsilon=1)
    mechanism, moved = wasserstein(sum, definition, WORLD)
    assert moved.distance == 2
    assert mechanism.scale == 2
    assert moved.pair is not None
    assert pf.verify(mechanism.on(WORLD), definition).holds
    anything = pf.Definition(pf.pairs.values(), pf.scenarios.groups([(0, 1, 2, 3)]), epsilon=1)
    paid = pf.verify(mechanism.on(WORLD), anything)
    assert paid.epsilon == 2  # noise of scale 2 would be worth epsilon 4 / 2 to whoever may believe anything


@pytest.mark.parametrize("epsilon", ["0.3", 1, 4])
def test_it_holds_for_every_finite_scenario(epsilon: object) -> None:
    world = pf.World.product((0, 1, 2), individuals=3)
    chain = pf.scenarios.chain(
        transition=[[["0.8", "0.1", "0.1"], ["0.2", "0.6", "0.2"], ["0.1", "0.3", "0.6"]], [["1/3"] * 3] * 3],
        source="a study",
    )
    definition = pf.Definition(pf.pairs.values(), chain, epsilon=epsilon)
    mechanism, moved = wasserstein(lambda rows: Fraction(sum(rows), 3), definition, world)
    assert mechanism.grid.step == Fraction(1, 3)
    assert 0 < moved.distance <= 2
    assert pf.verify(mechanism.on(world), definition).holds


def test_it_is_tight_where_the_laws_are_points() -> None:
    world = pf.World.of([(0,), (5,)])
    definition = pf.Definition(pf.pairs.values(), pf.scenarios.explicit([{(0,): "0.5", (5,): "0.5"}]), epsilon=1)
    mechanism, moved = wasserstein(sum, definition, world)
    assert moved.distance == 5
    below = pf.Definition(pf.pairs.values(), definition.scenarios, epsilon="0.99")
    assert pf.verify(mechanism.on(world), definition).holds
    assert not pf.verify(mechanism.on(world), below).holds


def test_pairs_that_nobody_thinks_possible_are_skipped() -> None:
    world = pf.World.of([(0,), (5,)])
    definition = pf.Definition(pf.pairs.values(), pf.scenarios.explicit([{(0,): 1}]), epsilon=1)
    mechanism, moved = wasserstein(sum, definition, world)
    assert (mechanism.steps, moved.pair, len(moved.skipped)) == (0, None, 1)


def test_infinitely_many_attackers_are_refused() -> None:
    with pytest.raises(Refused, match="infinitely many"):
        wasserstein(
            sum,
            pf.Definition(pf.pairs.values(), pf.scenarios.independent(), epsilon=1),
            WORLD,
        )
    with pytest.raises(Refused, match="epsilon alone"):
        wasserstein(sum, pf.Definition(pf.pairs.values(), clique(), odds=("0.5", 2)), WORLD)


def test_distances_are_those_of_the_best_coupling() -> None:
    rng = np.random.default_rng(7)
    for _ in range(30):
        masses = rng.integers(0, 5, (2, 5)) + np.array([[1, 0, 0, 0, 0], [0, 0, 0, 0, 1]])
        laws = [{Fraction(x): Fraction(int(m)) for x, m in enumerate(row) if m} for row in masses]
        found = coupled(*laws).farthest
        assert found == min(d for d in range(5) if coupling_within(masses, d))


def coupling_within(masses: np.ndarray, distance: int) -> bool:
    one, other = (row / row.sum() for row in masses)
    cells = [(x, y) for x, y in itertools.product(range(5), repeat=2) if abs(x - y) <= distance]
    rows = [[float(x == n) for x, _ in cells] for n in range(5)] + [[float(y == n) for _, y in cells] for n in range(5)]
    return linprog(np.zeros(len(cells)), A_eq=rows, b_eq=[*one, *other]).status == 0
