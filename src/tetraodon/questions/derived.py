"""Questions whose answer is computed from several sums: how far off it can be follows from how far off those are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from tetraodon.arrays import Bools
from tetraodon.domain import Attribute, Domain
from tetraodon.questions.answered import Columns
from tetraodon.questions.query import Query


class Derived(Query):
    """A question that is answered by a quotient of sums: its error depends on how many records are behind it."""

    __slots__ = ()

    @abstractmethod
    def error_of(self, reaches: Sequence[float], records: int, domain: Domain) -> float:
        """A distance that the answer keeps from the truth, in its own unit.

        Pre   the sums, in the order of `sums`, keep these distances from theirs; there are at least so many records, in
              every cell of `by`.
        Post  it does not grow with the number of records, nor shrink with a reach.
        """

    def says_nothing(self, columns: Columns, domain: Domain) -> Bools:
        """Where the interval is all that is possible: there may be nobody, and what stands there is no estimate."""
        everything = self.error_of([0.0] * len(self.sums(domain)), 0, domain)
        length = np.asarray(columns["upper"] - columns["lower"], np.float64)
        return np.asarray((everything > 0) & (length >= everything * (1 - 1e-12)))

    @abstractmethod
    def own_unit(self, domain: Domain) -> str:
        """What the answer is counted in."""


def mean_off(attribute: Attribute, far: float, unsure: float, fewest: float) -> float:
    """How far S / n can be off, if S is off by `far`, n by `unsure`, and n with its noise is at least `fewest`.

    Why  (S + e) / (n + f) - S / n = (e - m f) / (n + f), with a mean m between the declared ends.
    """
    first, last = ends(attribute)
    return (far + max(abs(first), abs(last)) * unsure) / fewest


def ends(attribute: Attribute) -> tuple[float, float]:
    """The least and the largest declared value."""
    return float(attribute.number(0)), float(attribute.number(attribute.values.size - 1))
