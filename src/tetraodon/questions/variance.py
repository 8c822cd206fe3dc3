"""`variance`: the mean squared distance of a numeric attribute from its average."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tetraodon.domain import Domain
from tetraodon.questions.answered import Answered, Columns, labels, with_interval
from tetraodon.questions.derived import Derived, ends, mean_off
from tetraodon.questions.query import (
    BY,
    Declared,
    Drawing,
    Json,
    Key,
    addable,
    for_each,
    names_of,
    over_whom,
    records_of,
    splits_of,
    with_unit,
)
from tetraodon.workload.linear import LinearQuery, Split
from tetraodon.workload.number import Number


@dataclass(frozen=True, slots=True)
class Variance(Derived):
    """The mean squared distance of a numeric attribute from its average: of the records, divided by their number."""

    attribute: str
    by: tuple[str, ...] = ()

    words: ClassVar = ("variance",)
    keys: ClassVar = {"variance": Key("text", ""), "by": BY}
    column: ClassVar = "variance"

    @classmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> Variance:  # noqa: ARG003
        return variance(written["variance"], by=written["by"])

    def document(self) -> Json:
        return {"variance": self.attribute}

    def linear(self, domain: Domain) -> LinearQuery:
        return self.sums(domain)[0]

    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]:
        """The squared distances from the middle of the declared values, the values, and the number of records."""
        attribute, by = addable(domain, self.attribute), splits_of(self.by, domain)
        parts = (Number(attribute, squared=True), Number(attribute), records_of(attribute))
        return tuple(LinearQuery(part, by) for part in parts)

    def columns(self, answered: Answered) -> Columns:
        """Q / n - (S / n - c)^2, for squares Q about the middle c, sum S and n records.

        Post  0 <= lower <= variance <= upper <= (half the declared range)^2; the interval holds the truth with 95%.
        Why   each noisy sum misses its interval with at most its part of 5%. Where all are in theirs, Q / n and the
              average lie between the ends below, and a difference is between those of its parts. No value is farther
              from c than half the range h, so that Q / n is at most h^2.
        """
        attribute, sums = answered.domain[self.attribute], answered.sums
        first, last = float(attribute.number(0)), float(attribute.number(attribute.values.size - 1))
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
        anything = records - unsure < 1
        lower = np.where(anything, 0.0, np.clip(lower, 0, value))
        upper = np.where(anything, most, np.clip(upper, value, most))
        named = labels(splits_of(self.by, answered.domain), answered.domain, beside=self.column)
        return named | with_interval(self.column, value, lower, upper)

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
        return self._square(domain)

    def asked(self) -> str:
        return f"variance of {self.attribute}"

    def sentence(self, domain: Domain) -> str:
        attribute = domain[self.attribute]
        return f"The variance of {with_unit(attribute)}{for_each(self.by)}{over_whom(attribute)}."

    def unit(self, domain: Domain) -> str:
        return f"{self._square(domain)} (sum of squares)".lstrip()

    def off_by(self, off: str, each: str, domain: Domain) -> str:  # noqa: ARG002
        return f"The sum of squares behind the variance is typically off by {off} {self._square(domain)}".rstrip() + "."

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing:  # noqa: ARG002
        unit = self._square(domain)
        title = f"variance of {self.attribute}" + (f" ({unit})" if unit else "")
        return Drawing(splits_of(self.by, domain), title, title.capitalize())

    def _square(self, domain: Domain) -> str:
        unit = domain[self.attribute].unit
        return f"{unit}²" if unit else ""


def variance(attribute: str, *, by: Sequence[str] = ()) -> Variance:
    """The variance of a numeric attribute, over the records that there are."""
    return Variance(attribute, names_of(by))
