"""A kind of question that the package does not have: `test_one_more_kind.py` puts this file into `query/`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tetraodon.domain import Domain
from tetraodon.query.linear import LinearQuery
from tetraodon.query.moments import Between, FromSums, averages, half
from tetraodon.query.number import Number
from tetraodon.query.query import BY, Answered, Key, Wording, numeric, records_of, splits_of


@dataclass(frozen=True, slots=True)
class Spread(FromSums):
    """The mean squared distance of a numeric attribute from the middle of its declared values."""

    attribute: str
    by: tuple[str, ...] = ()

    words: ClassVar = ("spread",)
    keys: ClassVar = {"spread": Key("text", ""), "by": BY}
    column: ClassVar = "spread"
    wording: ClassVar = Wording(
        "spread of {attribute}", "The spread of {attribute:in}<, for each {by}>.", title="spread of {attribute}"
    )

    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]:
        attribute, by = numeric(domain, self.attribute), splits_of(self.by, domain)
        parts = (Number(attribute, squared=True), records_of(attribute))
        return tuple(LinearQuery(part, by) for part in parts)

    def found(self, answered: Answered) -> Between:
        return averages(answered.sums, 0.0, half(answered.domain[self.attribute]) ** 2)
