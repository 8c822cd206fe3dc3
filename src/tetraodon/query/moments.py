"""Queries about one numeric attribute or condition: `total`, `mean`, `proportion`, `variance`, `standard deviation`.

Values are counted from the middle of those that are declared: there they are shortest, so that noise is least.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tetraodon.domain import Attribute, Domain
from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Bools, Floats
from tetraodon.query.contribution import Contribution, One
from tetraodon.query.counts import satisfying, weighed
from tetraodon.query.levels import LevelSums
from tetraodon.query.linear import LinearQuery
from tetraodon.query.local_log_noise import Disguised
from tetraodon.query.number import Number
from tetraodon.query.query import (
    BY,
    WEIGHT,
    Answered,
    Columns,
    Key,
    MeasuredSum,
    Query,
    addable,
    labels,
    names_of,
    numeric,
    records_of,
    splits_of,
    with_interval,
)

# -- moments ----------------------------------------------------------------------------------------

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
          computed here lies between its ends.
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


# -- derived ----------------------------------------------------------------------------------------
# Questions whose answer is computed from sums: how far off it can be follows from how far off those are.


class FromSums(Query):
    """A question that is answered with a number for every cell of `by`, from sums that are measured themselves."""

    __slots__ = ()

    def linear(self, domain: Domain) -> LinearQuery:
        return self.sums(domain)[0]

    @abstractmethod
    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]: ...

    @abstractmethod
    def found(self, answered: Answered) -> Between:
        """The answer, from what was measured."""

    def columns(self, answered: Answered) -> Columns:
        found, domain = self.found(answered), answered.domain
        lower, upper = np.minimum(found.lower, found.value), np.maximum(found.upper, found.value)
        named = labels(splits_of(self.by, domain), domain, beside=self.column)
        return named | with_interval(self.column, found.value, lower, upper)


class Derived(FromSums):
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
        """Where the interval is all that is possible: there may be no record, and the value is no estimate."""
        everything = self.error_of([0.0] * len(self.sums(domain)), 0, domain)
        length = np.asarray(columns["upper"] - columns["lower"], np.float64)
        return np.asarray((everything > 0) & (length >= everything * (1 - 1e-12)))

    def own_unit(self, domain: Domain) -> str:
        """What the answer is counted in."""
        return self._said("{attribute:unit}", domain)


def mean_off(attribute: Attribute, far: float, unsure: float, fewest: float) -> float:
    """How far S / n can be off, if S is off by `far`, n by `unsure`, and n with its noise is at least `fewest`.

    Why  (S + e) / (n + f) - S / n = (e - m f) / (n + f), with a mean m between the declared ends.
    """
    first, last = ends(attribute)
    return (far + max(abs(first), abs(last)) * unsure) / fewest


def ends(attribute: Attribute) -> tuple[float, float]:
    """The least and the largest declared value."""
    return float(attribute.number(0)), float(attribute.number(attribute.values.size - 1))


# -- total and mean ---------------------------------------------------------------------------------

EACH_RECORD, LEVELS = "each record", "levels"
IN_SHARES = {EACH_RECORD: "% of one record's value", LEVELS: "% of the largest value"}
"""Where noise may be said to go, and the unit of errors then."""
OFF_BY_SHARE = {
    EACH_RECORD: "One record's value is typically off by {off}% of itself; the sum of many that are alike by that "
    "share of the sum, divided by the square root of how many they are",
    LEVELS: "The sum is typically off by {off}% of the largest value in the table, however many there are",
}
NOISE = Key("text", "", {"enum": list(IN_SHARES)})


@dataclass(frozen=True, slots=True)
class Summed(FromSums):
    """Values of an attribute that are added up, each record's times its weight; or that get noise one by one."""

    attribute: str
    weight: str = ""
    by: tuple[str, ...] = ()
    noise: str = ""

    def __post_init__(self) -> None:
        if self.noise not in ("", *IN_SHARES):
            told = " or ".join(f"`noise: {one}`" for one in IN_SHARES)
            raise QueryError("`noise` says where noise goes", fix=f"write {told}, or leave it out")
        if self.noise and self.weight:
            raise QueryError(
                "values with noise that is a share of them are not weighted", fix="leave out weight or noise"
            )

    def needs(self) -> tuple[str, ...]:
        return (self.attribute, self.weight) if self.weight else ()

    def linear(self, domain: Domain) -> LinearQuery:
        times = numeric(domain, self.weight) if self.weight else None
        summed = numeric(domain, self.attribute) if self.weight else addable(domain, self.attribute)
        return LinearQuery(Number(summed, times), splits_of(self.by, domain))

    def shown(self, domain: Domain) -> Disguised | None:
        return (LevelSums if self.noise == LEVELS else Disguised)(domain[self.attribute]) if self.noise else None

    def unit(self, domain: Domain) -> str:
        return IN_SHARES.get(self.noise) or self._said(self.wording.unit, domain).lstrip()

    def off_by(self, off: str, each: str, domain: Domain) -> str:
        if self.noise:
            return f"{OFF_BY_SHARE[self.noise].format(off=off)}."
        return Query.off_by(self, off, each, domain)


