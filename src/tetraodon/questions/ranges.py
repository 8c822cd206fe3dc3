"""`ranges`: how many records lie in ranges of an ordered attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from tetraodon.arrays import Bools, Ints
from tetraodon.domain import Attribute, Domain, Value
from tetraodon.errors import QueryError
from tetraodon.questions.answered import (
    Answered,
    Columns,
    CountTable,
    attribute_values,
    labels,
    measured_counts,
    with_counts,
)
from tetraodon.questions.cdf import drawn_running, running_columns
from tetraodon.questions.data_shape import SHAPE, shape_of
from tetraodon.questions.query import (
    BY,
    WHOLE,
    Declared,
    Drawing,
    EveryRange,
    Json,
    Key,
    ListedRanges,
    Places,
    Query,
    Reading,
    for_each,
    listable,
    names_of,
    ordered,
    plain,
    splits_of,
    titled,
)
from tetraodon.wording import number_of
from tetraodon.workload.contribution import AllRanges, Table
from tetraodon.workload.linear import LinearQuery, Split

LISTED_LIMIT = 5_000_000
RANGES_LIMIT = 4 * LISTED_LIMIT
"""The most values that the listed ranges of an item are about, added up: each of them is a row over all values."""


def _ranges(value: object) -> tuple[str, list[tuple[str, str, str]]]:
    """`age`, `{age: [[17, 29]]}`, `{age: {young: [17, 29]}}` or `{age: [{name: young, range: [17, 29]}]}`."""
    fix = "write `ranges: age`, or `ranges: {age: [[17, 29], [30, 64]]}`"
    if isinstance(value, str):
        return value, []
    if not isinstance(value, dict) or len(value) != 1:
        raise QueryError("this does not name ranges of one attribute", fix=fix)
    [(attribute, listed)] = value.items()
    if isinstance(listed, dict):
        named = list(listed.items())
    elif isinstance(listed, list):
        named = [_named_range(part) for part in listed]
    else:
        raise QueryError("this does not list ranges", fix=fix)
    if not named:
        raise QueryError("the list of ranges is empty", fix="list a range, or write `ranges: NAME` for every range")
    for name, pair in named:
        if not isinstance(name, str) or not (isinstance(pair, list) and [type(end) for end in pair] == [str, str]):
            raise QueryError("a range is not a pair", fix="write each range as [low, high]")
        if name and (not name.strip() or len(name) > 200 or not name.isprintable()):
            raise QueryError("the name of a range cannot be printed on one line", fix="write at most 200 characters")
    return attribute, [(name, low, high) for name, (low, high) in named]


def _named_range(part: object) -> tuple[object, object]:
    if isinstance(part, dict) and set(part) == {"name", "range"}:
        return part["name"], part["range"]
    return "", part


_PAIR: Json = {"type": "array", "minItems": 2, "maxItems": 2}
_NAMED: Json = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "range": _PAIR},
    "required": ["name", "range"],
}
_LISTED: Json = {
    "anyOf": [
        {"type": "array", "items": _PAIR},
        {"type": "object", "additionalProperties": _PAIR},
        {"type": "array", "items": _NAMED},
    ]
}
_RANGES_SCHEMA: Json = {
    "anyOf": [
        {"type": "string"},
        {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": _LISTED},
    ]
}


@dataclass(frozen=True, slots=True)
class Ranges(Query):
    """How many records lie in each named range of an ordered attribute, or in every range when none is named."""

    attribute: str
    named: tuple[tuple[str, object, object], ...] = ()
    by: tuple[str, ...] = ()
    shape: str = ""

    words: ClassVar = ("ranges",)
    keys: ClassVar = {"ranges": Key(_ranges, None, _RANGES_SCHEMA), "by": BY, "whole": WHOLE, "shape": SHAPE}
    instead: ClassVar = {"at": "write `ranges: {age: [[17, 29], [30, 64]]}`, or `cdf` for every value"}
    column: ClassVar = "count"
    more_columns: ClassVar = ("range", "low", "high", "at_most")

    @classmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> Ranges:
        name, listed = written["ranges"]
        found = declared.domain[name]
        answered = replace(found, separate=False, missing=0) if found.separate else found
        called = _called(listed, ordered(Domain((answered,)), name), declared)
        return ranges(name, called, by=written["by"], shape=written["shape"])

    def document(self) -> Json:
        named = [{"name": name, "range": [plain(low), plain(high)]} for name, low, high in self.named]
        asked: Json = {"ranges": {self.attribute: named} if named else self.attribute}
        return asked | ({"shape": self.shape} if self.shape else {})

    def needs(self) -> tuple[str, ...]:
        return (self.attribute,)

    def linear(self, domain: Domain) -> LinearQuery:
        attribute = ordered(domain, self.attribute)
        by = splits_of(self.by, domain)
        if not self.named:
            return LinearQuery(AllRanges(attribute.name, attribute.size), by)
        code = np.arange(listable(attribute).size)
        rows = [_inside(attribute, low, high, code) for _, low, high in self.named]
        return LinearQuery(Table((attribute.name,), np.array(rows, np.int64)), by)

    def table(self, domain: Domain) -> tuple[Split, ...]:
        return splits_of((*self.by, self.attribute), domain)

    def reading(self, domain: Domain) -> Reading:
        return ListedRanges(self._ends(domain)) if self.named else EveryRange()

    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]:
        return (self.linear(domain),) if self.named else ()

    def columns(self, answered: Answered) -> Columns:
        if not self.named:
            return running_columns(answered)
        domain, ends = answered.domain, self._ends(answered.domain)
        by = splits_of(self.by, domain)
        shape = (*(split.size(domain) for split in by), len(ends))
        if answered.table is None:
            (measured,) = answered.sums[:1]
            counts = measured_counts(measured, answered, answered.whole)
        else:
            counts = _read_off(answered.table, shape[:-1], ends, answered)
        groups = int(np.prod(shape[:-1], dtype=np.int64))
        values = attribute_values(domain[self.attribute])
        named = {
            "range": np.tile(np.array([name for name, _, _ in self.named], object), groups),
            "low": np.tile(values[[low for low, _ in ends]], groups),
            "high": np.tile(values[[high for _, high in ends]], groups),
        }
        return labels(by, domain, extra=len(ends)) | named | counts

    def asked(self) -> str:
        return (number_of(len(self.named), "range") if self.named else "all ranges") + f" of {self.attribute}"

    def sentence(self, domain: Domain) -> str:  # noqa: ARG002
        asked, each = f"How many records have {self.attribute}", for_each(self.by)
        if self.named:
            return f"{asked} in each of {number_of(len(self.named), 'range')}{each}."
        told = f"{asked} between any two of its values{each}."
        return f"{told} The table holds running counts; the count of a range is the difference of two of them."

    def off_by(self, off: str, each: str, domain: Domain) -> str:
        told = "A range picked at random" if not self.named else each
        return super(Ranges, self).off_by(off, told, domain)  # dataclasses with slots lose the short form

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing:
        if not self.named:
            return drawn_running(table, self.attribute)
        places = Places(f"range of {titled(domain[self.attribute])}", tuple(name for name, _, _ in self.named))
        return Drawing((*splits_of(self.by, domain), places), "records", f"Counts in ranges of {self.attribute}")

    def _ends(self, domain: Domain) -> tuple[tuple[int, int], ...]:
        attribute = domain[self.attribute]
        return tuple((attribute.code(low), attribute.code(high)) for _, low, high in self.named)


def ranges(
    attribute: str,
    named: Mapping[str, Sequence[object]] | Sequence[Sequence[object]] = (),
    *,
    by: Sequence[str] = (),
    shape: str = "",
) -> Ranges:
    """Counts in ranges of an ordered attribute: `{"young": [17, 29]}`, `[[17, 29]]`, or every range there is.

    With `shape="sparse"` where most records are known to be in few places.
    """
    listed = named.items() if isinstance(named, Mapping) else ((f"{low}..{high}", (low, high)) for low, high in named)
    try:
        triples = tuple((str(name), low, high) for name, (low, high) in listed)
    except (TypeError, ValueError):
        raise QueryError("a range is not a pair", fix="write each range as [low, high]") from None
    return Ranges(attribute, triples, names_of(by), shape_of(shape))


def _called(
    listed: list[tuple[str, str, str]], attribute: Attribute, declared: Declared
) -> dict[str, tuple[Value, Value]]:
    """Named ranges; a range without a name is called after its ends."""
    if len(listed) * attribute.size > RANGES_LIMIT or (listed and attribute.size > LISTED_LIMIT):
        raise QueryError(
            f"{attribute.name} has {attribute.size:,} values, too many for {len(listed):,} listed ranges",
            fix="use a coarser attribute, or a cdf",
        )
    named: dict[str, tuple[Value, Value]] = {}
    for name, low, high in listed:
        first, last = declared.code(attribute, low), declared.code(attribute, high)
        label = name or f"{attribute.text(first)}..{attribute.text(last)}"
        if label in named:
            raise QueryError(f"two ranges are called {label!r}", fix="give each its own name")
        named[label] = (attribute.value(first), attribute.value(last))
    return named


def _inside(attribute: Attribute, low: object, high: object, code: Ints) -> Bools:
    first, last = attribute.code(low), attribute.code(high)
    if first > last:
        raise QueryError(f"a range of {attribute.name} is empty", fix="write the smaller end first")
    return np.asarray((first <= code) & (code <= last))


def _read_off(
    table: CountTable, groups: tuple[int, ...], ends: Sequence[tuple[int, int]], answered: Answered
) -> Columns:
    """The count of each range in each group, with its lower and upper end."""
    found, unbiased = [], []
    for row in np.ndindex(groups):
        for low, high in ends:
            mask = np.zeros(table.values.shape, np.bool_)
            mask[row][low : high + 1] = True
            found.append(table.add_up(mask))
            unbiased.append(table.unbiased[mask].sum())
    lower, upper = np.array([one.lower for one in found]), np.array([one.upper for one in found])
    return with_counts("count", np.array([float(one) for one in found]), (lower, upper), np.array(unbiased), answered)
