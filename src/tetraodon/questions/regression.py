"""`regression`: the line, or plane, that a numeric attribute follows most closely along others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, ClassVar

import numpy as np

from tetraodon.arrays import Bools, Floats
from tetraodon.domain import Domain
from tetraodon.errors import QueryError
from tetraodon.questions.answered import Answered, Columns, labels, with_interval
from tetraodon.questions.covariance import product_unit
from tetraodon.questions.moments import Between, Moments, Pair, half, middle, sums_for
from tetraodon.questions.query import BY, Declared, Drawing, Json, Key, Query, for_each, names_of, splits_of, with_unit
from tetraodon.wording import listing
from tetraodon.workload.linear import LinearQuery, Split

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

    @classmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> Regression:  # noqa: ARG003
        return regression(written["regression"], on=written["on"], by=written["by"])

    def document(self) -> Json:
        return {"regression": self.attribute, "on": list(self.on)}

    def needs(self) -> tuple[str, ...]:
        return (self.attribute, *self.on)

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
              records, k = len(on). Those are quotients of determinants: below stands one of whole numbers of steps, and
              it is not zero; above, its column of `name` is replaced by differences of the attribute. That is at most k
              such differences times minors, which Hadamard's inequality bounds.
        """
        others = [domain[other] for other in self.on if other != name]
        k = len(self.on)
        minors = math.sqrt(k - 1) ** (k - 1) * math.prod(float(other.size - 1) for other in others)
        return 2 * half(domain[self.attribute]) * k * minors / float(domain[name].step)

    def asked(self) -> str:
        return f"regression of {self.attribute} on {listing(self.on)}"

    def sentence(self, domain: Domain) -> str:
        others = listing([with_unit(domain[name]) for name in self.on])
        told = f"How {with_unit(domain[self.attribute])} changes with {others}: least-squares coefficients"
        return f"{told}, and its value where {'it is' if len(self.on) == 1 else 'they are'} zero{for_each(self.by)}."

    def unit(self, domain: Domain) -> str:
        return f"{product_unit(domain, self.pairs[0])} (sum of products)".lstrip()

    def off_by(self, off: str, each: str, domain: Domain) -> str:  # noqa: ARG002
        unit = product_unit(domain, self.pairs[0])
        return f"The sum of products behind the first coefficient is typically off by {off} {unit}".rstrip() + "."

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing | None:  # noqa: ARG002
        return None  # coefficients are in units of their own


def regression(attribute: str, *, on: Sequence[str], by: Sequence[str] = ()) -> Regression:
    """The least-squares coefficients of a numeric attribute on others."""
    others = names_of(on)
    if not others:
        raise QueryError("this regression is on nothing", fix="write `on: [x]`, the attributes that it depends on")
    if len({*others, attribute}) <= len(others):
        raise QueryError("an attribute is named twice in a regression", fix="name each attribute once")
    return Regression(attribute, others, names_of(by))


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
