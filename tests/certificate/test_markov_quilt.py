"""The quilt against enumeration: influences from whole paths, losses from every output of tiny chains."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tetraodon import pufferfish as pf
from tetraodon.certificate.correlated_records import (
    QuiltBounds,
    approximate_influences,
    exact_influences,
    quilt_budget,
    quilt_loss,
    spread,
    stationary_float,
)
from tetraodon.errors import Refused
from tetraodon.policy.attackers import Chain, Matrix, Vector, stationary, transition_matrix
from tetraodon.pufferfish import Additive, DiscreteLaplace

TWO = transition_matrix([["0.9", "0.1"], ["0.4", "0.6"]])
THREE = transition_matrix([["0.5", "0.3", "0.2"], ["0.2", "0.7", "0.1"], ["0.3", "0.3", "0.4"]])
CHAINS = {
    "two": Chain("t", (TWO,), (), "a study"),
    "three": Chain("t", (THREE,), (), "a study"),
    "started": Chain("t", (THREE,), ((Fraction(1), Fraction(0), Fraction(0)),), "a study", 6),
    "several": Chain("t", (TWO, transition_matrix([["0.7", "0.3"], ["0.3", "0.7"]])), (), "a study"),
}
LENGTH = 6


def everything(chain: Chain) -> np.ndarray:
    return ~np.eye(chain.states, dtype=np.bool_)


def paths(matrix: Matrix, start: Vector, length: int) -> dict[tuple[int, ...], Fraction]:
    found = {}
    for path in itertools.product(range(len(matrix)), repeat=length):
        weight = start[path[0]]
        for here, there in itertools.pairwise(path):
            weight *= matrix[here][there]
        found[path] = weight
    return found


def influence(chain: Chain, quilt: list[int], row: int) -> float:
    """The largest log ratio of the quilt's law given two values of a row, over whole paths."""
    worst = -math.inf
    for matrix in chain.transitions:
        for start in chain.starts or (stationary(matrix),):
            laws: list[dict[tuple[int, ...], Fraction]] = [{} for _ in matrix]
            for path, weight in paths(matrix, start, LENGTH).items():
                key = tuple(path[q] for q in quilt)
                laws[path[row]][key] = laws[path[row]].get(key, Fraction(0)) + weight
            totals = [sum(law.values()) for law in laws]
            for x, y in itertools.permutations(range(len(matrix)), 2):
                if totals[x] and totals[y]:
                    for key, mass in laws[x].items():
                        other = laws[y][key] / totals[y]
                        if mass:
                            worst = max(worst, math.log(mass / totals[x] / other) if other else math.inf)
    return worst


@pytest.mark.parametrize("name", CHAINS)
def test_influences_are_those_of_whole_paths(name: str) -> None:
    chain = CHAINS[name]
    found = exact_influences(chain, everything(chain), 3)
    for rows in (1, 2, 3):
        splits = []
        for a in range(1, rows + 1):
            b = rows + 1 - a
            each = [
                influence(chain, [q for q in (row - a, row + b) if 0 <= q < LENGTH], row)
                for row in range(LENGTH)
                if row - a >= 0 or row + b < LENGTH
            ]
            splits.append(max(each))
        least = min(splits)
        assert found[rows - 1] >= least
        if not chain.starts:  # with a stated start all rows share one bound
            assert math.isclose(found[rows - 1], least, rel_tol=1e-9)


@pytest.mark.parametrize("name", ["two", "three", "started", "several"])
def test_the_approximate_quilt_is_never_below_the_exact_one(name: str) -> None:
    chain = CHAINS[name]
    exact, rough = exact_influences(chain, everything(chain), 40), approximate_influences(chain, 40)
    assert (rough >= exact - 1e-9).all()
    assert np.isfinite(rough[-1])


