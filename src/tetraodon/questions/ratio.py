"""`ratio`: the total of one numeric attribute divided by that of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tetraodon.domain import Domain
from tetraodon.questions.answered import Answered, Columns, labels, with_interval
from tetraodon.questions.count import weighed
from tetraodon.questions.covariance import two_of
from tetraodon.questions.moments import quotient
from tetraodon.questions.query import (
    BY,
    WEIGHT,
    Declared,
    Drawing,
    Json,
    Key,
    Query,
    for_each,
    names_of,
    numeric,
    splits_of,
    with_unit,
)
from tetraodon.workload.linear import LinearQuery, Split
from tetraodon.workload.number import Number


@dataclass(frozen=True, slots=True)
class RatioOfTotals(Query):
    """The total of one numeric attribute for each unit of another, each record times its `weight` if one is named."""

    attributes: tuple[str, str]
    weight: str = ""
    by: tuple[str, ...] = ()

    words: ClassVar = ("ratio",)
    keys: ClassVar = {"ratio": Key("names", ()), "weight": WEIGHT, "by": BY}
    column: ClassVar = "ratio"

    @classmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> RatioOfTotals:  # noqa: ARG003
        return RatioOfTotals(two_of(written["ratio"], "ratio"), written["weight"], names_of(written["by"]))

    def document(self) -> Json:
        return {"ratio": list(self.attributes), **({"weight": self.weight} if self.weight else {})}

    def needs(self) -> tuple[str, ...]:
        return (*self.attributes, *names_of(self.weight or ()))

    def linear(self, domain: Domain) -> LinearQuery:
        return self.sums(domain)[0]

    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]:
        """The two totals."""
        weight = weighed(domain, self.weight) if self.weight else None
        by = splits_of(self.by, domain)
        return tuple(LinearQuery(Number(numeric(domain, name), weight), by) for name in self.attributes)

    def columns(self, answered: Answered) -> Columns:
        """Post  where the second attribute is always above zero, no ratio is beyond those of single records.

        Why   it is then an average of theirs, each counting as much as its share of the second total.
        """
        found = quotient(*answered.sums[:2])
        above, below = (answered.domain[name] for name in self.attributes)
        if below.number(0) > 0:
            tops = [above.number(code) for code in (0, above.size - 1)]
            ends = [float(top / below.number(code)) for top in tops for code in (0, below.size - 1)]
            found = found.within(min(ends), max(ends))
        named = labels(splits_of(self.by, answered.domain), answered.domain, beside=self.column)
        return named | with_interval(self.column, found.value, found.lower, found.upper)

    def asked(self) -> str:
        above, below = self.attributes
        return f"ratio of {above} to {below}" + (f", weighted by {self.weight}" if self.weight else "")

    def sentence(self, domain: Domain) -> str:
        above, below = (with_unit(domain[name]) for name in self.attributes)
        weight = f", each record times its {self.weight}" if self.weight else ""
        return f"The sum of {above}, divided by that of {below}{weight}{for_each(self.by)}."

    def unit(self, domain: Domain) -> str:
        return f"{domain[self.attributes[0]].unit} (sum)".lstrip()

    def off_by(self, off: str, each: str, domain: Domain) -> str:  # noqa: ARG002
        above = domain[self.attributes[0]]
        return f"The sum of {above.name} behind the ratio is typically off by {off} {above.unit}".rstrip() + "."

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing:  # noqa: ARG002
        units = [domain[name].unit for name in self.attributes]
        title = f"ratio of {self.attributes[0]} to {self.attributes[1]}"
        title += f" ({' per '.join(units)})" if all(units) else ""
        return Drawing(splits_of(self.by, domain), title, title.capitalize())


def ratio(above: str, below: str, *, weight: str = "", by: Sequence[str] = ()) -> RatioOfTotals:
    """The total of a numeric attribute divided by that of another."""
    return RatioOfTotals(two_of((above, below), "ratio"), weight, names_of(by))
