"""Inverses are inverses, exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tetraodon.errors import PolicyError, Refused
from tetraodon.views.perturbation import geometric, inverse_of

F = Fraction


def product(a: tuple[tuple[Fraction, ...], ...], b: tuple[tuple[Fraction, ...], ...]) -> list[list[Fraction]]:
    return [
        [sum((x * y for x, y in zip(row, column, strict=True)), F(0)) for column in zip(*b, strict=True)] for row in a
    ]


@pytest.mark.parametrize(
    "matrix",
    [
        geometric(F(2, 3), 7),
        geometric(F(1, 3), 1),
        geometric(F(1, 3), 2),
        tuple(tuple(F(1, 2) if x == w else F(1, 6) for w in range(4)) for x in range(4)),
        ((F(0), F(1), F(0)), (F(1), F(0), F(0)), (F(0), F(0), F(1))),
        ((F(1, 2), F(1, 2), F(0)), (F(0), F(1, 3), F(2, 3)), (F(1, 4), F(1, 4), F(1, 2))),
    ],
)
def test_it_undoes(matrix: tuple[tuple[Fraction, ...], ...]) -> None:
    size = len(matrix)
    assert all(sum(row) == 1 for row in matrix)
    assert product(matrix, inverse_of(matrix)) == [[F(int(x == w)) for w in range(size)] for x in range(size)]


def test_what_has_none() -> None:
    with pytest.raises(PolicyError, match="cannot be inverted"):
        inverse_of(((F(1, 2), F(1, 2)), (F(1, 2), F(1, 2))))
    with pytest.raises(Refused, match="too large"):
        inverse_of(tuple(tuple(F(1, 100) for _ in range(100)) for _ in range(100)))


def test_more_values_of_a_band_than_elimination_takes() -> None:
    assert inverse_of(geometric(F(9, 10), 100))[5][7] == 0
