"""Values that are shown with noise on each of them: places on a scale of logarithms, one for every record.

This is no linear query. Every record's value is moved by noise of its own to another place of a public scale, and what
is told is how many records are shown at each place. So nobody need bound how large a value is: what a value may change
by is a share of itself, and so is the noise ([KM12] section 7.1.2: "multiplicative noise").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Attribute, Domain
from tetraodon.errors import QueryError, Refused
from tetraodon.exact.arrays import Floats, Ints
from tetraodon.noise.coins import Coins
from tetraodon.query.contribution import Among, Draw, NotLinear, One, Steps
from tetraodon.query.linear import LinearQuery, Measurement, Split
from tetraodon.query.number import Number

# ruff: noqa: ARG002 - every contribution is asked in the same way

RATIO = Fraction(1001, 1000)
"""From one place to the next. A value is shown, before noise, by the place that is off by half of that at most."""
BITS = 64
AT_ONCE = 2**22
"""So many records are moved at once."""


@dataclass(frozen=True)
class Disguised(NotLinear):
    """How many records are shown at each place of a numeric attribute above zero.

    >>> from tetraodon.domain import Integers
    >>> wages = Disguised(Attribute("wage", Integers(1000, 2000)))
    >>> wages.rows, wages.places(np.array([0, 1, 500, 1000])).tolist(), wages.farthest(Fraction(1, 10))
    (694, [0, 1, 406, 693], (96, (33, 136)))
    """

    attribute: Attribute
    unit: Fraction = Fraction(1)

    kind: ClassVar[str] = "shown"
    pure_only = True
    refusal: ClassVar = (
        QueryError,
        "values that are shown with noise are no sums over records",
        "certify what stands in for them",
    )

    def __post_init__(self) -> None:
        if not self.attribute.numeric or self.attribute.number(0) <= 0:
            raise QueryError(
                f"{self.attribute.name} is not a number above zero, so that it has no share to be off by",
                fix="declare an integer or real attribute that begins above zero, and what missing values count as",
            )

    @property
    def names(self) -> tuple[str, ...]:
        return (self.attribute.name,)

    @cached_property
    def _line(self) -> tuple[int, int, int]:
        """The first value, the distance to the next and the last value, in the units of `Number`."""
        first, last = (int(Number(self.attribute).values(np.asarray(code))) for code in (0, self.attribute.size - 1))
        return first, (last - first) // max(1, self.attribute.size - 1) or 1, last

    @property
    def _begins(self) -> Ints:
        """The least number of every place but the first, in units."""
        return _scale(self._line[0], self._line[2])[1]

    @property
    def rows(self) -> int:
        return len(self._begins) + 1

    @property
    def length(self) -> int:
        """How far the ends of the scale are apart."""
        return self.rows - 1

    @cached_property
    def numbers(self) -> Floats:
        """The number that each place stands for."""
        middles, _ = _scale(self._line[0], self._line[2])
        return middles * float(Number(self.attribute).unit)

    def places(self, codes: Ints) -> Ints:
        """The place of each code."""
        return self._at(Number(self.attribute).values(codes))

    def _at(self, numbers: Ints) -> Ints:
        return np.searchsorted(self._begins, numbers, side="right")

    def between(self, x: int, y: int) -> int:
        """How many places apart two codes are."""
        first, second = self.places(np.array([x, y])).tolist()
        return int(abs(first - second))

    def farthest(self, share: Fraction) -> tuple[int, tuple[int, int]]:
        """The most places between two values of which the larger is at most `share` more, and the codes of such two."""
        return _farthest(self, share)

    def shown(self, occupied: NDArray[Any], noise: Callable[[int], Ints]) -> Ints:
        """How many records are shown at each place, for each cell, every one of them moved by noise of its own.

        Pre   `occupied` has for each cell rows of a code and how many have it. Whoever would be moved beyond an end of
              the scale is shown there.
        """
        found = []
        for line in occupied.ravel():
            told = np.zeros(self.rows, np.int64)
            own = np.repeat(self.places(line[:, 0]), line[:, 1])
            for start in range(0, len(own), AT_ONCE):
                part = own[start : start + AT_ONCE]
                moved = np.clip(part + noise(len(part)), 0, self.rows - 1)
                told += np.bincount(moved, minlength=self.rows)
            found.append(told)
        return np.array(found, np.int64).reshape(*occupied.shape, self.rows)

    def could_tell(self, numbers: Ints, scale: Fraction) -> bool:
        return bool((numbers >= 0).all())

    def places_apart(self, steps: Steps) -> int:
        """The most places by which a step moves a record; where counts are known, as much as the scale is long."""
        share = None if steps.known else steps.farthest_share(self.attribute.name)
        return self.length if share is None else self.farthest(share)[0] if share else 0

    def dominating(self, measurement: Measurement, steps: Steps) -> list[Measurement]:
        """A histogram of the attribute, and the exact number of records.

        Why   two values d places apart show anything with chances that differ by a factor of at most e^(d/b), and by
              that for some places: beyond the farther one, discrete Laplace noise attains it. So a step costs D/b at
              most, D the most places between two values that are a secret. A record that changes in the histogram
              moves two counts by one each, which costs D/b with noise of scale 2b/D. Between data sets that differ in
              several records, each may cost what the whole scale is long.
        """
        query = measurement.query
        if isinstance(query.contribution, Among):
            raise Refused(
                "noise on each record is priced for all records only", fix="ask without `where`, or `by` the attribute"
            )
        found = [Measurement(LinearQuery(One(), query.by), Fraction(0))]
        if apart := self.places_apart(steps):
            counts = LinearQuery(One(), (*query.by, Split(self.attribute.name)))
            found.append(Measurement(counts, measurement.scale * 2 / apart, measurement.noise))
        return found

    def counted(self, query: LinearQuery, domain: Domain, codes: Ints, counts: Ints) -> NDArray[Any]:
        return query.occupied(domain, codes, counts)

    def measured(self, exact: NDArray[Any], measurement: Measurement, noise: Draw, coins: Callable[[], Coins]) -> Ints:
        return self.shown(exact, lambda size: noise(measurement.noise, measurement.scale, (size,)))

    def noiseless(self, exact: NDArray[Any], measurement: Measurement) -> Ints:
        return self.shown(exact, lambda size: np.zeros(size, np.int64))

    def document(self) -> dict[str, Any]:
        return {"kind": self.kind, "attribute": self.attribute.name}

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> Self:
        return cls(domain[document["attribute"]])


@lru_cache(maxsize=32)
def _scale(first: int, last: int) -> tuple[Floats, Ints]:
    """The middle of every place, and the least whole number of every place but the first, up to the last number.

    Why   middles are kept as whole numbers of 2^-BITS, rounded up, so that every machine has the same scale, and what a
          step moves is counted on it. A place begins above the geometric mean of two middles.
    """
    marks = [first << BITS]
    while marks[-1] <= last << BITS:
        marks.append(-(-marks[-1] * RATIO.numerator // RATIO.denominator))
    begins = [(math.isqrt(a * b) >> BITS) + 1 for a, b in pairwise(marks)]
    within = [number for number in begins if number <= last]
    return np.array([mark / 2**BITS for mark in marks[: len(within) + 1]]), np.array(within, np.int64)


@lru_cache(maxsize=64)
def _farthest(shown: Disguised, share: Fraction) -> tuple[int, tuple[int, int]]:
    """Why  of the values of a place the largest moves the farthest up, and moving down is moving up from elsewhere."""
    first, stride, last = shown._line
    codes = (np.append(shown._begins - 1, last) - first) // stride
    times, over = share.numerator + share.denominator, share.denominator
    most = [min(last, (first + stride * code) * times // over) for code in codes.tolist()]
    reached = (np.array(most, np.int64) - first) // stride
    apart = shown.places(reached) - shown.places(codes)
    worst = int(apart.argmax())
    return int(apart[worst]), (int(codes[worst]), int(reached[worst]))
