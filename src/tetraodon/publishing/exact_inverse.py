"""Inverses of matrices of fractions, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tetraodon.components import components
from tetraodon.errors import PolicyError, Refused
from tetraodon.rational import row_reduced

LARGEST = 80
Matrix = tuple[tuple[Fraction, ...], ...]


def inverse_of(matrix: Sequence[Sequence[Fraction]]) -> Matrix:
    """The inverse, by elimination with the parts that do not mix taken one by one.

    >>> inverse_of([[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]])[0]
    (Fraction(3, 2), Fraction(-1, 2))
    """
    size = len(matrix)
    fall = fall_of(matrix)
    if fall is not None:
        return inverse_of_band(fall, size)
    found = [[Fraction(0)] * size for _ in range(size)]
    for part in _parts(matrix):
        if len(part) > LARGEST:
            raise Refused("the matrix is too large to invert exactly", fix="use a usual matrix, or coarser values")
        inner = _eliminated([[matrix[x][w] for w in part] for x in part])
        for a, x in enumerate(part):
            for b, w in enumerate(part):
                found[x][w] = inner[a][b]
    return tuple(tuple(row) for row in found)


def geometric(fall: Fraction, size: int) -> Matrix:
    """The geometric law around each value, clamped at both ends: what lies beyond an end is shown as that end.

    >>> geometric(Fraction(1, 2), 3)[0]
    (Fraction(2, 3), Fraction(1, 6), Fraction(1, 6))
    """
    if size == 1:
        return ((Fraction(1),),)
    powers = [fall**steps for steps in range(size)]
    inner, outer = (1 - fall) / (1 + fall), 1 / (1 + fall)
    ends = (0, size - 1)
    return tuple(tuple(powers[abs(w - x)] * (outer if w in ends else inner) for w in range(size)) for x in range(size))


def fall_of(matrix: Sequence[Sequence[Fraction]]) -> Fraction | None:
    """How much less likely each further step is, if a matrix is the clamped geometric law; None if it is not."""
    size = len(matrix)
    if size < 2 or not matrix[0][0]:
        return None
    fall = matrix[1][0] / matrix[0][0]
    same = fall < 1 and all(tuple(a) == b for a, b in zip(matrix, geometric(fall, size), strict=True))
    return fall if same else None


def inverse_of_band(fall: Fraction, size: int) -> Matrix:
    """The inverse of the clamped geometric law, which has three diagonals."""
    if size == 1:
        return ((Fraction(1),),)
    inner, outer = (1 - fall) / (1 + fall), 1 / (1 + fall)
    rows = []
    for w in range(size):
        scale = (outer if w in (0, size - 1) else inner) * (1 - fall**2)
        middle = 1 if w in (0, size - 1) else 1 + fall**2
        rows.append(
            tuple(middle / scale if x == w else -fall / scale if abs(x - w) == 1 else Fraction(0) for x in range(size))
        )
    return tuple(rows)


def _parts(matrix: Sequence[Sequence[Fraction]]) -> list[list[int]]:
    """Rows and columns that are tied together by entries above zero."""
    tied = ((x, w) for x, row in enumerate(matrix) for w, entry in enumerate(row) if entry)
    parts: dict[int, list[int]] = {}
    for x, part in enumerate(components(len(matrix), tied)):
        parts.setdefault(part, []).append(x)
    return list(parts.values())


def _eliminated(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    size = len(matrix)
    rows = [[*row, *(Fraction(int(n == k)) for k in range(size))] for n, row in enumerate(matrix)]
    reduced, leading = row_reduced(rows, size)
    if len(leading) < size:
        raise PolicyError(
            "the matrix cannot be inverted, so counts cannot be told from it", fix="use another matrix or loss"
        )
    return [row[size:] for row in reduced]
