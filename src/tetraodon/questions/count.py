"""`count`: how many records there are, or how many satisfy a condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tetraodon.domain import Domain
from tetraodon.questions.answered import Answered, Columns, counted, labels, with_interval
from tetraodon.questions.query import (
    BY,
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
    splits_of,
)
from tetraodon.workload import condition
from tetraodon.workload.contribution import One, Table
from tetraodon.workload.linear import LinearQuery, Split

EVERYBODY = "all"


@dataclass(frozen=True, slots=True)
class Count(Query):
    """How many records there are, or how many satisfy a condition."""

    where: str = ""
    by: tuple[str, ...] = ()

    words: ClassVar = ("count",)
    keys: ClassVar = {"count": Key("text", ""), "by": BY, "whole": WHOLE}
    column: ClassVar = "count"

    @classmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> Count:  # noqa: ARG003
        return count("" if written["count"] == EVERYBODY else written["count"], by=written["by"])

    def document(self) -> Json:
        return {"count": self.where or EVERYBODY}

    def linear(self, domain: Domain) -> LinearQuery:
        by = splits_of(self.by, domain)
        if not self.where:
            return LinearQuery(One(), by)
        names, holds = condition.truth_table(self.where, domain)
        return LinearQuery(Table(names, holds[None, :].astype(np.int64)), by)

    def table(self, domain: Domain) -> tuple[Split, ...]:
        return () if self.where else splits_of(self.by, domain)

    def reading(self, domain: Domain) -> Reading | None:  # noqa: ARG002
        return Cells() if self.by and not self.where else None

    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]:
        return (self.linear(domain),)

    def columns(self, answered: Answered) -> Columns:
        if answered.table is not None:
            return counted(answered.table, answered)
        (measured,) = answered.sums[:1]
        number = measured.numbers[..., 0].astype(np.float64)
        reach = measured.reach(1)
        lower, upper = np.maximum(number - reach, 0), np.maximum(number + reach, 0)
        number = np.maximum(np.round(number), 0) if answered.whole else number
        lower, upper = np.minimum(lower, number), np.maximum(upper, number)
        by = splits_of(self.by, answered.domain)
        return labels(by, answered.domain) | with_interval("count", number, lower, upper)

    def asked(self) -> str:
        return f"records where {self.where}" if self.where else "records"

    def sentence(self, domain: Domain) -> str:  # noqa: ARG002
        told = f"How many records satisfy: {self.where}" if self.where else "How many records there are"
        return f"{told}{for_each(self.by)}."

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing:
        head = "Number of records" + (f" with {self.where}" if self.where else "")
        return Drawing(splits_of(self.by, domain), "records", head, adds_up=bool(table))


def count(where: str = "", *, by: Sequence[str] = ()) -> Count:
    """How many records satisfy a condition such as `"age > 30 and sex = 'Male'"`; all of them without one."""
    return Count(where, names_of(by))
