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

With `ends`, two more cuts are drawn for each share, so many records below it and above. A number of records that is
added to what a gap should hold is the same in both data sets, so that nothing changes but g, which is 0 for these gaps.
Then the records between all ends are counted, with noise of a scale b' on each count. Which counts these are follows
from the codes that were drawn; given these, one histogram is coarser than the other, and H / b' is the most that they
lose. That adds up with what drawing loses, whichever codes come out.
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
from tetraodon.exact.arrays import Ints, with_noise
from tetraodon.exact.rational import stated_number
from tetraodon.noise.coins import Coins
from tetraodon.noise.joint_exponential import draw_by_rank
from tetraodon.noise.laws import LAPLACE
from tetraodon.query.contribution import Among, Draw, NotLinear, One, Steps
from tetraodon.query.linear import LinearQuery, Measurement, Split

# ruff: noqa: ARG002 - every contribution is asked in the same way

FAR = 4
"""How far beyond the outermost ends there is another border: so many times as far as these ends are apart."""
MOST_SHARES = 64
"""With more of them than this, running counts tell more; and the chances take long to work out."""


@dataclass(frozen=True)
class RankEnds:
    """Ends of intervals around codes that are drawn by rank, and counts of the records between the ends.

    Both are multiples of the scale of drawing: how many records an end is away from its share, and the scale of the
    noise on each count.
    """

    away: Fraction
    noise: Fraction

    def __post_init__(self) -> None:
        if self.away <= 0 or self.noise <= 0:
            raise QueryError("ends are not away from what is between them", fix="give two numbers above zero")

    def borders(self, codes: Ints, size: int) -> Ints:
        """The codes at which one count ends and the next begins, rising, given all that were drawn, in the last axis.

        Why   where an end turns out to be uncertain, the next one that is farther out takes its place. The first and
              the last one have none, so that there is one more border `FAR` beyond each.
        """
        first, last = (FAR * np.maximum(codes[..., b] - codes[..., a], 1) for a, b in ((0, 2), (-3, -1)))
        outer = np.stack([codes[..., 0] - first, codes[..., -1] + last + 1], axis=-1)
        return np.sort(np.concatenate([codes[..., ::3], codes[..., 2::3] + 1, np.clip(outer, 0, size)], -1), axis=-1)


@dataclass(frozen=True)
class Ranks(NotLinear):
    """The codes of an ordered attribute below which given shares of the records lie, the shares rising.

    With `ends`, each comes between two others, and noisy counts of the records between all ends follow them.

    >>> Ranks("age", 74, (Fraction(1, 10), Fraction(1, 2))).gaps
    (Fraction(1, 10), Fraction(2, 5), Fraction(1, 2))
    """

    name: str
    size: int
    shares: tuple[Fraction, ...]
    unit: Fraction = Fraction(1)
    ends: RankEnds | None = None

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
        return len(self.cuts) + (2 * len(self.shares) + 3 if self.ends else 0)

    @property
    def cuts(self) -> tuple[Fraction, ...]:
        """The share of every code that is drawn."""
        return tuple(share for share in self.shares for _ in range(3 if self.ends else 1))

    @property
    def gaps(self) -> tuple[Fraction, ...]:
        """What part of the records should lie before the first code, between neighbours, and after the last."""
        return tuple(b - a for a, b in pairwise((Fraction(0), *self.cuts, Fraction(1))))

    def beyond(self, scale: Fraction) -> tuple[Fraction, ...]:
        """How many records more than its share should lie before every code that is drawn."""
        away = self.ends.away * scale if self.ends else 0
        return tuple(Fraction(away * side) for _ in self.shares for side in ((-1, 0, 1) if self.ends else (0,)))

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
        if self.ends:
            found.append(Measurement(LinearQuery(counted, (*query.by, split)), measurement.scale * self.ends.noise))
        return found

    def attained(self, measurement: Measurement, steps: Steps) -> bool:
        return False

    def counted(self, query: LinearQuery, domain: Domain, codes: Ints, counts: Ints) -> NDArray[Any]:
        return query.occupied(domain, codes, counts)

    def measured(self, exact: NDArray[Any], measurement: Measurement, noise: Draw, coins: Callable[[], Coins]) -> Ints:
        scale = measurement.scale
        codes = draw_by_rank(exact, self.size, self.cuts, scale, coins(), self.beyond(scale))
        if self.ends is None:
            return codes
        counts = self._between(exact, self.ends.borders(codes, self.size))
        return np.concatenate(
            [codes, with_noise(counts, noise(LAPLACE, scale * self.ends.noise, counts.shape))], axis=-1
        )

    @staticmethod
    def _between(exact: NDArray[Any], borders: Ints) -> Ints:
        """How many records of each cell lie before its first border, between neighbours, and from its last one on."""
        found = np.zeros((*borders.shape[:-1], borders.shape[-1] + 1), np.int64)
        for place in np.ndindex(exact.shape):
            codes, counts = exact[place].T
            np.add.at(found[place], np.searchsorted(borders[place], codes, side="right"), counts)
        return found

    def document(self) -> dict[str, Any]:
        ends = {} if self.ends is None else {"ends": {"away": str(self.ends.away), "noise": str(self.ends.noise)}}
        return {"kind": "ranks", "attribute": self.name, "shares": [str(share) for share in self.shares]} | ends

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> Ranks:
        attribute = domain[document["attribute"]]
        shares, ends = tuple(stated_number(share) for share in document["shares"]), document.get("ends")
        around = None if ends is None else RankEnds(stated_number(ends["away"]), stated_number(ends["noise"]))
        return cls(attribute.name, attribute.size, shares, ends=around)

    def could_tell(self, numbers: Ints, scale: Fraction) -> bool:
        """Why  for one cell after another, codes of the attribute are chosen, rising."""
        lines = numbers.reshape(-1, self.rows)[:, : len(self.cuts)]
        return bool(((lines >= 0) & (lines < self.size)).all() and (np.diff(lines, axis=1) >= 0).all())

    def noiseless(self, exact: NDArray[Any], measurement: Measurement) -> Ints:
        """The quantiles themselves, for each cell: the least code that so many do not exceed, and at least one.

        Pre   `exact` has for each cell rows of a code and how many have it, rising.
        """
        found = []
        for line in exact.ravel():
            upto = np.cumsum(line[:, 1])
            records = int(upto[-1]) if len(upto) else 0
            wanted = zip(self.cuts, self.beyond(measurement.scale), strict=True)
            ranks = [min(max(1, math.ceil(share * records + more)), records) for share, more in wanted]
            found.append(line[np.searchsorted(upto, ranks), 0] if records else np.zeros(len(ranks), np.int64))
        codes = np.array(found, np.int64).reshape(*exact.shape, len(self.cuts))
        return (
            codes
            if self.ends is None
            else np.concatenate([codes, self._between(exact, self.ends.borders(codes, self.size))], -1)
        )
