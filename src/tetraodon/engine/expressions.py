"""How an attribute is read from a column and encoded: SQL expressions built once, for every engine.

Each attribute takes two steps, so that the dry run can tell them apart: `read` makes a number, a label or NULL from
whatever is in the column, and `code` numbers it. Dates become days since 1970, so that numbers and dates share one
numbering. No step can fail on any record: engines differ in what they do with a cast that fails, an infinite date or
the end of a text, so nothing here relies on any of it. What does differ is in `Dialect`.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from sqlglot import exp

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Grid, Integers
from tetraodon.domain.values import WrittenDay, written_days
from tetraodon.engine.column import Column, Kind
from tetraodon.engine.dialect import (
    BIG,
    DOUBLE,
    TEXT,
    Dialect,
    Sql,
    among,
    call,
    cast,
    clamped,
    missing,
    negated,
    number,
    op,
    real,
    string,
    trimmed,
    when,
)
from tetraodon.engine.dialect import DATE as DATE_TYPE
from tetraodon.errors import TableError

# -- text patterns ----------------------------------------------------------------------------------
# What counts as a number, a date or a truth when it is written as text: the same on every engine.
#
# Engines' own casts disagree (one reads `0x1F` or `1_000`, another does not), so text must match here first.

WHOLE = "[ \\t]*[+-]?[0-9]{1,38}[ \\t]*"
"""A whole number that 128 bits hold, or nearly."""

YEAR = "([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
DATE_PATTERN = f"{YEAR}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
HOUR = "([01][0-9]|2[0-3])"
DAY = f"{DATE_PATTERN}([T ]{HOUR}:[0-5][0-9](:[0-5][0-9]([.][0-9]{{1,6}})?)?)?"
"""An ISO date from the year 1; the time of day is ignored, if there is such a time. The month may be shorter."""

INSTANT = f"{DATE_PATTERN}[T ]{HOUR}:[0-5][0-9]:[0-5][0-9]([.][0-9]{{1,6}})?(Z|[+-]{HOUR}(:[0-5][0-9])?)"
"""An ISO date and time with its distance from UTC: it means the date in UTC."""

TRUE = ("true", "t", "yes", "1")
FALSE = ("false", "f", "no", "0")
"""In any case."""

ABSENT = ("", "na", "n/a", "nan", "null", "none", "nil", "-", ".", "?", "#n/a")
"""Words for nothing, in any case: a number or date so written is missing, rather than unreadable."""


def number_pattern(decimal: str) -> str:
    """A number whose decimal mark is one of the characters in `decimal`: `.`, `,` or `.,` for either."""
    mark = f"[{decimal}]"
    return f"[ \\t]*[+-]?([0-9]+{mark}?[0-9]*|{mark}[0-9]+)([eE][+-]?[0-9]+)?[ \\t]*"


# -- grid codes -------------------------------------------------------------------------------------
# From a number to its code in whole numbers only, so that every engine agrees to the last value.
#
# A column's number is first written in *units*: whole multiples of 1/units (hundredths for a DECIMAL with two
# digits after the point, ones for an integer). From there on, the code is one multiplication, one addition
# and one division of integers.

BITS_64 = 2**62
BITS_128 = 2**126
SURE = 9 * 10**15
"""Up to here a double holds every whole number."""


@dataclass(frozen=True, slots=True)
class GridCodes:
    """The number `n / units` is inside if `first <= n <= last`; its code is then `(n*times + plus) // by`."""

    first: int
    last: int
    times: int
    plus: int
    by: int

    def __post_init__(self) -> None:
        if self.reach >= BITS_128:
            raise TableError(
                "the range is too wide or too fine to be counted exactly",
                fix="declare a smaller range or a coarser step",
            )

    @property
    def reach(self) -> int:
        """No intermediate result is larger than this."""
        furthest = max(abs(self.first), abs(self.last))
        return max(furthest * self.times + abs(self.plus), self.by, furthest)

    @property
    def narrow(self) -> bool:
        """Whether 64 bits hold every intermediate result."""
        return self.reach < BITS_64

    @property
    def simple(self) -> bool:
        """Whether the code is the number itself, moved."""
        return self.times == self.by == 1

    @property
    def sure(self) -> bool:
        """Whether a double holds every number inside, and 64 bits every intermediate result."""
        return max(-self.first, self.last) <= SURE and self.narrow

    def code(self, number: int) -> int:
        """The code of a number inside, given in units."""
        return (number * self.times + self.plus) // self.by


def grid_codes(values: Integers | Grid, units: int) -> GridCodes:
    """How to number values that come in multiples of `1 / units`.

    Post  for a grid: x is inside iff low <= x <= high, and its code is floor((x - low)/step + 1/2);
          for integers: x is rounded to floor(x + 1/2) first.

    >>> grid_codes(Grid(Fraction(0), Fraction(1), Fraction(1, 10)), 100).code(35)
    4
    """
    if isinstance(values, Integers):
        half = Fraction(1, 2)
        low, step = Fraction(values.low), Fraction(1)
        first = math.ceil((values.low - half) * units)
        last = math.ceil((values.high + half) * units) - 1
    else:
        low, step = values.low, values.step
        first, last = math.ceil(values.low * units), math.floor(values.high * units)
    slope, start = 1 / (units * step), Fraction(1, 2) - low / step
    by = math.lcm(slope.denominator, start.denominator)
    if isinstance(values, Integers) and units == 1:
        return GridCodes(first, last, 1, -values.low, 1)
    return GridCodes(first, last, int(slope * by), int(start * by), by)


def decimals_of_doubles(values: Integers | Grid) -> int:
    """How many digits after the point a double is rounded to before it is numbered.

    Post  0 for integers; else as many as leave 15 significant digits over the whole range.
    Why   a typed 0.35 means 35 hundredths, not the double just below. 15 digits survive the way through a
          double, and a product rounded to whole numbers below 10^15 is the same on every IEEE machine.
    """
    if isinstance(values, Integers):
        return 0
    furthest = max(abs(values.low), abs(values.high))
    digits = 0
    while digits < 22 and furthest * 10 ** (digits + 1) <= 10**15:
        digits += 1
    if values.step * 10**digits < 4:
        raise TableError(
            "the grid is finer than the 15 digits of a floating-point column",
            fix="declare a coarser step, or store the column as DECIMAL",
        )
    return digits


# -- days -------------------------------------------------------------------------------------------
# How a day is read from a column: days since 1970, whatever it is written as and on every engine.

EPOCH = dt.date(1970, 1, 1)
BEFORE_1970 = 719_528
"""Days since the year 0, so that none is negative."""


def days(column: Column, place: Sql, dialect: Dialect, form: str) -> Sql:
    """The day, NULL if there is none; `form` says how a text is written, an ISO date if it says nothing."""
    match column.kind:
        case Kind.DATE | Kind.TIMESTAMP:
            return dialect.days(cast(place, DATE_TYPE))
        case Kind.ZONED:
            return dialect.utc_days(place)
        case Kind.TEXT if form:
            return when(*(_formed(way, place, dialect) for way in written_days(form)))
        case Kind.TEXT:
            plain, zoned = dialect.matches(place, DAY), dialect.matches(place, INSTANT)
            return when((plain, dialect.day(_part(place, 1, 10))), (zoned, _instant(place, dialect)))
        case _:
            raise unexpected(column)


def _formed(way: WrittenDay, text: Sql, dialect: Dialect) -> tuple[Sql, Sql]:
    """Whether a text is a day written this way, and the day."""
    year, month, day = (_part(text, *place) for place in (way.year, way.month, way.day))
    if way.month[1] == 1:
        month = op(exp.DPipe, string("0"), month)
    if way.day[1] == 1:
        day = op(exp.DPipe, string("0"), day)
    iso = op(exp.DPipe, year, string("-"), month, string("-"), day)
    return dialect.matches(text, way.pattern), when((dialect.matches(iso, DATE_PATTERN), dialect.day(iso)))


def _instant(text: Sql, dialect: Dialect) -> Sql:
    """The day in UTC of a text that matches `INSTANT`; NULL if there is no such day."""
    long, short = call("RIGHT", text, number(6)), call("RIGHT", text, number(3))
    zone = when(
        (among(_part(long, 1, 1), "+-"), long),
        (among(_part(short, 1, 1), "+-"), op(exp.DPipe, short, string(":00"))),
        otherwise=string("+00:00"),
    )
    east = op(exp.Add, op(exp.Mul, _digits(zone, 2), number(60)), _digits(zone, 5))
    away = when((op(exp.EQ, _part(zone, 1, 1), string("-")), op(exp.Sub, number(0), east)), otherwise=east)
    local = op(exp.Add, op(exp.Mul, _digits(text, 12), number(60)), _digits(text, 15))
    day = op(exp.Mul, op(exp.Add, dialect.day(_part(text, 1, 10)), number(BEFORE_1970)), number(1440))
    minute = op(exp.Sub, op(exp.Add, day, local), away)
    return op(exp.Sub, dialect.quotient(minute, number(1440)), number(BEFORE_1970))


def _part(text: Sql, start: int, length: int) -> Sql:
    return call("SUBSTR", text, number(start), number(length))


def _digits(text: Sql, start: int) -> Sql:
    """Two digits as a number."""
    return cast(_part(text, start, 2), BIG)


def unexpected(column: Column) -> TableError:
    """The refusal of a column whose type no attribute of that kind is read from."""
    return TableError(f"the type {column.shown} is not expected here", fix="convert it", where=column.name)


# -- expressions ------------------------------------------------------------------------------------

WIDEST_PRODUCT = 36
"""Up to so many digits, a decimal times a power of ten is exact everywhere."""
NEITHER = 2


@dataclass(frozen=True, slots=True)
class ColumnReader:
    """How the values of an attribute are read from a column, in the SQL of an engine.

    `decimal` are the decimal marks of numbers in text. Every method takes the value in the column, or what was `read`.
    """

    attribute: Attribute
    column: Column
    dialect: Dialect
    decimal: str = "."

    @property
    def held(self) -> Sql:
        """The value in the column."""
        return self.dialect.held(self.column)

    def present(self, place: Sql) -> Sql:
        """Whether there is a value; NaN is none."""
        held = negated(missing(place))
        nan = self.column.kind in self.dialect.nan_kinds
        return op(exp.And, held, negated(self.dialect.is_nan(place))) if nan else held

    def written(self, place: Sql) -> Sql:
        """The value; a text without the blanks around it if the policy says so, NULL if nothing is left."""
        trims = self.column.kind is Kind.TEXT and self.attribute.trim
        return call("NULLIF", call("TRIM", place), string("")) if trims else place

    def answered(self, place: Sql) -> Sql:
        """Whether there is a value; in a text, a word for nothing is none either (`_words_for_nothing`)."""
        text = self.written(place)
        held, words = self.present(text), self._words_for_nothing
        return op(exp.And, held, negated(among(call("LOWER", call("TRIM", text)), words))) if words else held

    @property
    def _words_for_nothing(self) -> tuple[str, ...]:
        """The words that mean a missing value: none that is a value, nor any where missing is no value itself.

        Why   where missing values count as one that is listed, `NA` counts as whatever is not listed does.
        """
        if self.column.kind is not Kind.TEXT:
            return ()
        match self.attribute.values:
            case Integers() | Grid() | Dates():
                return ABSENT
            case Categories(labels=labels) if self.attribute.separate:
                return tuple(word for word in ABSENT if word not in {label.strip().lower() for label in labels})
            case Booleans() if self.attribute.separate:
                return ABSENT
            case _:
                return ()

    def read(self, place: Sql) -> Sql:
        """The value as a number in units, days since 1970, a label or 0/1/2 (neither); NULL if it is none of these."""
        place, values = self.written(place), self.attribute.values
        match values:
            case Integers() | Grid():
                return self._number(values, place)
            case Dates():
                return days(self.column, place, self.dialect, self.attribute.format)
            case Categories() | Booleans():
                if self._words_for_nothing:
                    place = when((self.answered(place), place))
                return self._label(place) if isinstance(values, Categories) else self._truth(place)
            case _:
                assert_never(values)

    def amiss(self, held: Sql, value: Sql) -> dict[str, Sql]:
        """Whether a value is missing (m), unreadable (u) or outside (o), given whether there is one and what it is."""
        return {
            "m": negated(held),
            "u": op(exp.And, held, missing(value)),
            "o": op(exp.And, held, negated(missing(value)), self._outside(value)),
        }

    def _outside(self, value: Sql) -> Sql:
        """Whether a value that was read is outside the domain."""
        match self.attribute.values:
            case Integers() | Grid() | Dates():
                codes = self._codes
                return op(exp.Or, op(exp.LT, value, number(codes.first)), op(exp.GT, value, number(codes.last)))
            case Categories(labels=labels):
                return missing(self.dialect.position(value, labels))
            case Booleans():
                return op(exp.EQ, value, number(NEITHER))
            case _:
                assert_never(self.attribute.values)

    def fractional(self, place: Sql) -> Sql | None:
        """Whether a number is rounded to a whole one; None where no value of the column can be."""
        if not isinstance(self.attribute.values, Integers):
            return None
        place = self.written(place)
        held = self.present(place)
        match self.column.kind:
            case Kind.DECIMAL if self.column.scale:
                return op(exp.And, held, negated(self.dialect.matches(self._label(place), WHOLE)))
            case Kind.SINGLE | Kind.DOUBLE:
                return op(exp.And, held, _uneven(place))
            case Kind.TEXT:
                number_there = self.dialect.matches(place, number_pattern(self.decimal))
                return when((number_there, _uneven(self.dialect.double(self._pointed(place)))), otherwise=exp.false())
            case _:
                return None

    def code(self, value: Sql) -> Sql:
        """The code of a value that was read, as a BIGINT that is never NULL."""
        attribute = self.attribute
        below = number(0 if attribute.other is None else attribute.other)
        above = number(attribute.values.size - 1 if attribute.other is None else attribute.other)
        absent = missing(value), number(attribute.missing)
        match attribute.values:
            case Integers() | Grid() | Dates():
                codes = self._codes
                first, last, inside = codes.first, codes.last, self._numbered(codes, value)
                if codes.simple and attribute.other is None:  # clamping says it all
                    return cast(when(absent, otherwise=inside), BIG)
            case Categories(labels=labels):
                found = call("COALESCE", self.dialect.position(value, labels), above)
                return cast(when(absent, otherwise=found), BIG)
            case Booleans():
                first, last, inside = 0, 1, value
            case _:
                assert_never(attribute.values)
        low, high = op(exp.LT, value, number(first)), op(exp.GT, value, number(last))
        return cast(when(absent, (low, below), (high, above), otherwise=inside), BIG)

    @property
    def _codes(self) -> GridCodes:
        """The numbering of numbers or days, in the units of `read`. Refuses what the engine cannot number."""
        values, kind = self.attribute.values, self.column.kind
        assert isinstance(values, Integers | Grid | Dates)
        if isinstance(values, Dates):
            return grid_codes(Integers((values.first - EPOCH).days, (values.last - EPOCH).days), 1)
        integers = kind in (Kind.INTEGER, Kind.WIDE)
        digits = 0 if integers else self.column.scale if kind is Kind.DECIMAL else decimals_of_doubles(values)
        codes = grid_codes(values, 10**digits)
        if not (self.dialect.wide or codes.narrow or (codes.simple and integers)):
            raise TableError(
                "the range is too wide or too fine for this engine",
                fix="declare a smaller range or a coarser step, or give the table to DuckDB",
                where=self.column.name,
            )
        return codes

    def _number(self, values: Integers | Grid, place: Sql) -> Sql:
        codes, held, column, dialect = self._codes, self.present(place), self.column, self.dialect
        match column.kind:
            case Kind.INTEGER:
                return cast(place, BIG if codes.narrow else dialect.longest)
            case Kind.WIDE:
                return when((held, dialect.whole(place)))
            case Kind.DECIMAL if column.width + column.scale <= WIDEST_PRODUCT:
                times = cast(number(10**column.scale), f"DECIMAL({column.scale + 1}, 0)")
                return when((held, cast(op(exp.Mul, place, times), dialect.longest)))
            case Kind.DECIMAL:
                digits = call("REPLACE", cast(place, TEXT), string("."), string(""))
                return when((held, cast(digits, dialect.longest)))
            case Kind.SINGLE:  # by way of text: a single 0.1 means one tenth, not the double nearest to it
                return self._units(held, cast(cast(place, TEXT), DOUBLE), values, codes)
            case Kind.DOUBLE:
                return self._units(held, place, values, codes)
            case Kind.TEXT:
                matches = dialect.matches(place, number_pattern(self.decimal))
                units = self._units(matches, dialect.double(self._pointed(place)), values, codes)
                if codes.sure:
                    return units
                exact = cast(place, dialect.longest)  # a double would lose whole numbers
                return when((dialect.matches(place, WHOLE), exact), otherwise=units)
            case _:
                raise unexpected(column)

    def _pointed(self, place: Sql) -> Sql:
        return place if self.decimal == "." else call("REPLACE", place, string(","), string("."))

    def _units(self, held: Sql, double: Sql, values: Integers | Grid, codes: GridCodes) -> Sql:
        """A double to the nearest whole number of units, halves up; clamped before, so that nothing overflows.

        Why  the condition is inside, where DuckDB sees that one value is used three times.
        """
        digits = decimals_of_doubles(values)
        most, kind = f"9e{15 - digits}", BIG
        if not codes.sure:
            most, kind = (f"{BITS_64}", BIG) if codes.narrow else ("1e38", self.dialect.longest)
        inside = clamped(double, real(f"-{most}"), real(most))
        scaled = when((held, op(exp.Mul, inside, real(f"1e{digits}")) if digits else inside))
        floor = call("FLOOR", scaled)
        # floor(x + 0.5) would round 0.49999999999999994 up; this way is exact.
        half = op(exp.GTE, op(exp.Sub, scaled, floor), real("0.5"))
        return op(exp.Add, cast(floor, kind), when((half, number(1)), otherwise=number(0)))

    def _numbered(self, codes: GridCodes, value: Sql) -> Sql:
        kind = BIG if codes.narrow else self.dialect.longest
        inside = cast(clamped(value, number(codes.first), number(codes.last)), kind)
        if codes.simple:
            return op(exp.Add, inside, number(codes.plus)) if codes.plus else inside
        scaled = op(exp.Add, op(exp.Mul, inside, number(codes.times)), number(codes.plus))
        return self.dialect.quotient(scaled, number(codes.by))

    def _label(self, place: Sql) -> Sql:
        if self.column.kind is Kind.TEXT:
            return place
        spelt, held = self.dialect.spelt(place), self.present(place)
        match self.column.kind:
            case Kind.SINGLE | Kind.DOUBLE:  # 1.0 is spelt '1'
                large = op(exp.GTE, call("ABS", place), real("1e15"))
                whole = op(exp.EQ, place, call("FLOOR", place)), self.dialect.spelt(cast(place, BIG))
                return when((negated(held), exp.null()), (large, spelt), whole, otherwise=spelt)
            case Kind.DECIMAL if self.column.scale:
                return when((held, trimmed(trimmed(spelt, "0"), ".")))
            case _:
                return spelt

    def _truth(self, place: Sql) -> Sql:
        match self.column.kind:
            case Kind.BOOLEAN:
                yes, no = place, negated(place)
            case Kind.TEXT:
                yes, no = among(call("LOWER", place), TRUE), among(call("LOWER", place), FALSE)
            case _:
                yes, no = op(exp.EQ, place, number(1)), op(exp.EQ, place, number(0))
        absent = negated(self.present(place)), exp.null()
        return when(absent, (yes, number(1)), (no, number(0)), otherwise=number(NEITHER))


def _uneven(double: Sql) -> Sql:
    """Whether a double is no whole number. Beyond 2^53 all are, and Spark's FLOOR overflows."""
    near = op(exp.LT, call("ABS", double), real("1e16"))
    return op(exp.And, near, op(exp.NEQ, double, call("FLOOR", double)))
