"""The best simulator, beside linear programmes that look for one at a factor."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from tetraodon import pufferfish as pf
from tetraodon.errors import Refused


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
