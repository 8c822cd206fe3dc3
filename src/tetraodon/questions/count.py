"""`count`: how many records there are, or how many satisfy a condition; or the sum of their weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tetraodon.domain import Attribute, Domain
from tetraodon.errors import QueryError, Refused
from tetraodon.questions.answered import Answered, Columns, counted, labels, measured_counts
from tetraodon.questions.query import (
    BY,
    WEIGHT,
    WHOLE,
    Cells,
    Declared,
    Drawing,
    Json,
    Key,
    Query,
    Reading,
    for_each,
    names_of,
    numeric,
    splits_of,
    titled,
)
from tetraodon.whole_sums import fits
from tetraodon.workload import condition
from tetraodon.workload.contribution import One, Table
from tetraodon.workload.linear import LinearQuery, Split
from tetraodon.workload.number import Number, writable

EVERYBODY = "all"


@dataclass(frozen=True, slots=True)
class Count(Query):
    """How many records there are, or how many satisfy a condition, each counting as much as its `weight` if one is
    named.
    """

    where: str = ""
    by: tuple[str, ...] = ()
    weight: str = ""

    words: ClassVar = ("count",)
    keys: ClassVar = {"count": Key("text", ""), "weight": WEIGHT, "by": BY, "whole": WHOLE}
    column: ClassVar = "count"

    @classmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> Count:  # noqa: ARG003
        where = "" if written["count"] == EVERYBODY else written["count"]
        return count(where, weight=written["weight"], by=written["by"])

    def document(self) -> Json:
        return {"count": self.where or EVERYBODY, **({"weight": self.weight} if self.weight else {})}

    def needs(self) -> tuple[str, ...]:
        return names_of(self.weight or ())

    def linear(self, domain: Domain) -> LinearQuery:
        by = splits_of(self.by, domain)
        if self.where:
            return LinearQuery(satisfying(self.where, self.weight, domain), by)
        return LinearQuery(Number(weighed(domain, self.weight)) if self.weight else One(), by)

    def table(self, domain: Domain) -> tuple[Split, ...]:
        return () if self.where or self.weight else splits_of(self.by, domain)

    def reading(self, domain: Domain) -> Reading | None:  # noqa: ARG002
        return Cells() if self.by and not self.where and not self.weight else None

    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]:
        return (self.linear(domain),)

    def columns(self, answered: Answered) -> Columns:
        if answered.table is not None:
            return counted(answered.table, answered)
        return added_up(splits_of(self.by, answered.domain), self.weight, answered)

    def asked(self) -> str:
        told = f"records where {self.where}" if self.where else "records"
        return told + (f" weighted by {self.weight}" if self.weight else "")

    def sentence(self, domain: Domain) -> str:  # noqa: ARG002
        told = f"How many records satisfy: {self.where}" if self.where else "How many records there are"
        return f"{told}{weight_told(self.weight)}{for_each(self.by)}."

    def unit(self, domain: Domain) -> str:
        return domain[self.weight].unit if self.weight else "records"

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing:
        head = "Number of records" + (f" with {self.where}" if self.where else "")
        title = f"sum of {titled(domain[self.weight])}" if self.weight else "records"
        return Drawing(splits_of(self.by, domain), title, head, adds_up=bool(table))


def count(where: str = "", *, weight: str = "", by: Sequence[str] = ()) -> Count:
    """How many records satisfy a condition such as `"age > 30 and sex = 'Male'"`; all of them without one."""
    return Count(where, names_of(by), weight)


def weighed(domain: Domain, name: str) -> Attribute:
    """The attribute, if a record can count as much as it says."""
    weight = numeric(domain, name)
    if weight.number(0) < 0:
        raise QueryError(f"{name} can be negative, so that it cannot be a weight", fix="use a weight from 0 upwards")
    return weight


def weight_told(weight: str) -> str:
    """What a sentence says of a weight."""
    return f", each counting as much as its {weight}" if weight else ""


def satisfying(where: str, weight: str, domain: Domain) -> Table:
    """What a record adds that satisfies a condition: one, or its weight."""
    names, holds = condition.truth_table(where, domain)
    if not weight:
        return Table(names, holds[None, :].astype(np.int64))
    number = Number(weighed(domain, weight))
    if weight in names:
        raise QueryError(f"the condition looks at {weight}, the weight", fix="leave one of them out")
    writable(len(holds) * number.attribute.size)
    if not fits(number.longest):
        raise Refused(f"the values of {weight} are too long to add up", fix="use a coarser grid")
    return Table((*names, weight), np.outer(holds, number.columns()[0]).reshape(1, -1), number.unit)


def added_up(by: Sequence[Split], weight: str, answered: Answered) -> Columns:
    """Counts, or sums of weights, which need not be whole, that were measured themselves."""
    (measured,) = answered.sums[:1]
    whole = answered.whole and not weight
    return labels(by, answered.domain) | measured_counts(measured, answered, whole)
