"""`total`: the sum of a numeric attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tetraodon.domain import Attribute, Domain
from tetraodon.errors import QueryError
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
from tetraodon.workload.disguised import Disguised
from tetraodon.workload.level_sums import LevelSums
from tetraodon.workload.linear import LinearQuery, Split
from tetraodon.workload.number import Number

EACH_RECORD, LEVELS = "each record", "levels"
IN_SHARES = {EACH_RECORD: "% of one record's value", LEVELS: "% of the largest value"}
"""Where noise may be said to go, and what errors are then told in."""
NOISE = Key("text", "", {"enum": list(IN_SHARES)})


@dataclass(frozen=True, slots=True)
class Total(Query):
    """The sum of a numeric attribute, each record times its public `weight` if one is named."""

    attribute: str
    weight: str = ""
    by: tuple[str, ...] = ()
    noise: str = ""

    words: ClassVar = ("total", "sum")
    keys: ClassVar = {"total": Key("text", ""), "sum": Key("text", ""), "weight": WEIGHT, "by": BY, "noise": NOISE}
    column: ClassVar = "total"

    @classmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> Total:  # noqa: ARG003
        asked = written["total"] or written["sum"]
        return total(asked, weight=written["weight"], by=written["by"], noise=written["noise"])

    def document(self) -> Json:
        return {"total": self.attribute, **weight_and_noise(self.weight, self.noise)}

    def needs(self) -> tuple[str, ...]:
        return (self.attribute, self.weight) if self.weight else ()

    def linear(self, domain: Domain) -> LinearQuery:
        return weighted_sum(self.attribute, self.weight, self.by, domain)

    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]:
        return () if self.noise else (self.linear(domain),)

    def shown(self, domain: Domain) -> Disguised | None:
        return shown_with(self.noise, domain[self.attribute])

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
        return IN_SHARES.get(self.noise, domain[self.attribute].unit)

    def off_by(self, off: str, each: str, domain: Domain) -> str:
        return off_by_share(off, self.noise) if self.noise else super(Total, self).off_by(off, each, domain)

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing:  # noqa: ARG002
        times = f"{self.attribute} times {self.weight}" if self.weight else titled(domain[self.attribute])
        return Drawing(splits_of(self.by, domain), f"sum of {times}", f"sum of {times}".capitalize())


def total(attribute: str, *, weight: str = "", by: Sequence[str] = (), noise: str = "") -> Total:
    """The sum of a numeric attribute; with `noise="each record"`, of values that get noise one by one, and with
    `noise="levels"` of what they have in levels that get noise each.
    """
    return Total(attribute, weight, names_of(by), checked_noise(noise, weight))


def checked_noise(noise: object, weight: str = "") -> str:
    """Where the noise goes: nothing said, on each record's value, or on each level of values."""
    if noise not in ("", *IN_SHARES):
        told = " or ".join(f"`noise: {one}`" for one in IN_SHARES)
        raise QueryError("`noise` says where noise goes", fix=f"write {told}, or leave it out")
    if noise and weight:
        raise QueryError("values with noise that is a share of them are not weighted", fix="leave out weight or noise")
    return str(noise)


def shown_with(noise: str, attribute: Attribute) -> Disguised | None:
    """What is shown of an attribute where noise goes there; None where it goes on the sum."""
    return (LevelSums if noise == LEVELS else Disguised)(attribute) if noise else None


def weight_and_noise(weight: str, noise: str) -> Json:
    """The keys of an item that say so."""
    return ({"weight": weight} if weight else {}) | ({"noise": noise} if noise else {})


def off_by_share(off: str, noise: str) -> str:
    """How far off a sum of values is where noise is a share of them."""
    if noise == LEVELS:
        return f"The sum is typically off by {off}% of the largest value in the table, however many there are."
    return (
        f"One record's value is typically off by {off}% of itself; the sum of many that are alike by that share of the "
        "sum, divided by the square root of how many they are."
    )


def weighted_sum(attribute: str, weight: str, by: Sequence[str], domain: Domain) -> LinearQuery:
    """The sum of an attribute, each record times its weight if one is named."""
    times = numeric(domain, weight) if weight else None
    summed = numeric(domain, attribute) if weight else addable(domain, attribute)
    return LinearQuery(Number(summed, times), splits_of(by, domain))
