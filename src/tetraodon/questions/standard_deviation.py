"""`standard deviation`: how far values of a numeric attribute typically are from their average."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tetraodon.domain import Domain
from tetraodon.questions.answered import Answered, Columns
from tetraodon.questions.query import (
    BY,
    Declared,
    Drawing,
    Json,
    Key,
    for_each,
    names_of,
    splits_of,
    titled,
    with_unit,
)
from tetraodon.questions.variance import Variance
from tetraodon.workload.linear import Split


@dataclass(frozen=True, slots=True)
class StandardDeviation(Variance):
    """The root of the variance, measured and answered as it is."""

    words: ClassVar = ("standard deviation",)
    keys: ClassVar = {"standard deviation": Key("text", ""), "by": BY}
    column: ClassVar = "standard_deviation"

    @classmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> StandardDeviation:  # noqa: ARG003
        return standard_deviation(written["standard deviation"], by=written["by"])

    def document(self) -> Json:
        return {"standard deviation": self.attribute}

    def columns(self, answered: Answered) -> Columns:
        """Why  the root never falls: it is in the roots of an interval wherever the variance is in that interval."""
        roots = (self.column, "lower", "upper")
        found = Variance.columns(self, answered)
        return {name: np.sqrt(column) if name in roots else column for name, column in found.items()}

    def error_of(self, reaches: Sequence[float], records: int, domain: Domain) -> float:
        """Why  two roots are no farther apart than the root of the distance between what they are roots of."""
        return math.sqrt(Variance.error_of(self, reaches, records, domain))

    def own_unit(self, domain: Domain) -> str:
        return domain[self.attribute].unit

    def asked(self) -> str:
        return f"standard deviation of {self.attribute}"

    def sentence(self, domain: Domain) -> str:
        return f"The standard deviation of {with_unit(domain[self.attribute])}{for_each(self.by)}."

    def off_by(self, off: str, each: str, domain: Domain) -> str:
        return Variance.off_by(self, off, each, domain).replace("the variance", "the standard deviation")

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing:  # noqa: ARG002
        title = f"standard deviation of {titled(domain[self.attribute])}"
        return Drawing(splits_of(self.by, domain), title, title.capitalize())


def standard_deviation(attribute: str, *, by: Sequence[str] = ()) -> StandardDeviation:
    """The standard deviation of a numeric attribute, over the records that there are."""
    return StandardDeviation(attribute, names_of(by))
