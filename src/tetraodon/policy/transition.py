"""Transition matrices in exact numbers, and the distribution a chain settles in."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from tetraodon.errors import PolicyError
from tetraodon.rational import Number, decimal_text, probabilities, row_reduced

Vector: TypeAlias = tuple[Fraction, ...]
Matrix: TypeAlias = tuple[Vector, ...]


def distribution(numbers: Sequence[Number], *, name: str) -> Vector:
    """Exact probabilities that sum to one, or a refusal that says what they sum to."""
    exact = probabilities(numbers, name=f"a probability of {name}")
    if any(number < 0 for number in exact):
        raise PolicyError(f"a probability of {name} is negative", fix="write probabilities of at least zero")
    if sum(exact) != 1:
        total = decimal_text(sum(exact, Fraction(0)))
        raise PolicyError(
            f"the probabilities of {name} sum to {total}, not to 1", fix="write exact fractions such as 1/3"
        )
    return exact


def transition_matrix(rows: Sequence[Sequence[Number]]) -> Matrix:
    """A square matrix whose rows are distributions: row x, column y is P(next = y | now = x)."""
    matrix = tuple(distribution(row, name=f"row {n} of the transition matrix") for n, row in enumerate(rows))
    if not matrix or any(len(row) != len(matrix) for row in matrix):
        raise PolicyError("a transition matrix is not square", fix="give one row and one column for each state")
    return matrix


def stationary(matrix: Matrix) -> Vector:
    """The one distribution that the chain keeps, exactly. Refuses a chain that keeps several.

    >>> stationary(transition_matrix([["0.9", "0.1"], ["0.4", "0.6"]]))
    (Fraction(4, 5), Fraction(1, 5))
    """
    size = len(matrix)
    rows = [[matrix[x][y] - (x == y) for x in range(size)] + [Fraction(0)] for y in range(size)]
    rows.append([Fraction(1)] * size + [Fraction(1)])
    reduced, leading = row_reduced(rows, size)
    if len(leading) < size:
        raise PolicyError(
            "the chain has more than one stationary distribution: some states never reach others",
            fix="give the start as a list of probabilities, or add the transitions that are missing",
        )
    return tuple(reduced[n][size] for n in range(size))


def is_ergodic(matrix: Matrix) -> bool:
    """Whether the chain forgets where it was: after some number of steps every state is possible from every state.

    Why   a matrix of n states whose powers ever become positive has done so by the power (n - 1)^2 + 1 (Wielandt), and
          a positive matrix stays positive.

    >>> is_ergodic(transition_matrix([["0.9", "0.1"], ["0.4", "0.6"]])), is_ergodic(transition_matrix([[0, 1], [1, 0]]))
    (True, False)
    """
    possible = np.array([[number > 0 for number in row] for row in matrix])
    power = 1
    while power < (len(matrix) - 1) ** 2 + 1:
        possible = (possible.astype(np.int64) @ possible.astype(np.int64)) > 0
        power *= 2
    return bool(possible.all())
