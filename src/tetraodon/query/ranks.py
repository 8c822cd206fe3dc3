"""Where given shares of the records end: values chosen by their ranks, in place of noisy counts.

This is no linear query. What is measured are codes, drawn with chances that fall with how far their ranks are from
those that were asked for (`noise/joint_exponential.py`), and what that costs is at most what two linear queries cost.

Cuts c of an attribute's values are drawn with weights e^(-U(c)/b), where U(c) is the sum over the gaps j between
neighbouring cuts of |n_j - g_j n|: n records of which n_j lie in the gap, and a part g_j should. Of two data sets, let
H be the distance of their histograms, in L1, and N that of their numbers of records, each added up over the cells of
`by`. Then no U(c) differs by more than D = H + (1 - 2g) N, g the least g_j:

- a record that moves from one gap to another changes two n_j by one each: 2, which is H;
- one that comes or goes changes its own n_j - g_j n by 1 - g_j, and the others by what the others' parts add up to:
  2 - 2 g_j in all, at most H + (1 - 2g) N;
- any change is made of such changes, of as many that come or go as N says.

So every weight, and the sum of all, changes by a factor of e^(D/b) at most, and a chance by e^(2D/b): the loss of noise
of scale b/2 on the histogram, and of scale b / (2 - 4g) on the number of records ([GJK21] for one step of either kind).
That holds between any two data sets, so that known counts, several rows of a person and attackers are priced as those
two queries are. It is a bound: the sum of all weights and the weight of one output hardly ever change by so much, in
opposite directions, at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Domain
from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Ints
from tetraodon.exact.rational import stated_number
from tetraodon.noise.coins import Coins
from tetraodon.noise.joint_exponential import draw_by_rank
from tetraodon.query.contribution import Among, Draw, NotLinear, One, Steps
from tetraodon.query.linear import LinearQuery, Measurement, Split

# ruff: noqa: ARG002 - every contribution is asked in the same way

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

    pure_only = True
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

    def dominating(self, measurement: Measurement, steps: Steps) -> list[Measurement]:
        query, given, split = measurement.query, measurement.query.contribution, Split(self.name)
        counted: One | Among = One()
        if isinstance(given, Among):
            place = given.names.index(self.name)
            sizes = tuple(given.sizes[given.names.index(name)] for name in given.held)
            counted = Among(One(), given.held, sizes, given.held, given.truth, (), ())
            first, size = given.first[place], given.within[place]
            if size < given.sizes[place]:
                split = Split(self.name, ends=(first, first + size - 1))
        half, least = measurement.scale / 2, min(self.gaps)
        found = [Measurement(LinearQuery(counted, (*query.by, split)), half)]
        if least < Fraction(1, 2):
            found.append(Measurement(LinearQuery(counted, query.by), half / (1 - 2 * least)))
        return found

    def attained(self, measurement: Measurement, steps: Steps) -> bool:
        return False

    def counted(self, query: LinearQuery, domain: Domain, codes: Ints, counts: Ints) -> NDArray[Any]:
        return query.occupied(domain, codes, counts)

    def measured(self, exact: NDArray[Any], measurement: Measurement, noise: Draw, coins: Callable[[], Coins]) -> Ints:
        return draw_by_rank(exact, self.size, self.shares, measurement.scale, coins())

    def document(self) -> dict[str, Any]:
        return {"kind": "ranks", "attribute": self.name, "shares": [str(share) for share in self.shares]}

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> Ranks:
        attribute = domain[document["attribute"]]
        return cls(attribute.name, attribute.size, tuple(stated_number(share) for share in document["shares"]))

    def could_tell(self, numbers: Ints, scale: Fraction) -> bool:
        """Why  for one cell after another, codes of the attribute are chosen, rising."""
        lines = numbers.reshape(-1, self.rows)
        return bool(((lines >= 0) & (lines < self.size)).all() and (np.diff(lines, axis=1) >= 0).all())

    def noiseless(self, exact: NDArray[Any], measurement: Measurement) -> Ints:
        """The quantiles themselves, for each cell: the least code that so many do not exceed, and at least one.

        Pre   `exact` has for each cell rows of a code and how many have it, rising.
        """
        found = []
        for line in exact.ravel():
            upto = np.cumsum(line[:, 1])
            ranks = [max(1, math.ceil(share * int(upto[-1]))) for share in self.shares] if len(upto) else []
            found.append(line[np.searchsorted(upto, ranks), 0] if ranks else np.zeros(self.rows, np.int64))
        return np.array(found, np.int64).reshape(*exact.shape, self.rows)