def test_a_chain_that_does_not_mix_at_every_step_is_refused_for_the_approximate_quilt() -> None:
    cycle = transition_matrix([[0, 1, 0], [0, 0, 1], ["0.5", "0.5", 0]])
    with pytest.raises(Refused, match="does not mix"):
        approximate_influences(Chain("t", (cycle,), (), "a study"), 10)


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("epsilon", ["0.5", "1", "3"])
def test_the_noise_keeps_its_promise_on_every_output(name: str, epsilon: str) -> None:
    chain = CHAINS[name]
    budget = Fraction(epsilon)
    each = quilt_budget(chain, everything(chain), budget)
    assert quilt_loss(chain, everything(chain), each) <= budget
    length = chain.length or 5
    world = pf.World.product(range(chain.states), individuals=min(length, 5))
    count = Additive(lambda rows: sum(row == 0 for row in rows), DiscreteLaplace(1 / each), world)
    scenario = pf.scenarios.chain(
        transition=list(chain.transitions), start=list(chain.starts) or "stationary", source="a study"
    )
    verdict = pf.verify(count, pf.Definition(pf.pairs.values(), scenario, epsilon=budget))
    assert verdict.holds


def test_a_stated_start_covers_moments_long_after_it() -> None:
    """Rows may be missing before and between those of the table, so that few rows do not mean early moments."""
    slow = transition_matrix([["0.999", "0.001"], ["0.03", "0.97"]])
    chain = Chain("t", (slow,), ((Fraction(17, 20), Fraction(3, 20)),), "a study", 8)
    found = exact_influences(chain, everything(chain), 16)
    step = np.array([[0.999, 0.001], [0.03, 0.97]])
    for moment in (1, 7, 100, 9000, 10**6):
        law = np.array([0.85, 0.15]) @ np.linalg.matrix_power(step, moment)
        left = [step[z, 1] / step[z, 0] * law[0] / law[1] for z in (0, 1)]
        right = [step[1, z] / step[0, z] for z in (0, 1)]
        assert found[0] >= math.log(max(left) * max(right)) - 1e-9


def test_knowing_the_number_of_rows_bounds_the_price() -> None:
    slow = transition_matrix([["0.999", "0.001"], ["0.001", "0.999"]])
    short = Chain("t", (slow,), (), "a study", 4)
    assert quilt_budget(short, everything(short), Fraction(1)) == Fraction(1, 4)
    assert quilt_loss(short, everything(short), Fraction(1)) == 4


def test_a_chain_that_forgets_too_slowly_is_refused() -> None:
    slow = Chain("t", (transition_matrix([["0.99999", "0.00001"], ["0.00001", "0.99999"]]),), (), "a study")
    with pytest.raises(Refused, match="too slowly"):
        quilt_budget(slow, everything(slow), Fraction(1, 10))


def test_losses_grow_by_less_than_in_proportion() -> None:
    chain = CHAINS["three"]
    for one, two in itertools.product([Fraction(n, 20) for n in range(1, 12)], repeat=2):
        both = quilt_loss(chain, everything(chain), one + two)
        assert both <= quilt_loss(chain, everything(chain), one) + quilt_loss(chain, everything(chain), two)


def test_secrets_that_are_fewer_cost_less() -> None:
    chain = CHAINS["three"]
    one = np.zeros((3, 3), np.bool_)
    one[0, 1] = one[1, 0] = True
    assert quilt_budget(chain, one, Fraction(1)) > quilt_budget(chain, everything(chain), Fraction(1))


@pytest.mark.parametrize("matrix", [TWO, THREE])
def test_the_distribution_a_chain_settles_in(matrix: Matrix) -> None:
    assert stationary_float(matrix) == pytest.approx([float(p) for p in stationary(matrix)], rel=1e-14)


def test_chains_of_many_states_are_bounded_by_how_fast_they_mix() -> None:
    size = 130
    rows = [[Fraction(2, size + 1) if x == y else Fraction(1, size + 1) for y in range(size)] for x in range(size)]
    chain = Chain("t", (transition_matrix(rows),), (), "a study")
    each = quilt_budget(chain, everything(chain), Fraction(1))
    assert Fraction(1, 10) < each < 1
    assert quilt_loss(chain, everything(chain), each) <= 1


def test_a_spread_without_options_bounds_nothing() -> None:
    assert QuiltBounds(()).loss(Fraction(1)) == math.inf
    assert QuiltBounds(()).each(Fraction(1)) == 0
    chain = CHAINS["two"]
    options = spread(chain, everything(chain).tobytes(), 16).options
    assert [rows for _, rows in options] == sorted({rows for _, rows in options})
    assert all(one[0] > two[0] for one, two in itertools.pairwise(options))
