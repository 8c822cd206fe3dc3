"""Queries that count records: `count`, `histogram`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from tetraodon.domain import Attribute, Domain
from tetraodon.errors import QueryError, Refused, did_you_mean
from tetraodon.exact.arrays import fits
from tetraodon.query import condition
from tetraodon.query.bins import Bins, binned, without_missing
from tetraodon.query.contribution import One, Table, writable
from tetraodon.query.linear import LinearQuery, Split
from tetraodon.query.number import Number
from tetraodon.query.query import (
    BY,
    WEIGHT,
    WHOLE,
    Answered,
    Cells,
    Columns,
    Declared,
    Drawing,
    Json,
    Key,
    Query,
    Reading,
    TypedBins,
    counted,
    labels,
    measured_counts,
    names_of,
    numeric,
    plain,
    splits_of,
)
from tetraodon.wording import listing

# -- count ------------------------------------------------------------------------------------------
# `count`: how many records there are, or how many satisfy a condition; or the sum of their weights.

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

    needed: ClassVar = ("weight",)

    @classmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> Count:  # noqa: ARG003
        where = "" if written["count"] == EVERYBODY else written["count"]
        return cls(where, written["by"], written["weight"])

    def document(self) -> Json:
        return {**Query.document(self), "count": self.where or EVERYBODY}

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

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing | None:
        drawn = Query.drawing(self, domain, table)
        return drawn and replace(drawn, adds_up=bool(table))


def count(where: str = "", *, weight: str = "", by: Sequence[str] = ()) -> Count:
    """How many records satisfy a condition such as `"age > 30 and sex = 'Male'"`; all of them without one."""
    return Count(where, names_of(by), weight)


def weighed(domain: Domain, name: str) -> Attribute:
    """The attribute, if a record can count as much as it says."""
    weight = numeric(domain, name)
    if weight.number(0) < 0:
        raise QueryError(f"{name} can be negative, so that it cannot be a weight", fix="use a weight from 0 upwards")
    return weight


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


# -- histogram --------------------------------------------------------------------------------------

SECRET_BLOCKS = "secret blocks"


def _bins(value: object) -> dict[str, TypedBins]:
    """Groups, with names or without, a width, a level, or `secret blocks`, for each attribute that is named."""
    if not isinstance(value, dict):
        raise QueryError("`bins` is not a map", fix="write `bins: {age: [[17, 29], [30, 90]]}` or `bins: {age: 10}`")
    for groups in value.values():
        listed = list(groups.values()) if isinstance(groups, dict) else groups
        good = isinstance(listed, list) and all(
            isinstance(group, list) and group and all(isinstance(part, str) for part in group) for group in listed
        )
        if not isinstance(groups, str) and not (good and listed):
            raise QueryError(
                "a bin is not a list of values",
                fix=f"write [[17, 29], [30, 90]], {{young: [17, 29], old: [30, 90]}}, a width, or `{SECRET_BLOCKS}`",
            )
        for name in groups if isinstance(groups, dict) else ():
            if not name.strip() or len(name) > 200 or not name.isprintable():
                raise QueryError("the name of a bin cannot be printed on one line", fix="write at most 200 characters")
    return value


_BINS_SCHEMA: Json = {
    "type": "object",
    "additionalProperties": {
        "anyOf": [
            {"type": "array", "items": {"type": "array", "minItems": 1}},
            {"type": "object", "minProperties": 1, "additionalProperties": {"type": "array", "minItems": 1}},
            {"type": "number"},
            {"type": "string"},
        ]
    },
}


@dataclass(frozen=True, slots=True)
class Histogram(Query):
    """How many records there are in every cell of some attributes, or in every bin of them."""

    attributes: tuple[str, ...]
    bins: tuple[tuple[str, Bins], ...] = ()
    weight: str = ""
    called: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Names of the bins of some of the attributes."""

    words: ClassVar = ("histogram",)
    keys: ClassVar = {
        "histogram": Key("names", ()),
        "bins": Key(_bins, {}, _BINS_SCHEMA),
        "weight": WEIGHT,
        "by": BY,
        "whole": WHOLE,
    }
    column: ClassVar = "count"
    if_too_long: ClassVar = "ask for fewer attributes, or for `bins` of them"
    needed: ClassVar = ("weight",)

    @classmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> Histogram:
        names, typed, domain = (*written["histogram"], *written["by"]), written["bins"], declared.domain
        if not written["histogram"]:
            raise QueryError("the histogram has no attribute", fix="name one, or write `count: all`")
        for name in typed:
            if name not in names:
                raise QueryError(f"`bins` names {name!r}", fix=did_you_mean(name, names))
        found = {
            name: declared.bins(without_missing(domain[name]), typed[name]) for name in domain.names if name in typed
        }
        bins = {
            name: dict(zip(called, groups, strict=True)) if called else groups
            for name, (groups, called) in found.items()
        }
        return histogram(*written["histogram"], bins=bins, weight=written["weight"], by=written["by"])

    def document(self) -> Json:
        bins: Json = {name: plain(groups) for name, groups in self.bins}
        bins |= {name: dict(zip(called, bins[name], strict=True)) for name, called in self.called}
        rest = {key: told for key, told in (("bins", bins), ("weight", self.weight)) if told}
        return {"histogram": list(self.attributes), **rest}

    def linear(self, domain: Domain) -> LinearQuery:
        counted = Number(weighed(domain, self.weight)) if self.weight else One()
        bins, called = dict(self.bins), dict(self.called)
        splits = (binned(name, bins.get(name), domain, called.get(name, ())) for name in self.attributes)
        return LinearQuery(counted, tuple(splits))

    def table(self, domain: Domain) -> tuple[Split, ...]:
        return () if self.weight else self.linear(domain).by

    def reading(self, domain: Domain) -> Reading | None:  # noqa: ARG002
        return None if self.weight else Cells()

    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]:
        return (self.linear(domain),) if self.weight else ()

    def columns(self, answered: Answered) -> Columns:
        if self.weight:
            return added_up(self.linear(answered.domain).by, self.weight, answered)
        assert answered.table is not None, "a histogram is a table"
        return counted(answered.table, answered)

    def phrases(self, domain: Domain | None) -> dict[str, Any]:
        binned = dict(self.bins)
        parts = [f"{name} (in {len(binned[name])} groups)" if name in binned else name for name in self.attributes]
        cells = {"cell": "value" if len(parts) == 1 else "combination", "parts": listing(parts)}
        return Query.phrases(self, domain) | cells | {"bins_of": "bins" if binned else ""}

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing:
        if self.weight:
            title = self._said(self.wording.title, domain)
            return Drawing(self.linear(domain).by, title, "Weighted histogram", names_sides=True)
        return Drawing(table, "records", "Histogram", names_sides=True, adds_up=True)


def histogram(
    *attributes: str,
    bins: Mapping[str, Sequence[Sequence[object]] | Mapping[str, Sequence[object]]] | None = None,
    weight: str = "",
    by: Sequence[str] = (),
) -> Histogram:
    """Counts in every cell of the attributes; `bins={"age": [[17, 29], [30, 90]]}` counts groups of values, which
    `{"age": {"young": [17, 29], "old": [30, 90]}}` names.

    `by` names further attributes: a histogram of age by sex is a histogram of age and sex.
    """
    given = bins or {}
    called = {name: tuple(groups) for name, groups in given.items() if isinstance(groups, Mapping)}
    listed = {name: list(groups.values()) if isinstance(groups, Mapping) else groups for name, groups in given.items()}
    grouped = {name: tuple(tuple(group) for group in groups) for name, groups in listed.items()}
    names = (*attributes, *names_of(by))
    for name in grouped:
        if name not in names:
            raise QueryError(f"`bins` names {name!r}", fix=did_you_mean(name, names))
    return Histogram(names, tuple(grouped.items()), weight, tuple(called.items()))
