"""Queries along ordered attributes: `cdf`, `ranges`, `rectangles`, `quantiles`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tetraodon.domain import Attribute, Domain, Value
from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Bools, Floats, Ints
from tetraodon.exact.rational import Number, rational
from tetraodon.query.bins import listable
from tetraodon.query.contribution import AllRanges, One, Prefix, Table
from tetraodon.query.linear import LinearQuery, Split
from tetraodon.query.query import (
    BY,
    SHAPE,
    WHOLE,
    Answered,
    Columns,
    CountTable,
    Declared,
    Drawing,
    EveryRange,
    EveryRectangle,
    Json,
    Key,
    ListedRanges,
    Places,
    Query,
    Reading,
    RunningCounts,
    attribute_values,
    column_name,
    counted,
    labels,
    measured_counts,
    names_of,
    ordered,
    plain,
    shape_of,
    splits_of,
    titled,
    with_counts,
)
from tetraodon.wording import listing, number_of

# -- cdf --------------------------------------------------------------------------------------------


class AlongValues(Query):
    """A question that is read off counts of the values of an ordered attribute, in each cell of `by`."""

    __slots__ = ()

    attribute: str

    needed: ClassVar[tuple[str, ...]] = ("attribute",)

    def __post_init__(self) -> None:
        shape_of(self.shape)

    def linear(self, domain: Domain) -> LinearQuery:
        """Running counts of the attribute."""
        found = ordered(domain, self.attribute)
        return LinearQuery(Prefix(found.name, found.size, found.size), splits_of(self.by, domain))

    def table(self, domain: Domain) -> tuple[Split, ...]:
        return splits_of((*self.by, self.attribute), domain)


@dataclass(frozen=True, slots=True)
class Cdf(AlongValues):
    """How many records have at most each value of an ordered attribute ([HMD14] Def. 7.1)."""

    attribute: str
    by: tuple[str, ...] = ()
    shape: str = ""

    words: ClassVar = ("cdf",)
    keys: ClassVar = {"cdf": Key("text", ""), "by": BY, "whole": WHOLE, "shape": SHAPE}
    column: ClassVar = "at_most"

    def reading(self, domain: Domain) -> Reading:  # noqa: ARG002
        return RunningCounts()

    def columns(self, answered: Answered) -> Columns:
        return running_columns(answered)

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing:  # noqa: ARG002
        return drawn_running(table, self.attribute)


def cdf(attribute: str, *, by: Sequence[str] = (), shape: str = "") -> Cdf:
    """Running counts of an ordered attribute; `shape="sparse"` where most records are known to be in few places."""
    return Cdf(attribute, names_of(by), shape)


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


# -- ranges -----------------------------------------------------------------------------------------

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
class Ranges(AlongValues):
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

    def linear(self, domain: Domain) -> LinearQuery:
        attribute = ordered(domain, self.attribute)
        by = splits_of(self.by, domain)
        if not self.named:
            return LinearQuery(AllRanges(attribute.name, attribute.size), by)
        code = np.arange(listable(attribute).size)
        rows = [_inside(attribute, low, high, code) for _, low, high in self.named]
        return LinearQuery(Table((attribute.name,), np.array(rows, np.int64)), by)

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

    def phrases(self, domain: Domain | None) -> dict[str, Any]:
        which = number_of(len(self.named), "range")
        told = {"which": which, "where": f"in each of {which}", "running": ""}
        if not self.named:
            running = " The table holds running counts; the count of a range is the difference of two of them."
            told = {"which": "all ranges", "where": "between any two of its values", "running": running}
        return Query.phrases(self, domain) | told

    def off_by(self, off: str, each: str, domain: Domain) -> str:
        return Query.off_by(self, off, each if self.named else "A range picked at random", domain)

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
    return Ranges(attribute, triples, names_of(by), shape)


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


# -- rectangles -------------------------------------------------------------------------------------
# `rectangles`: how many records lie in any rectangle of a map.


@dataclass(frozen=True, slots=True)
class Rectangles(Query):
    """How many records lie in any rectangle of two ordered attributes."""

    attributes: tuple[str, str]
    shape: str = ""

    words: ClassVar = ("rectangles",)
    keys: ClassVar = {"rectangles": Key("names", ()), "shape": SHAPE}
    column: ClassVar = "count"
    needed: ClassVar = ("attributes",)

    def __post_init__(self) -> None:
        if len(self.attributes) != 2:
            raise QueryError("rectangles need two attributes", fix="write `rectangles: [x, y]`")
        if self.attributes[0] == self.attributes[1]:
            raise QueryError("a rectangle has one attribute for both sides", fix="name two different attributes")
        shape_of(self.shape)

    def linear(self, domain: Domain) -> LinearQuery:
        return LinearQuery(One(), splits_of([ordered(domain, name).name for name in self.attributes], domain))

    def table(self, domain: Domain) -> tuple[Split, ...]:
        return self.linear(domain).by

    def reading(self, domain: Domain) -> Reading:  # noqa: ARG002
        return EveryRectangle()

    def columns(self, answered: Answered) -> Columns:
        assert answered.table is not None, "a map is a table"
        return counted(answered.table, answered)

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing:  # noqa: ARG002
        return Drawing(table, "records", "Map", names_sides=True, adds_up=True)


def rectangles(x: str, y: str, *, shape: str = "") -> Rectangles:
    """Counts in every rectangle of two ordered attributes, such as longitude and latitude.

    With `shape="sparse"` where most records are known to be in few places.
    """
    return Rectangles((x, y), shape)


# -- quantiles --------------------------------------------------------------------------------------
# `quantiles`: the values below which given shares of the records lie.

QUARTILES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
MEDIAN = (Fraction(1, 2),)


@dataclass(frozen=True, slots=True)
class Quantiles(AlongValues):
    """The values below which given shares of the records lie."""

    attribute: str
    at: tuple[Fraction, ...]
    by: tuple[str, ...] = ()
    bounds: bool = True
    """Whether there are to be intervals. Otherwise ranks are nearer to those that are asked for."""

    words: ClassVar = ("quantiles", "median")
    keys: ClassVar = {
        "quantiles": Key("text", ""),
        "median": Key("text", ""),
        "at": Key("numbers", QUARTILES),
        "by": BY,
        "bounds": Key("truth", True),
        "whole": WHOLE,
    }
    column: ClassVar = "quantile"
    numbers: ClassVar = False

    def __post_init__(self) -> None:
        if not self.at:
            raise QueryError("the list of quantiles is empty", fix="list shares, or leave `at` out for quartiles")
        if any(not 0 <= q <= 1 for q in self.at):
            raise QueryError("a quantile is not between 0 and 1", fix="write shares such as 0.1, 0.5, 0.9")

    @classmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> Quantiles:  # noqa: ARG003
        if written["median"] and written["at"] != QUARTILES:
            raise QueryError("a median is the quantile at 0.5", fix="leave `at` out, or write `quantiles`")
        shares = MEDIAN if written["median"] else written["at"]
        return cls(written["median"] or written["quantiles"], shares, written["by"], written["bounds"])

    def reading(self, domain: Domain) -> Reading:  # noqa: ARG002
        return RunningCounts(tuple(sorted(set(self.at))), self.bounds)

    def columns(self, answered: Answered) -> Columns:
        attribute, domain = answered.domain[self.attribute], answered.domain
        codes = self._chosen(answered) if answered.table is None else self._read(answered.table)
        values = attribute_values(attribute)
        found, lower, upper = (values[[code[end] for code in codes]] for end in range(3))
        shares = np.tile(np.array([float(share) for share in self.at]), len(codes) // len(self.at))
        named = labels(splits_of(self.by, domain), domain, extra=len(self.at))
        return named | {"quantile": shares, column_name(self.attribute): found, "lower": lower, "upper": upper}

    def _read(self, table: CountTable) -> list[tuple[int, int, int]]:
        """Codes of the quantiles and of the ends of their intervals, from running counts."""
        lines = (part.reshape(-1, part.shape[-1]) for part in table.running(table.quantile_confidence))
        return [
            read_quantile(mid, low, high, share) for mid, low, high in zip(*lines, strict=True) for share in self.at
        ]

    def _chosen(self, answered: Answered) -> list[tuple[int, int, int]]:
        """The same, where codes were chosen by their ranks."""
        chosen, shares = answered.sums[0], sorted(set(self.at))
        ends = [np.asarray(one, np.int64).reshape(-1, len(shares)) for one in (chosen.numbers, *chosen.ends)]
        cells = np.stack(ends, axis=-1)[:, [shares.index(share) for share in self.at]]
        return [(code, low, high) for code, low, high in cells.reshape(-1, 3).tolist()]

    def phrases(self, domain: Domain | None) -> dict[str, Any]:
        which = "median" if self.at == MEDIAN else "quantiles"
        return Query.phrases(self, domain) | {"which": which, "shares": listing(map(_percent, self.at))}

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing:  # noqa: ARG002
        attribute = domain[self.attribute]
        shares = Places("share of the records", tuple(map(_percent, self.at)))
        return Drawing(
            (*splits_of(self.by, domain), shares), titled(attribute), self.asked().capitalize(), of=attribute
        )


def quantiles(attribute: str, *, at: Sequence[Number] = (), by: Sequence[str] = (), bounds: bool = True) -> Quantiles:
    """Quantiles of an ordered attribute, by default the median and the quartiles; without `bounds`, by their ranks."""
    shares = tuple(rational(q, name="`at`") for q in at) or QUARTILES
    return Quantiles(attribute, shares, names_of(by), bounds)


def median(attribute: str, *, by: Sequence[str] = (), bounds: bool = True) -> Quantiles:
    """The median of an ordered attribute: its quantile at one half."""
    return quantiles(attribute, at=MEDIAN, by=by, bounds=bounds)


def read_quantile(running: Floats, lower: Floats, upper: Floats, share: Fraction) -> tuple[int, int, int]:
    """The first code whose running count reaches the share, and the codes that cannot be ruled out.

    Why   the true quantile x has S(x) >= q n > S(x - 1). It is left out only if the interval of S(x) lies below q n or
          that of S(x - 1) not below it: each happens with half of 5%, since the intervals are symmetric. The total n is
          taken from the last interval: its lower end for the first test, its upper end for the second.
    """
    size = len(running)
    target = _ceiling(float(share) * max(running[-1], 0.0))
    code = min(int(np.searchsorted(np.maximum.accumulate(running), target)), size - 1)
    low_target = _ceiling(float(share) * max(lower[-1], 0.0))
    high_target = _ceiling(float(share) * max(upper[-1], 0.0))
    possible = upper >= low_target
    first = int(np.argmax(possible)) if possible.any() else size - 1
    before = np.concatenate([[-np.inf], lower[:-1]])
    still = np.flatnonzero(before < high_target)
    final = int(still[-1]) if len(still) else 0
    return code, min(first, code), max(final, code)


def _ceiling(target: float) -> float:
    return max(1.0, math.ceil(target - 1e-9))


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):.6g}%"
