"""Queries about several numeric attributes: `ratio`, `covariance`, `correlation`, `regression`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, ClassVar

import numpy as np

from tetraodon.domain import Domain
from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Bools, Floats
from tetraodon.query.counts import weighed
from tetraodon.query.linear import LinearQuery
from tetraodon.query.moments import Between, FromSums, Moments, Pair, half, middle, quotient, sums_for
from tetraodon.query.number import Number
from tetraodon.query.query import (
    BY,
    WEIGHT,
    Answered,
    Columns,
    Key,
    Query,
    labels,
    names_of,
    numeric,
    splits_of,
    with_interval,
)

# -- covariance and correlation ---------------------------------------------------------------------


class OfTwo(FromSums):
    """A question about two different numeric attributes."""

    __slots__ = ()

    attributes: tuple[str, str]

    needed: ClassVar[tuple[str, ...]] = ("attributes",)

    def __post_init__(self) -> None:
        word = self.words[0]
        if len(self.attributes) != 2 or self.attributes[0] == self.attributes[1]:
            raise QueryError(
                f"a {word} is of two different attributes", fix=f"write `{word}: [x, y]`, or ask a variance"
            )

    def phrases(self, domain: Domain | None) -> dict[str, Any]:
        said = Query.phrases(self, domain)
        above, below = said["attributes"]
        units = "" if domain is None else product_unit(domain, self.attributes)
        return said | {"kind": self.words[0], "units": units, "above": above, "below": below}


@dataclass(frozen=True, slots=True)
class Covariance(OfTwo):
    """The mean product of the distances of two numeric attributes from their averages, over the records."""

    attributes: tuple[str, str]
    by: tuple[str, ...] = ()

    words: ClassVar = ("covariance",)
    keys: ClassVar = {"covariance": Key("names", ()), "by": BY}
    column: ClassVar = "covariance"

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The attributes whose products are added up."""
        return (self.attributes,)

    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]:
        return sums_for(self.pairs, self.by, domain)

    def found(self, answered: Answered) -> Between:
        return Moments(answered, self.pairs).covariance(*self.attributes)


def covariance(x: str, y: str, *, by: Sequence[str] = ()) -> Covariance:
    """The covariance of two numeric attributes, over the records that there are."""
    return Covariance((x, y), names_of(by))


def product_unit(domain: Domain, names: Sequence[str]) -> str:
    """The unit of a product, if its factors have any."""
    return "·".join(domain[name].unit for name in names if domain[name].unit)


@dataclass(frozen=True, slots=True)
class Correlation(Covariance):
    """The covariance of two attributes, in multiples of the product of their standard deviations: from -1 to 1."""

    words: ClassVar = ("correlation",)
    keys: ClassVar = {"correlation": Key("names", ()), "by": BY}
    column: ClassVar = "correlation"

    @property
    def pairs(self) -> tuple[Pair, ...]:
        x, y = self.attributes
        return (x, y), (x, x), (y, y)

    def found(self, answered: Answered) -> Between:
        """Post  from -1 to 1; all of it where a variance may be zero, for then there may be no correlation.

        Why   it grows with the covariance, and comes nearer to zero as the variances grow.
        """
        moments = Moments(answered, self.pairs)
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
    return Correlation((x, y), names_of(by))


