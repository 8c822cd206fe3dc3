"""Where given shares of the records end: values chosen by their ranks, in place of noisy counts.

This is no linear query. What is measured are codes, drawn with chances that fall with how far their ranks are from
those that were asked for (`noise/joint_exponential.py`), and what that costs is at most what two linear queries cost
(`certificate/nonlinear_loss.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Ints
from tetraodon.query.number import NotLinear

MOST_SHARES = 64
"""With more of them than this, running counts tell more; and the chances take long to work out."""


@dataclass(frozen=True)
class Ranks(NotLinear):
    """The codes of an ordered attribute below which given shares of the records lie, the shares rising.

    >>> Ranks("age", 74, (Fraction(1, 10), Fraction(1, 2))).gaps
    (Fraction(1, 10), Fraction(2, 5), Fraction(1, 2))
    """

    name: str
    size: int
    shares: tuple[Fraction, ...]
    unit: Fraction = Fraction(1)

    refusal: ClassVar = (QueryError, "values chosen by rank are no sums over records", "certify what dominates them")

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in pairwise(self.shares))
        inside = all(0 <= share <= 1 for share in self.shares)
        if not 1 <= len(self.shares) <= MOST_SHARES or not rising or not inside or self.size < 1:
            raise QueryError("shares are not rising from 0 to 1", fix=f"give up to {MOST_SHARES}, the smallest first")

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def rows(self) -> int:
        return len(self.shares)

    @property
    def gaps(self) -> tuple[Fraction, ...]:
        """What part of the records should lie before the first value, between neighbours, and after the last."""
        ends = (Fraction(0), *self.shares, Fraction(1))
        return tuple(b - a for a, b in pairwise(ends))

    def told(self, codes: Ints) -> bool:
        """Whether these could have been chosen, for one cell after another: codes of the attribute, rising."""
        lines = codes.reshape(-1, self.rows)
        return bool(((lines >= 0) & (lines < self.size)).all() and (np.diff(lines, axis=1) >= 0).all())

    def truth(self, occupied: NDArray[Any]) -> Ints:
        """The quantiles themselves, for each cell: the least code that so many do not exceed, and at least one.

        Pre   `occupied` has for each cell rows of a code and how many have it, rising.
        """
        found = []
        for line in occupied.ravel():
            upto = np.cumsum(line[:, 1])
            ranks = [max(1, math.ceil(share * int(upto[-1]))) for share in self.shares] if len(upto) else []
            found.append(line[np.searchsorted(upto, ranks), 0] if ranks else np.zeros(self.rows, np.int64))
        return np.array(found, np.int64).reshape(*occupied.shape, self.rows)
