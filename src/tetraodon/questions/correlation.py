"""`correlation`: how closely two numeric attributes follow a line, from -1 to 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tetraodon.arrays import Floats
from tetraodon.questions.covariance import Covariance, two_of
from tetraodon.questions.moments import Between, Moments, Pair
from tetraodon.questions.query import BY, Key, names_of


@dataclass(frozen=True, slots=True)
class Correlation(Covariance):
    """The covariance of two attributes, in multiples of the product of their standard deviations."""

    words: ClassVar = ("correlation",)
    keys: ClassVar = {"correlation": Key("names", ()), "by": BY}
    column: ClassVar = "correlation"

    @property
    def pairs(self) -> tuple[Pair, ...]:
        x, y = self.attributes
        return (x, y), (x, x), (y, y)

    def found(self, moments: Moments) -> Between:
        """Post  from -1 to 1; all of it where a variance may be zero, for then there may be no correlation.

        Why   it grows with the covariance, and comes nearer to zero as the variances grow.
        """
        both, first, second = (moments.covariance(*pair) for pair in self.pairs)
        least, largest = np.sqrt(first.lower * second.lower), np.sqrt(first.upper * second.upper)
        found = Between(
            _ratio(both.value, np.sqrt(first.value * second.value)),
            _ratio(both.lower, np.where(both.lower < 0, least, largest)),
            _ratio(both.upper, np.where(both.upper > 0, least, largest)),
        )
        return found.or_else(least > 0, -1.0, 1.0).within(-1.0, 1.0)


def correlation(x: str, y: str, *, by: Sequence[str] = ()) -> Correlation:
    """The correlation of two numeric attributes, over the records that there are."""
    return Correlation(two_of((x, y), "correlation"), names_of(by))


def _ratio(above: Floats, below: Floats) -> Floats:
    """Nought where there is nothing to divide by."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
