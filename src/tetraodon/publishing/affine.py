"""The general form of publishing, y = A x + b: a matrix moves records, and a vector of noise is added ([RS07] 4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tetraodon.errors import PolicyError
from tetraodon.publishing.channel import ViewChannel


@dataclass(frozen=True, slots=True)
class Affine:
    """`matrix[p][q]` is the chance that a record q shows up as tuple p; `added[p]` the noise tuples expected at p.

    >>> from tetraodon.publishing.channel import SetChannel
    >>> form = affine_of(SetChannel(Fraction(1, 2), Fraction(1, 10)), 3)
    >>> form.ratio, form.condition
    (Fraction(6, 1), 1.0)
    """

    matrix: tuple[tuple[Fraction, ...], ...]
    added: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        size = len(self.matrix)
        if not size or any(len(row) != size for row in self.matrix) or len(self.added) != size:
            raise PolicyError("a perturbation is not a square matrix with a noise for each row", fix="check its shape")
        if any(entry < 0 for row in self.matrix for entry in row) or any(entry < 0 for entry in self.added):
            raise PolicyError("a perturbation has a negative probability", fix="use numbers from 0 to 1")
        if any(sum(row[q] for row in self.matrix) > 1 for q in range(size)):
            raise PolicyError("a column of a perturbation adds up to more than 1", fix="scale the column")

    @property
    def ratio(self) -> Fraction | None:
        """The largest ratio of two entries of a row, noise included; None where it is infinite.

        With local perturbation (no noise) it bounds what one published record tells about one person.
        """
        worst = Fraction(1)
        for row, noise in zip(self.matrix, self.added, strict=True):
            low, high = min(row) + noise, max(row) + noise
            if low == 0 and high > 0:
                return None
            if high > 0:
                worst = max(worst, high / low)
        return worst

    @property
    def condition(self) -> float:
        """The condition number of the matrix: by how much errors in y can grow in x."""
        return float(np.linalg.cond(self._floats()))

    def expected(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """A x + b."""
        return np.asarray(self._floats() @ counts + np.array(self.added, float))

    def reconstruct(self, shown: NDArray[np.float64]) -> NDArray[np.float64]:
        """The x that is expected to give what was shown: A^-1 (y - b), without bias."""
        try:
            return np.linalg.solve(self._floats(), shown - np.array(self.added, float))
        except np.linalg.LinAlgError:
            raise PolicyError(
                "the matrix cannot be inverted, so nothing can be reconstructed", fix="use another matrix"
            ) from None

    def _floats(self) -> NDArray[np.float64]:
        return np.array([[float(entry) for entry in row] for row in self.matrix])


def affine_of(channel: ViewChannel, size: int) -> Affine:
    """A view's channel as such a point: A = keep times the identity, b = the noise of every tuple."""
    rows = tuple(tuple(channel.keep if p == q else Fraction(0) for q in range(size)) for p in range(size))
    return Affine(rows, (channel.added_per_tuple,) * size)
