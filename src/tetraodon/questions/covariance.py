"""`covariance`: how two numeric attributes vary together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tetraodon.domain import Domain
from tetraodon.errors import QueryError
from tetraodon.questions.answered import Answered, Columns, labels, with_interval
from tetraodon.questions.moments import Between, Moments, Pair, sums_for
from tetraodon.questions.query import BY, Declared, Drawing, Json, Key, Query, for_each, names_of, splits_of, with_unit
from tetraodon.wording import listing
from tetraodon.workload.linear import LinearQuery, Split


@dataclass(frozen=True, slots=True)
class Covariance(Query):
    """The mean product of the distances of two numeric attributes from their averages, over the records."""

    attributes: tuple[str, str]
    by: tuple[str, ...] = ()

    words: ClassVar = ("covariance",)
    keys: ClassVar = {"covariance": Key("names", ()), "by": BY}
    column: ClassVar = "covariance"

    @classmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> Covariance:  # noqa: ARG003
        return cls(two_of(written[cls.words[0]], cls.words[0]), names_of(written["by"]))

    def document(self) -> Json:
        return {self.words[0]: list(self.attributes)}

    def needs(self) -> tuple[str, ...]:
        return self.attributes

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The attributes whose products are added up."""
        return (self.attributes,)

    def linear(self, domain: Domain) -> LinearQuery:
        return self.sums(domain)[0]

    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]:
        return sums_for(self.pairs, self.by, domain)

    def columns(self, answered: Answered) -> Columns:
        found = self.found(Moments(answered, self.pairs))
        named = labels(splits_of(self.by, answered.domain), answered.domain, beside=self.column)
        lower, upper = np.minimum(found.lower, found.value), np.maximum(found.upper, found.value)
        return named | with_interval(self.column, found.value, lower, upper)

    def found(self, moments: Moments) -> Between:
        """The answer, from what was measured."""
        return moments.covariance(*self.attributes)

    def asked(self) -> str:
        return f"{self.words[0]} of {listing(self.attributes)}"

    def sentence(self, domain: Domain) -> str:
        told = listing([with_unit(domain[name]) for name in self.attributes])
        return f"The {self.words[0]} of {told}{for_each(self.by)}."

    def unit(self, domain: Domain) -> str:
        return f"{product_unit(domain, self.attributes)} (sum of products)".lstrip()

    def off_by(self, off: str, each: str, domain: Domain) -> str:  # noqa: ARG002
        unit = product_unit(domain, self.attributes)
        return f"The sum of products behind the {self.words[0]} is typically off by {off} {unit}".rstrip() + "."

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing:  # noqa: ARG002
        title = self.asked()
        return Drawing(splits_of(self.by, domain), title, title.capitalize())


def covariance(x: str, y: str, *, by: Sequence[str] = ()) -> Covariance:
    """The covariance of two numeric attributes, over the records that there are."""
    return Covariance(two_of((x, y), "covariance"), names_of(by))


def two_of(names: Sequence[str], word: str) -> tuple[str, str]:
    """Two different attributes."""
    if len(names) != 2 or names[0] == names[1]:
        raise QueryError(f"a {word} is of two different attributes", fix=f"write `{word}: [x, y]`, or ask a variance")
    return names[0], names[1]


def product_unit(domain: Domain, names: Sequence[str]) -> str:
    """The unit of a product, if its factors have any."""
    return "·".join(domain[name].unit for name in names if domain[name].unit)