@dataclass(frozen=True, slots=True)
class Total(Summed):
    """The sum of a numeric attribute, each record times its public `weight` if one is named."""

    words: ClassVar = ("total", "sum")
    keys: ClassVar = {"total": Key("text", ""), "sum": Key("text", ""), "weight": WEIGHT, "by": BY, "noise": NOISE}
    column: ClassVar = "total"

    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]:
        return () if self.noise else (self.linear(domain),)

    def found(self, answered: Answered) -> Between:
        return between(answered.sums[0], 1)


def total(attribute: str, *, weight: str = "", by: Sequence[str] = (), noise: str = "") -> Total:
    """The sum of a numeric attribute; with `noise="each record"`, of values that get noise one by one, and with
    `noise="levels"` of what they have in levels that get noise each.
    """
    return Total(attribute, weight, names_of(by), noise)


@dataclass(frozen=True, slots=True)
class Mean(Summed, Derived):
    """The average of a numeric attribute, each record counting as much as its `weight` if one is named."""

    words: ClassVar = ("mean",)
    keys: ClassVar = {"mean": Key("text", ""), "weight": WEIGHT, "by": BY, "noise": NOISE}
    column: ClassVar = "mean"

    def linear(self, domain: Domain) -> LinearQuery:
        if self.weight:
            weighed(domain, self.weight)
        return Summed.linear(self, domain)

    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]:
        """The sum, and what it is divided by: the number of records, or the sum of their weights."""
        if self.noise:
            return ()
        divisor = Number(weighed(domain, self.weight)) if self.weight else records_of(domain[self.attribute])
        return self.linear(domain), LinearQuery(divisor, splits_of(self.by, domain))

    def found(self, answered: Answered) -> Between:
        return averages(answered.sums, *ends(answered.domain[self.attribute]))

    def error_of(self, reaches: Sequence[float], records: int, domain: Domain) -> float:
        first, last = ends(domain[self.attribute])
        if self.noise:  # how far each value is off is a share of it, and says nothing of the mean
            return last - first
        lightest, least = 1.0, 1.0
        if self.weight:
            weight = domain[self.weight]
            lightest, least = float(weight.number(0)), max(1.0, float(weight.step))
        far, unsure = reaches
        fewest, anything = records * lightest - unsure, last - first
        return min(anything, mean_off(domain[self.attribute], far, unsure, fewest)) if fewest >= least else anything


def averages(sums: Sequence[MeasuredSum], low: float, high: float) -> Between:
    """The first sum divided by the second, all between the lowest and highest value."""
    summed, divided = sums[:2]
    unit = float(summed.unit / divided.unit)
    total, records = (np.asarray(one.numbers, np.float64)[..., 0] for one in (summed, divided))
    told, some = (one.published[..., 0] for one in (summed, divided))
    failures = 1 if summed.exact or divided.exact else 2
    reach, unsure = (one.off(failures) for one in (summed, divided))
    fewest, most = records - unsure, records + unsure
    average = np.where(some >= 1, told * unit / np.maximum(some, 1), np.full(total.shape, (low + high) / 2))
    ends = [(total + sign * reach) * unit / np.maximum(n, 1) for sign in (-1, 1) for n in (fewest, most)]
    found = Between(average, np.minimum.reduce(ends), np.maximum.reduce(ends)).within(low, high)
    return found.or_else(fewest >= 1, low, high)


def mean(attribute: str, *, weight: str = "", by: Sequence[str] = (), noise: str = "") -> Mean:
    """The average of a numeric attribute, weighted if a weight is named; `noise` is that of `total`."""
    return Mean(attribute, weight, names_of(by), noise)


# -- proportion -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Proportion(FromSums):
    """The share of records that satisfy a condition, each counting as much as its `weight` if one is named."""

    where: str
    weight: str = ""
    by: tuple[str, ...] = ()

    words: ClassVar = ("proportion",)
    keys: ClassVar = {"proportion": Key("text", ""), "weight": WEIGHT, "by": BY}
    column: ClassVar = "proportion"
    needed: ClassVar = ("weight",)

    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]:
        """How many records satisfy the condition, and how many there are; or the sums of their weights."""
        everybody = Number(weighed(domain, self.weight)) if self.weight else One()
        counted = (satisfying(self.where, self.weight, domain), everybody)
        return tuple(LinearQuery(part, splits_of(self.by, domain)) for part in counted)

    def found(self, answered: Answered) -> Between:
        """Post  from 0 to 1; all of it where there may be no records."""
        return quotient(*answered.sums[:2]).within(0.0, 1.0)


