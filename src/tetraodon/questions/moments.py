"""Averages, covariances and quotients, with their intervals, from sums of values and of products.

Values are counted from the middle of those that are declared: there they are shortest, so that noise is least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tetraodon.arrays import Bools, Floats
from tetraodon.domain import Attribute, Domain
from tetraodon.errors import QueryError
from tetraodon.questions.answered import Answered, MeasuredSum
from tetraodon.questions.query import numeric, splits_of
from tetraodon.workload.contribution import Contribution, One
from tetraodon.workload.linear import LinearQuery
from tetraodon.workload.number import Number

Pair = tuple[str, str]


def sums_for(pairs: Sequence[Pair], by: Sequence[str], domain: Domain) -> tuple[LinearQuery, ...]:
    """What covariances of some pairs are computed from: products, values, and the number of records."""
    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    found = {name: numeric(domain, name) for name in names}
    for attribute in found.values():
        if attribute.size < 2:
            raise QueryError(f"{attribute.name} has one value only", fix="ask about attributes that vary")
    products = [
        Number(found[a], squared=True) if a == b else Number(found[a], found[b], centred=True) for a, b in pairs
    ]
    values = [Number(found[name], centred=True) for name in names]
    parts: list[Contribution] = [*products, *values, One()]
    return tuple(LinearQuery(part, splits_of(by, domain)) for part in parts)


@dataclass(frozen=True, eq=False)
class Between:
    """A number for every cell, with the ends that hold it with 95% probability, all of an answer's at once."""

    value: Floats
    lower: Floats
    upper: Floats

    @property
    def centre(self) -> Floats:
        """The middle of the interval."""
        return (self.lower + self.upper) / 2

    @property
    def radius(self) -> Floats:
        """Half its length."""
        return (self.upper - self.lower) / 2

    def within(self, low: Floats | float, high: Floats | float) -> Between:
        """The same, for a number that is known to be from low to high."""
        return Between(*(np.clip(part, low, high) for part in (self.value, self.lower, self.upper)))

    def or_else(self, known: Bools, low: Floats | float, high: Floats | float) -> Between:
        """The same where it is known, and all that is possible elsewhere."""
        return Between(self.value, np.where(known, self.lower, low), np.where(known, self.upper, high))

    def times(self, other: Between) -> Between:
        """The product of two numbers."""
        ends = [a * b for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        return Between(self.value * other.value, np.minimum.reduce(ends), np.maximum.reduce(ends))

    def square(self) -> Between:
        """The square of a number."""
        ends = self.lower**2, self.upper**2
        nought = (self.lower <= 0) & (self.upper >= 0)
        return Between(self.value**2, np.where(nought, 0.0, np.minimum(*ends)), np.maximum(*ends))


class Moments:
    """Averages and covariances of the pairs that `sums_for` was asked for.

    Why   each noisy sum misses its interval with at most its part of 5%. Wherever all are in theirs, everything that is
          told here lies between its ends.
    """

    def __init__(self, answered: Answered, pairs: Sequence[Pair]) -> None:
        self._domain = answered.domain
        failures = max(1, sum(not one.exact for one in answered.sums))
        sums = [between(one, failures) for one in answered.sums]
        self._products = dict(zip(pairs, sums, strict=False))
        names = list(dict.fromkeys(name for pair in pairs for name in pair))
        self._values = dict(zip(names, sums[len(pairs) :], strict=False))
        records = sums[-1]
        self.known: Bools = np.asarray(records.lower >= 1)
        """Where there surely are records."""
        self._records = Between(*(np.maximum(part, 1) for part in (records.value, records.lower, records.upper)))

    def average(self, name: str) -> Between:
        """The average distance from the middle."""
        summed, most = self._values[name], half(self._domain[name])
        ends = [s / n for s in (summed.lower, summed.upper) for n in (self._records.lower, self._records.upper)]
        found = Between(summed.value / self._records.value, np.minimum.reduce(ends), np.maximum.reduce(ends))
        return found.or_else(self.known, -most, most).within(-most, most)

    def covariance(self, a: str, b: str) -> Between:
        """P / n - S T / n^2, for products P, sums S and T, and n records; the variance where both are the same.

        Post  between plus and minus the product of half the ranges; not below zero for a variance.
        Why   for given t = 1 / n, it grows with P and falls with S T, so that its ends are at theirs; and p t - w t^2
              is largest and least where t is, or where it is level, at p / 2w.
        """
        product = self._products[(a, b)]
        most = half(self._domain[a]) * half(self._domain[b])
        far = [half(self._domain[name]) * self._records.upper for name in (a, b)]
        first, second = (self._values[name].within(-limit, limit) for name, limit in zip((a, b), far, strict=True))
        both = first.square() if a == b else first.times(second)
        least, largest = 1 / self._records.upper, 1 / self._records.lower
        lower: list[Floats] = []
        upper: list[Floats] = []
        for ends, p, w in ((lower, product.lower, both.upper), (upper, product.upper, both.lower)):
            level = np.divide(p, 2 * w, out=np.array(least, np.float64), where=w != 0)
            ends += [p * t - w * t**2 for t in (least, largest, np.clip(level, least, largest))]
        share = 1 / self._records.value
        found = Between(
            product.value * share - self._values[a].value * self._values[b].value * share**2,
            np.minimum.reduce(lower),
            np.maximum.reduce(upper),
        )
        floor = 0.0 if a == b else -most
        return found.or_else(self.known, floor, most).within(floor, most)


def half(attribute: Attribute) -> float:
    """Half the range of declared values."""
    return float(attribute.number(attribute.size - 1) - attribute.number(0)) / 2


def middle(attribute: Attribute) -> float:
    """The middle of the declared values."""
    return float(attribute.number(attribute.size - 1) + attribute.number(0)) / 2


def between(measured: MeasuredSum, failures: int) -> Between:
    """What a sum is known to be, but for a chance of 5% divided by so many."""
    unit = float(measured.unit)
    number, told = (np.asarray(one, np.float64)[..., 0] * unit for one in (measured.numbers, measured.published))
    reach = measured.off(failures) * unit
    return Between(told, np.minimum(number - reach, told), np.maximum(number + reach, told))


def quotient(above: MeasuredSum, below: MeasuredSum) -> Between:
    """One sum divided by another, for every cell.

    Post  the interval holds the quotient with 95%, wherever it is defined.
    Why   each noisy sum misses its interval with at most its part of 5%. Where both are in theirs, and the second is
          not zero, it is at least one unit away from zero, for sums are whole numbers of units. On either side of zero
          a quotient is monotone in both.
    """
    failures = max(1, sum(not one.exact for one in (above, below)))
    top, bottom, unit = between(above, failures), between(below, failures), float(below.unit)
    positive, negative = bottom.upper >= unit, bottom.lower <= -unit
    nothing = ~(positive | negative)  # it is zero, and there is no quotient
    divisors = [
        (positive | nothing, np.maximum(bottom.lower, unit)),
        (positive | nothing, np.maximum(bottom.upper, unit)),
        (negative, np.minimum(bottom.lower, -unit)),
        (negative, np.minimum(bottom.upper, -unit)),
    ]
    lower = [np.where(there, end / by, np.inf) for there, by in divisors for end in (top.lower, top.upper)]
    upper = [np.where(there, end / by, -np.inf) for there, by in divisors for end in (top.lower, top.upper)]
    least, largest = np.minimum.reduce(lower), np.maximum.reduce(upper)
    divisor = np.where(np.abs(bottom.value) >= unit, bottom.value, np.where(positive | nothing, unit, -unit))
    return Between(np.clip(top.value / divisor, least, largest), least, largest)
