"""What a column of the table is made of, which attributes can be read from it, and how it fits them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Grid, Integers
from tetraodon.errors import TableError, did_you_mean
from tetraodon.exact.arrays import Ints


class Kind(Enum):
    """The types of columns that mean the same on every engine."""

    INTEGER = "integer"  # fits 64 bits with a sign
    WIDE = "wide integer"
    DECIMAL = "decimal"
    SINGLE = "single precision"
    DOUBLE = "double precision"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    ZONED = "timestamp with time zone"
    STRANGE = "strange"  # nested, binary, a time of day, ...


NUMBERS = frozenset({Kind.INTEGER, Kind.WIDE, Kind.DECIMAL, Kind.SINGLE, Kind.DOUBLE})
REALS = frozenset({Kind.SINGLE, Kind.DOUBLE})
DAYS = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.ZONED})
LABELS = NUMBERS | {Kind.TEXT, Kind.BOOLEAN, Kind.DATE}
FEW = 2**16


@dataclass(frozen=True, slots=True)
class Column:
    """A column as the engine knows it.

    `place` is the name by which the engine refers to it, `shown` its type in the engine's words. For decimals, `width`
    and `scale` count digits: all of them, and those after the point.
    """

    name: str
    place: str
    kind: Kind
    shown: str
    width: int = 0
    scale: int = 0

    def same_type(self, other: Column) -> bool:
        """Whether a query for one column is good for the other."""
        return (self.kind, self.width, self.scale) == (other.kind, other.width, other.scale)

    def __post_init__(self) -> None:
        if self.kind is Kind.DECIMAL and not 0 <= self.scale <= self.width <= 38:
            raise TableError(f"the type {self.shown} is not supported", fix="use at most 38 digits", where=self.name)


@dataclass(frozen=True, slots=True)
class ColumnReport:
    """How a column fits its attribute. Exact, hence for the curator's eyes only; never published.

    Attributes
    ----------
    rows:       rows of the table.
    missing:    rows without a value (or with NaN), counted as the attribute's `missing`.
    unreadable: rows whose text is no number or date, counted as the attribute's `missing`.
    outside:    rows whose value is outside the domain, clamped or counted as `other`.
    fractional: rows whose value has decimals where whole numbers are declared, rounded to the nearest.

    The column that tells individuals apart has a report of its own, the last one: `missing` are rows
    without a key, `outside` are rows that are not counted because their individual has more than allowed.
    """

    name: str
    rows: int
    missing: int
    unreadable: int
    outside: int
    fractional: int = 0

    @classmethod
    def added_up(cls, name: str, place: int, found: Mapping[str, Ints]) -> ColumnReport:
        """From parts of a table: their rows (n); at a place those missing (m), unreadable (u), outside (o) and with
        decimals (d), where any can be."""
        parts = (f"{part}{place}" for part in "muod")
        return cls(name, int(found["n"].sum()), *(int(found[part].sum()) for part in parts if part in found))

    def __post_init__(self) -> None:
        parts = (self.missing, self.unreadable, self.outside)
        if min(*parts, self.fractional) < 0 or max(sum(parts), self.fractional) > self.rows:
            raise TableError("the report of a column does not add up", fix="report this as a bug", where=self.name)

    @property
    def another_type(self) -> bool:
        """Whether there are values, and none of them can be read: the column is not what the policy takes it for."""
        return 0 < self.rows - self.missing == self.unreadable

    @property
    def fits(self) -> bool:
        """Whether every value is there and of the domain."""
        return not (self.missing or self.unreadable or self.outside or self.fractional)


def require(names: Collection[str], wanted: Collection[str]) -> None:
    """Refuse a table that lacks a column, and name the nearest one it has. Names match exactly."""
    for name in wanted:
        if name not in names:
            folded = [known for known in names if known.casefold() == name.casefold()]
            fix = f"did you mean {folded[0]!r}?" if folded else did_you_mean(name, names)
            raise TableError(f"the table has no column {name!r}", fix=fix)


def require_kind(attribute: Attribute, column: Column) -> None:
    """Refuse a column whose type cannot hold the attribute's values. Looks at no record."""
    match attribute.values:
        case Integers() | Grid():
            fits, expected = NUMBERS | {Kind.TEXT}, "a number"
        case Dates():
            fits, expected = DAYS | {Kind.TEXT}, "a date"
        case Categories():
            fits, expected = LABELS, "text, a whole number or a date without time"
        case Booleans():
            fits, expected = NUMBERS | {Kind.TEXT, Kind.BOOLEAN}, "true or false"
        case _:
            assert_never(attribute.values)
    if column.kind not in fits:
        raise TableError(
            f"the column is of type {column.shown} where the policy expects {expected}",
            fix="convert the column, or declare the attribute as what the column holds",
            where=column.name,
        )
    if attribute.size > 2**63:
        raise TableError("the attribute has more than 2^63 values", fix="declare a smaller range", where=attribute.name)


def require_key(column: Column) -> None:
    """Refuse a key that engines would not compare alike."""
    if column.kind is Kind.STRANGE:
        raise TableError(f"the key is of type {column.shown}", fix="use a column of text or numbers", where=column.name)


def numbered_later(attribute: Attribute, column: Column) -> bool:
    """Whether values are better grouped as they are written, and numbered after that.

    Why  a table has far fewer different values than rows, so looking them up afterwards is cheap. Reals and numbers
         in text are left out, for all of them may differ, and so are attributes with so many values that grouping
         twice would cost more.
    """
    match column.kind:
        case Kind.TEXT:
            return not isinstance(attribute.values, Integers | Grid)
        case Kind.INTEGER | Kind.BOOLEAN | Kind.DATE:
            return attribute.size <= FEW
        case _:
            return False