def proportion(where: str, *, weight: str = "", by: Sequence[str] = ()) -> Proportion:
    """The share of records that satisfy a condition such as `"age > 30"`."""
    return Proportion(where, weight, names_of(by))


# -- variance and standard deviation ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Variance(Derived):
    """The mean squared distance of a numeric attribute from its average: of the records, divided by their number."""

    attribute: str
    by: tuple[str, ...] = ()

    words: ClassVar = ("variance",)
    keys: ClassVar = {"variance": Key("text", ""), "by": BY}
    column: ClassVar = "variance"

    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]:
        """The squared distances from the middle of the declared values, the values, and the number of records."""
        attribute, by = addable(domain, self.attribute), splits_of(self.by, domain)
        parts = (Number(attribute, squared=True), Number(attribute), records_of(attribute))
        return tuple(LinearQuery(part, by) for part in parts)

    def found(self, answered: Answered) -> Between:
        """Q / n - (S / n - c)^2, for squares Q about the middle c, sum S and n records.

        Post  0 <= lower <= variance <= upper <= (half the declared range)^2; the interval holds the truth with 95%.
        Why   each noisy sum misses its interval with at most its part of 5%. Where all are in theirs, Q / n and the
              average lie between the ends below, and a difference is between those of its parts. No value is farther
              from c than half the range h, so that Q / n is at most h^2.
        """
        sums, (first, last) = answered.sums, ends(answered.domain[self.attribute])
        middle, most = (first + last) / 2, ((last - first) / 2) ** 2
        failures = max(1, sum(not measured.exact for measured in sums))
        off, far, unsure = (measured.off(failures) * float(measured.unit) for measured in sums)
        squares, total, records = (np.asarray(m.numbers, np.float64)[..., 0] * float(m.unit) for m in sums)
        of_squares, of_values, some = (m.published[..., 0] * float(m.unit) for m in sums)
        fewest, some, many = (np.maximum(n, 1) for n in (records - unsure, some, records + unsure))
        averages = [(total + sign * far) / n for sign in (-1, 1) for n in (fewest, many)]
        low = np.clip(np.minimum.reduce(averages), first, last) - middle
        high = np.clip(np.maximum.reduce(averages), first, last) - middle
        nearest = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(low**2, high**2))
        value = np.clip(of_squares / some - (of_values / some - middle) ** 2, 0, most)
        lower = np.clip((squares - off) / many, 0, most) - np.maximum(low**2, high**2)
        upper = np.clip((squares + off) / fewest, 0, most) - nearest
        return Between(value, lower, upper).within(0, most).or_else(records - unsure >= 1, 0.0, most)

    def error_of(self, reaches: Sequence[float], records: int, domain: Domain) -> float:
        """Why  Q / n is at most h^2, and of two averages that are d apart, one of them within h of the middle, the
        squared distances from it differ by at most d (2 h + d).
        """
        attribute = domain[self.attribute]
        off, far, unsure = reaches
        first, last = ends(attribute)
        half, fewest = (last - first) / 2, records - unsure
        if fewest < 1:
            return half**2
        apart = mean_off(attribute, far, unsure, fewest)
        return min(half**2, (off + half**2 * unsure) / fewest + apart * (2 * half + apart))

    def own_unit(self, domain: Domain) -> str:
        return self._said("{square}", domain)

    def phrases(self, domain: Domain | None) -> dict[str, Any]:
        said = Query.phrases(self, domain)
        unit = f"{said['attribute']:unit}"
        return said | {"kind": self.words[0], "square": f"{unit}²" if unit else ""}


def variance(attribute: str, *, by: Sequence[str] = ()) -> Variance:
    """The variance of a numeric attribute, over the records that there are."""
    return Variance(attribute, names_of(by))


@dataclass(frozen=True, slots=True)
class StandardDeviation(Variance):
    """The root of the variance, measured and answered as it is."""

    words: ClassVar = ("standard deviation",)
    keys: ClassVar = {"standard deviation": Key("text", ""), "by": BY}
    column: ClassVar = "standard_deviation"

    def found(self, answered: Answered) -> Between:
        """Why  the root never falls: it is in the roots of an interval wherever the variance is in that interval."""
        squared = Variance.found(self, answered)
        return Between(np.sqrt(squared.value), np.sqrt(squared.lower), np.sqrt(squared.upper))

    def error_of(self, reaches: Sequence[float], records: int, domain: Domain) -> float:
        """Why  two roots are no farther apart than the root of the distance between what they are roots of."""
        return math.sqrt(Variance.error_of(self, reaches, records, domain))

    def own_unit(self, domain: Domain) -> str:
        return domain[self.attribute].unit


def standard_deviation(attribute: str, *, by: Sequence[str] = ()) -> StandardDeviation:
    """The standard deviation of a numeric attribute, over the records that there are."""
    return StandardDeviation(attribute, names_of(by))
