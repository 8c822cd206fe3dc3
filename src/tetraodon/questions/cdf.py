"""`cdf`: running counts of an ordered attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tetraodon.domain import Domain
from tetraodon.questions.answered import Answered, Columns, labels, with_counts
from tetraodon.questions.data_shape import SHAPE, shape_of
from tetraodon.questions.query import (
    BY,
    WHOLE,
    Declared,
    Drawing,
    Json,
    Key,
    Query,
    Reading,
    RunningCounts,
    for_each,
    names_of,
    ordered,
    splits_of,
)
from tetraodon.workload.contribution import Prefix
from tetraodon.workload.linear import LinearQuery, Split


@dataclass(frozen=True, slots=True)
class Cdf(Query):
    """How many records have at most each value of an ordered attribute ([HMD14] Def. 7.1)."""

    attribute: str
    by: tuple[str, ...] = ()
    shape: str = ""

    words: ClassVar = ("cdf",)
    keys: ClassVar = {"cdf": Key("text", ""), "by": BY, "whole": WHOLE, "shape": SHAPE}
    column: ClassVar = "at_most"

    @classmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> Cdf:  # noqa: ARG003
        return cdf(written["cdf"], by=written["by"], shape=written["shape"])

    def document(self) -> Json:
        return {"cdf": self.attribute} | ({"shape": self.shape} if self.shape else {})

    def needs(self) -> tuple[str, ...]:
        return (self.attribute,)

    def linear(self, domain: Domain) -> LinearQuery:
        return running_counts(self.attribute, self.by, domain)

    def table(self, domain: Domain) -> tuple[Split, ...]:
        return splits_of((*self.by, self.attribute), domain)

    def reading(self, domain: Domain) -> Reading:  # noqa: ARG002
        return RunningCounts()

    def columns(self, answered: Answered) -> Columns:
        return running_columns(answered)

    def asked(self) -> str:
        return f"running counts of {self.attribute}"

    def sentence(self, domain: Domain) -> str:  # noqa: ARG002
        return f"How many records have {self.attribute} at or below each of its values{for_each(self.by)}."

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing:  # noqa: ARG002
        return drawn_running(table, self.attribute)


def cdf(attribute: str, *, by: Sequence[str] = (), shape: str = "") -> Cdf:
    """Running counts of an ordered attribute; `shape="sparse"` where most records are known to be in few places."""
    return Cdf(attribute, names_of(by), shape_of(shape))


def running_counts(attribute: str, by: Sequence[str], domain: Domain) -> LinearQuery:
    """Running counts of an attribute that has an order."""
    found = ordered(domain, attribute)
    return LinearQuery(Prefix(found.name, found.size, found.size), splits_of(by, domain))


def running_columns(answered: Answered) -> Columns:
    """Running counts as columns."""
    assert answered.table is not None, "running counts are read off a table"
    running, *interval = answered.table.running()
    unbiased = np.cumsum(answered.table.unbiased, axis=-1)
    counts = with_counts("at_most", running, (interval[0], interval[1]), unbiased, answered)
    return labels(answered.axes, answered.domain) | counts


def drawn_running(table: tuple[Split, ...], attribute: str) -> Drawing:
    """A chart of running counts."""
    return Drawing(table, "records at or below the value", f"Running counts of {attribute}", running=True)
