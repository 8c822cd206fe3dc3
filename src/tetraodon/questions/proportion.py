"""`proportion`: the share of records that satisfy a condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tetraodon.domain import Domain
from tetraodon.questions.answered import Answered, Columns, labels, with_interval
from tetraodon.questions.count import satisfying, weighed, weight_told
from tetraodon.questions.moments import quotient
from tetraodon.questions.query import BY, WEIGHT, Declared, Drawing, Json, Key, Query, for_each, names_of, splits_of
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import LinearQuery, Split
from tetraodon.workload.number import Number


@dataclass(frozen=True, slots=True)
class Proportion(Query):
    """The share of records that satisfy a condition, each counting as much as its `weight` if one is named."""

    where: str
    weight: str = ""
    by: tuple[str, ...] = ()

    words: ClassVar = ("proportion",)
    keys: ClassVar = {"proportion": Key("text", ""), "weight": WEIGHT, "by": BY}
    column: ClassVar = "proportion"

    @classmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> Proportion:  # noqa: ARG003
        return proportion(written["proportion"], weight=written["weight"], by=written["by"])

    def document(self) -> Json:
        return {"proportion": self.where, **({"weight": self.weight} if self.weight else {})}

    def needs(self) -> tuple[str, ...]:
        return names_of(self.weight or ())

    def linear(self, domain: Domain) -> LinearQuery:
        return self.sums(domain)[0]

    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]:
        """How many records satisfy the condition, and how many there are; or the sums of their weights."""
        everybody = Number(weighed(domain, self.weight)) if self.weight else One()
        counted = (satisfying(self.where, self.weight, domain), everybody)
        return tuple(LinearQuery(part, splits_of(self.by, domain)) for part in counted)

    def columns(self, answered: Answered) -> Columns:
        """Post  from 0 to 1; all of it where there may be no records."""
        found = quotient(*answered.sums[:2]).within(0.0, 1.0)
        named = labels(splits_of(self.by, answered.domain), answered.domain, beside=self.column)
        return named | with_interval(self.column, found.value, found.lower, found.upper)

    def asked(self) -> str:
        return f"share of records where {self.where}" + (f", weighted by {self.weight}" if self.weight else "")

    def sentence(self, domain: Domain) -> str:  # noqa: ARG002
        return f"The share of records that satisfy: {self.where}{weight_told(self.weight)}{for_each(self.by)}."

    def unit(self, domain: Domain) -> str:
        return f"{domain[self.weight].unit} (sum)".lstrip() if self.weight else "records"

    def off_by(self, off: str, each: str, domain: Domain) -> str:  # noqa: ARG002
        what = f"sum of {self.weight}" if self.weight else "number of records"
        unit = domain[self.weight].unit if self.weight else ""
        return f"The {what} behind the share is typically off by {off} {unit}".rstrip() + "."

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing:  # noqa: ARG002
        return Drawing(splits_of(self.by, domain), "share of records", f"Share of records with {self.where}")


def proportion(where: str, *, weight: str = "", by: Sequence[str] = ()) -> Proportion:
    """The share of records that satisfy a condition such as `"age > 30"`."""
    return Proportion(where, weight, names_of(by))