def _ratio(above: Floats, below: Floats) -> Floats:
    """Nought where there is nothing to divide by."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


# -- ratio ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RatioOfTotals(OfTwo):
    """The total of one numeric attribute for each unit of another, each record times its `weight` if one is named."""

    attributes: tuple[str, str]
    weight: str = ""
    by: tuple[str, ...] = ()

    words: ClassVar = ("ratio",)
    keys: ClassVar = {"ratio": Key("names", ()), "weight": WEIGHT, "by": BY}
    column: ClassVar = "ratio"
    needed: ClassVar = ("attributes", "weight")

    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]:
        """The two totals."""
        weight = weighed(domain, self.weight) if self.weight else None
        by = splits_of(self.by, domain)
        return tuple(LinearQuery(Number(numeric(domain, name), weight), by) for name in self.attributes)

    def found(self, answered: Answered) -> Between:
        """Post  where the second attribute is always above zero, no ratio is beyond those of single records.

        Why   it is then an average of theirs, each counting as much as its share of the second total.
        """
        found = quotient(*answered.sums[:2])
        above, below = (answered.domain[name] for name in self.attributes)
        if below.number(0) > 0:
            tops = [above.number(code) for code in (0, above.size - 1)]
            ends = [float(top / below.number(code)) for top in tops for code in (0, below.size - 1)]
            found = found.within(min(ends), max(ends))
        return found

    def phrases(self, domain: Domain | None) -> dict[str, Any]:
        said = OfTwo.phrases(self, domain)
        units = [f"{name:unit}" for name in said["attributes"]]
        return said | {"per": " per ".join(units) if all(units) else ""}


def ratio(above: str, below: str, *, weight: str = "", by: Sequence[str] = ()) -> RatioOfTotals:
    """The total of a numeric attribute divided by that of another."""
    return RatioOfTotals((above, below), weight, names_of(by))


# -- regression -------------------------------------------------------------------------------------

INTERCEPT = "intercept"


@dataclass(frozen=True, slots=True)
class Regression(Query):
    """The least-squares coefficients of a numeric attribute on others, and its value where those are zero."""

    attribute: str
    on: tuple[str, ...]
    by: tuple[str, ...] = ()

    words: ClassVar = ("regression",)
    keys: ClassVar = {"regression": Key("text", ""), "on": Key("names", ()), "by": BY}
    column: ClassVar = "coefficient"
    more_columns: ClassVar = ("term",)

    needed: ClassVar = ("attribute", "on")

    def __post_init__(self) -> None:
        if not self.on:
            raise QueryError("this regression is on nothing", fix="write `on: [x]`, the attributes that it depends on")
        if len({*self.on, self.attribute}) <= len(self.on):
            raise QueryError("an attribute is named twice in a regression", fix="name each attribute once")

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The attributes whose products are added up."""
        return (*((name, self.attribute) for name in self.on), *combinations_with_replacement(self.on, 2))

    def linear(self, domain: Domain) -> LinearQuery:
        return self.sums(domain)[0]

    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]:
        return sums_for(self.pairs, self.by, domain)

    def columns(self, answered: Answered) -> Columns:
        domain, moments = answered.domain, Moments(answered, self.pairs)
        found = self._coefficients(moments, domain)
        by, terms = splits_of(self.by, domain), (INTERCEPT, *self.on)
        groups = math.prod(split.size(domain) for split in by)
        named = labels(by, domain, extra=len(terms), beside=self.column)
        named["term"] = np.tile(np.array(terms, object), groups)
        parts = (np.stack([getattr(one, end) for one in found], axis=-1) for end in ("value", "lower", "upper"))
        return named | with_interval(self.column, *parts)

    def _coefficients(self, moments: Moments, domain: Domain) -> list[Between]:
        """The value where all others are zero, then what each of them adds to it.

        Why   covariances A among the others and c with the attribute determine the slopes: A b = c. They are solved in
              multiples of half the ranges, between the slopes that are possible at all.
        """
        target, others = domain[self.attribute], [domain[name] for name in self.on]
        scale = [half(other) for other in others]
        matrix = [[moments.covariance(*sorted((a, b), key=self.on.index)) for b in self.on] for a in self.on]
        right = [moments.covariance(name, self.attribute) for name in self.on]
        widths = np.array(scale)
        slopes = solved(
            _stacked(matrix, widths[:, None] * widths),
            _stacked(right, widths * half(target)),
            np.array([self._steepest(name, domain) * half(domain[name]) / half(target) for name in self.on]),
        )
        per_unit = half(target) / widths
        found = [
            Between(*(part[..., n] * per_unit[n] for part in (slopes.value, slopes.lower, slopes.upper)))
            for n in range(len(others))
        ]
        level = _moved(moments.average(self.attribute), middle(target))
        for slope, other in zip(found, others, strict=True):
            falls = slope.times(_moved(moments.average(other.name), middle(other)))
            level = Between(level.value - falls.value, level.lower - falls.upper, level.upper - falls.lower)
        return [level, *found]

    def _steepest(self, name: str, domain: Domain) -> float:
        """A slope that no coefficient is above, whatever the records are.

        Why   by the formula of Cauchy and Binet, coefficients are averages of those of the planes through k + 1 of the
              records, k = len(on). Those are quotients of determinants: the lower one is of whole numbers of steps, and
              it is not zero; above, its column of `name` is replaced by differences of the attribute. That is at most k
              such differences times minors, which Hadamard's inequality bounds.
        """
        others = [domain[other] for other in self.on if other != name]
        k = len(self.on)
        minors = math.sqrt(k - 1) ** (k - 1) * math.prod(float(other.size - 1) for other in others)
        return 2 * half(domain[self.attribute]) * k * minors / float(domain[name].step)

    def phrases(self, domain: Domain | None) -> dict[str, Any]:
        they_are = "it is" if len(self.on) == 1 else "they are"
        units = "" if domain is None else product_unit(domain, self.pairs[0])
        return Query.phrases(self, domain) | {"they_are": they_are, "units": units}


