"""`total`: the sum of a numeric attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tetraodon.domain import Domain
from tetraodon.questions.answered import Answered, Columns, labels, with_interval
from tetraodon.questions.query import (
    BY,
    WEIGHT,
    Declared,
    Drawing,
    Json,
    Key,
    Query,
    addable,
    for_each,
    names_of,
    numeric,
    over_whom,
    splits_of,
    titled,
    with_unit,
)
from tetraodon.workload.linear import LinearQuery, Split
from tetraodon.workload.number import Number


@dataclass(frozen=True, slots=True)
class Total(Query):
    """The sum of a numeric attribute, each record times its public `weight` if one is named."""

    attribute: str
    weight: str = ""
    by: tuple[str, ...] = ()

    words: ClassVar = ("total", "sum")
    keys: ClassVar = {"total": Key("text", ""), "sum": Key("text", ""), "weight": WEIGHT, "by": BY}
    column: ClassVar = "total"

    @classmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> Total:  # noqa: ARG003
        return total(written["total"] or written["sum"], weight=written["weight"], by=written["by"])

    def document(self) -> Json:
        return {"total": self.attribute, **({"weight": self.weight} if self.weight else {})}

    def needs(self) -> tuple[str, ...]:
        return (self.attribute, self.weight) if self.weight else ()

    def linear(self, domain: Domain) -> LinearQuery:
        return weighted_sum(self.attribute, self.weight, self.by, domain)

    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]:
        return (self.linear(domain),)

    def columns(self, answered: Answered) -> Columns:
        (measured,) = answered.sums[:1]
        unit = float(measured.unit)
        number, told = (np.asarray(one, np.float64)[..., 0] * unit for one in (measured.numbers, measured.published))
        reach = unit * measured.off(1)
        lower, upper = np.minimum(number - reach, told), np.maximum(number + reach, told)
        by = splits_of(self.by, answered.domain)
        return labels(by, answered.domain) | with_interval("total", told, lower, upper)

    def asked(self) -> str:
        return f"sum of {self.attribute}" + (f" times {self.weight}" if self.weight else "")

    def sentence(self, domain: Domain) -> str:
        weight = f", each record times its {self.weight}" if self.weight else ""
        attribute = domain[self.attribute]
        return f"The sum of {with_unit(attribute)}{weight}{for_each(self.by)}{over_whom(attribute)}."

    def unit(self, domain: Domain) -> str:
        return domain[self.attribute].unit

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing:  # noqa: ARG002
        times = f"{self.attribute} times {self.weight}" if self.weight else titled(domain[self.attribute])
        return Drawing(splits_of(self.by, domain), f"sum of {times}", f"sum of {times}".capitalize())


def total(attribute: str, *, weight: str = "", by: Sequence[str] = ()) -> Total:
    """The sum of a numeric attribute."""
    return Total(attribute, weight, names_of(by))


def weighted_sum(attribute: str, weight: str, by: Sequence[str], domain: Domain) -> LinearQuery:
    """The sum of an attribute, each record times its weight if one is named."""
    times = numeric(domain, weight) if weight else None
    summed = numeric(domain, attribute) if weight else addable(domain, attribute)
    return LinearQuery(Number(summed, times), splits_of(by, domain))
