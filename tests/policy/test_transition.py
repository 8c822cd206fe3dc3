"""Transition matrices: exact rows, and the law a chain settles in."""

from fractions import Fraction

import pytest

from tetraodon.errors import PolicyError
from tetraodon.policy.transition import is_ergodic, stationary, transition_matrix


def test_the_stationary_law_stays():
    matrix = transition_matrix([["0.5", "0.25", "0.25"], ["0.1", "0.8", "0.1"], [0, "0.5", "0.5"]])
    law = stationary(matrix)
    assert tuple(sum(law[x] * matrix[x][y] for x in range(3)) for y in range(3)) == law
    assert sum(law) == 1


def test_a_chain_that_never_mixes_has_no_one_law():
    with pytest.raises(PolicyError, match=r"more than one stationary.*Fix"):
        stationary(transition_matrix([[1, 0], [0, 1]]))
    assert stationary(transition_matrix([[0, 1], [1, 0]])) == (
        Fraction(1, 2),
        Fraction(1, 2),
    )  # periodic will do
    assert stationary(transition_matrix([[1, 0], ["1/2", "1/2"]])) == (1, 0)


def test_ergodic_chains_are_those_whose_powers_become_positive() -> None:
    for pattern in range(2**9):
        rows = [[pattern >> (3 * x + y) & 1 for y in range(3)] for x in range(3)]
        if not all(any(row) for row in rows):
            continue
        matrix = transition_matrix([[Fraction(n, sum(row)) for n in row] for row in rows])
        power = matrix
        for _ in range(12):  # beyond (3 - 1)^2 + 1
            power = tuple(
                tuple(sum((row[z] * matrix[z][y] for z in range(3)), Fraction(0)) for y in range(3)) for row in power
            )
        assert is_ergodic(matrix) == all(number > 0 for row in power for number in row)