def regression(attribute: str, *, on: Sequence[str], by: Sequence[str] = ()) -> Regression:
    """The least-squares coefficients of a numeric attribute on others."""
    return Regression(attribute, names_of(on), names_of(by))


def _moved(average: Between, by: float) -> Between:
    return Between(average.value + by, average.lower + by, average.upper + by)


def _stacked(parts: Sequence[Any], scale: Floats) -> Between:
    """Intervals side by side as the last axes of one, in multiples of a scale."""

    def all_of(end: str) -> Floats:
        rows = [[getattr(one, end) for one in row] if isinstance(row, list) else getattr(row, end) for row in parts]
        found = np.array(rows, np.float64)
        return np.moveaxis(found, range(scale.ndim), range(-scale.ndim, 0)) / scale

    return Between(all_of("value"), all_of("lower"), all_of("upper"))


SINGULAR = 1e12
"""Systems whose condition is above this are not solved: floating-point numbers would not do."""


def solved(matrix: Between, right: Between, most: Floats) -> Between:
    """The solution b of A b = c for every cell, where no entry of b is beyond `most`.

    Pre   the last axes are those of the system; those before them are cells.
    Post  the interval holds b for any A and c between their ends; it reaches up to `most` where A might be singular.
    Why   let R be the inverse of the centre of A. Then b - Rc' = R (e - E b) for distances e and E from the centres, so
          that d = |b - Rc'| <= u + M d with M = |R| rad A and u = |R| (rad c + rad A |Rc'|). If no eigenvalue of M
          reaches 1, no A is singular, and d <= (1 - M)^-1 u, for the inverse has no negative entry.
    """
    size = right.value.shape[-1]
    inverse, regular = _inverse(matrix.centre)
    centre = _times(inverse, right.centre)
    far = np.abs(inverse) @ matrix.radius
    regular &= np.abs(np.linalg.eigvals(far)).max(axis=-1) < 1 - 1e-9
    spread = _times(np.abs(inverse), right.radius + _times(matrix.radius, np.abs(centre)))
    left = np.where(regular[..., None, None], np.eye(size) - far, np.eye(size))
    reach = np.linalg.solve(left, spread[..., None])[..., 0]
    known = regular[..., None]
    lower, upper = np.where(known, centre - reach, -most), np.where(known, centre + reach, most)
    own, solvable = _inverse(matrix.value)
    value = np.where(solvable[..., None], _times(own, right.value), np.where(known, centre, 0.0))
    return Between(np.clip(value, lower, upper), lower, upper).within(-most, most)


def _inverse(matrices: Floats) -> tuple[Floats, Bools]:
    """The inverse of every matrix that has one, zeros for the others, and which have."""
    good = np.asarray(np.linalg.cond(matrices) < SINGULAR)
    safe = np.where(good[..., None, None], matrices, np.eye(matrices.shape[-1]))
    return np.where(good[..., None, None], np.linalg.inv(safe), 0.0), good


def _times(matrices: Floats, vectors: Floats) -> Floats:
    return np.asarray((matrices @ vectors[..., None])[..., 0])
