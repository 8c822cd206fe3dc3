"""`mean`: the average of a numeric attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tetraodon.arrays import Floats
from tetraodon.domain import Domain
from tetraodon.questions.answered import Answered, Columns, MeasuredSum, labels, with_interval
from tetraodon.questions.count import weighed
from tetraodon.questions.derived import Derived, ends, mean_off
from tetraodon.questions.query import (
    BY,
    WEIGHT,
    Declared,
    Drawing,
    Json,
    Key,
    for_each,
    names_of,
    over_whom,
    records_of,
    splits_of,
    titled,
    with_unit,
)
from tetraodon.questions.total import (
    IN_SHARES,
    NOISE,
    checked_noise,
    off_by_share,
    shown_with,
    weight_and_noise,
    weighted_sum,
)
from tetraodon.workload.disguised import Disguised
from tetraodon.workload.linear import LinearQuery, Split
from tetraodon.workload.number import Number


@dataclass(frozen=True, slots=True)
class Mean(Derived):
    """The average of a numeric attribute, each record counting as much as its `weight` if one is named."""

    attribute: str
    weight: str = ""
    by: tuple[str, ...] = ()
    noise: str = ""

    words: ClassVar = ("mean",)
    keys: ClassVar = {"mean": Key("text", ""), "weight": WEIGHT, "by": BY, "noise": NOISE}
    column: ClassVar = "mean"

    @classmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> Mean:  # noqa: ARG003
        return mean(written["mean"], weight=written["weight"], by=written["by"], noise=written["noise"])

    def document(self) -> Json:
        return {"mean": self.attribute, **weight_and_noise(self.weight, self.noise)}

    def needs(self) -> tuple[str, ...]:
        return (self.attribute, self.weight) if self.weight else ()

    def linear(self, domain: Domain) -> LinearQuery:
        if self.weight:
            weighed(domain, self.weight)
        return weighted_sum(self.attribute, self.weight, self.by, domain)

    def shown(self, domain: Domain) -> Disguised | None:
        return shown_with(self.noise, domain[self.attribute])

    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]:
        """The sum, and what it is divided by: the number of records, or the sum of their weights."""
        if self.noise:
            return ()
        weight = weighed(domain, self.weight) if self.weight else None
        divisor = LinearQuery(
            Number(weight) if weight else records_of(domain[self.attribute]), splits_of(self.by, domain)
        )
        return weighted_sum(self.attribute, self.weight, self.by, domain), divisor

    def columns(self, answered: Answered) -> Columns:
        attribute, by = answered.domain[self.attribute], splits_of(self.by, answered.domain)
        low, high = float(attribute.number(0)), float(attribute.number(attribute.values.size - 1))
        return labels(by, answered.domain) | with_interval("mean", *averages(answered.sums, low, high))

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

    def own_unit(self, domain: Domain) -> str:
        return domain[self.attribute].unit

    def asked(self) -> str:
        return f"mean of {self.attribute}" + (f" weighted by {self.weight}" if self.weight else "")

    def sentence(self, domain: Domain) -> str:
        weight = f", each record counting as much as its {self.weight}" if self.weight else ""
        attribute = domain[self.attribute]
        return f"The average of {with_unit(attribute)}{weight}{for_each(self.by)}{over_whom(attribute)}."

    def unit(self, domain: Domain) -> str:
        return IN_SHARES.get(self.noise, f"{domain[self.attribute].unit} (sum)".lstrip())

    def off_by(self, off: str, each: str, domain: Domain) -> str:  # noqa: ARG002
        if self.noise:
            return off_by_share(off, self.noise)
        return f"The sum behind the average is typically off by {off} {domain[self.attribute].unit}".rstrip() + "."

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing:  # noqa: ARG002
        title = f"average of {titled(domain[self.attribute])}"
        return Drawing(splits_of(self.by, domain), title, title.capitalize())


def averages(sums: Sequence[MeasuredSum], low: float, high: float) -> tuple[Floats, Floats, Floats]:
    """The first sum divided by the second, with the ends of its interval, all between the lowest and highest value."""
    summed, divided = sums[:2]
    unit = float(summed.unit / divided.unit)
    total, records = (np.asarray(one.numbers, np.float64)[..., 0] for one in (summed, divided))
    told, some = (one.published[..., 0] for one in (summed, divided))
    failures = 1 if summed.exact or divided.exact else 2
    reach, unsure = (one.off(failures) for one in (summed, divided))
    fewest, most = records - unsure, records + unsure
    known = fewest >= 1
    middle = np.full(total.shape, (low + high) / 2)
    average = np.clip(np.where(some >= 1, told * unit / np.maximum(some, 1), middle), low, high)
    ends = [(total + sign * reach) * unit / np.maximum(n, 1) for sign in (-1, 1) for n in (fewest, most)]
    lower = np.where(known, np.clip(np.minimum.reduce(ends), low, high), low)
    upper = np.where(known, np.clip(np.maximum.reduce(ends), low, high), high)
    return average, np.minimum(lower, average), np.maximum(upper, average)


def mean(attribute: str, *, weight: str = "", by: Sequence[str] = (), noise: str = "") -> Mean:
    """The average of a numeric attribute, weighted if a weight is named; `noise` is that of `total`."""
    return Mean(attribute, weight, names_of(by), checked_noise(noise, weight))
