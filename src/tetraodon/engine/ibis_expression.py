"""How an attribute is read from a column and numbered, as Ibis expressions: the twin of `duckdb_sql`.

Dates become days since 1970, so that numbers and dates share one numbering. Engines differ in what they do with a
cast that fails, an infinite date or the end of a text, so nothing here relies on any of it. The dialect is asked only
where Ibis gives one expression several meanings.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, TypeAlias, assert_never

import ibis

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Grid, Integers
from tetraodon.engine.column import REALS, Column, Kind
from tetraodon.engine.ibis_calendar import EPOCH, calendar_day, calendar_instant
from tetraodon.engine.ladder import Ladder, decimals_of_doubles, ladder
from tetraodon.engine.written import DAY, FALSE, INSTANT, TRUE, number_pattern
from tetraodon.errors import TableError

Expression: TypeAlias = Any
"""An Ibis column; Ibis has no types for what a column holds."""

FAR = (ibis.literal(dt.date(1, 1, 1)), ibis.literal(dt.date(9999, 12, 31)))
WIDEST = "decimal(38, 0)"
MOST = 10**37
MOST_STEPS = 2**50
END = {"duckdb": "\\z", "postgres": "$", "pyspark": "\\z"}
"""The end of a text in regular expressions. In Java's, `$` also stands before a last line break."""

SAFE = "[ \\t]*[+-]?[0-9]{0,200}([.][0-9]{0,200})?([eE][+-]?0*[0-9]{1,2})?[ \\t]*"
"""A number that is far from overflowing a double, if it is one at all."""
HUGE = 1e40


def present(column: Column, place: Expression, dialect: str) -> Expression:
    """Whether there is a value; NaN is none."""
    held = place.notnull()
    if column.kind in (Kind.DECIMAL, Kind.WIDE) and dialect == "postgres":  # it keeps NaN in them
        return held & (place.cast("string") != "NaN")
    return held & ~place.isnan() if column.kind in REALS else held


def read(attribute: Attribute, column: Column, place: Expression, dialect: str) -> Expression:
    """The value as a number in units, days since 1970, a label or 0/1/2 (neither); NULL if missing or unreadable."""
    if column.kind is Kind.TEXT:
        place = place.cast("string")
    match attribute.values:
        case Integers() | Grid():
            return _number(attribute.values, column, place, dialect)
        case Dates():
            return _day(column, place, dialect)
        case Categories():
            return _label(column, place, dialect)
        case Booleans():
            return _truth(column, place, dialect)
        case _:
            assert_never(attribute.values)


def outside(attribute: Attribute, column: Column, value: Expression) -> Expression:
    """Whether a value that was read is outside the domain."""
    match attribute.values:
        case Integers() | Grid() | Dates():
            steps = rungs(attribute.values, column)
            return (value < _whole(steps.first)) | (value > _whole(steps.last))
        case Categories():
            return value.notin(list(attribute.values.labels))
        case Booleans():
            return value == 2
        case _:
            assert_never(attribute.values)


def code(attribute: Attribute, column: Column, value: Expression) -> Expression:
    """The code of a value that was read, as an int64 that is never NULL."""
    below = 0 if attribute.other is None else attribute.other
    above = attribute.size - 1 if attribute.other is None else attribute.other
    match attribute.values:
        case Integers() | Grid() | Dates():
            steps = rungs(attribute.values, column)
            first, last, inside = steps.first, steps.last, _numbered(steps, value)
        case Categories():
            places = [(label, _int(place)) for place, label in enumerate(attribute.values.labels)]
            return ibis.cases((value.isnull(), _int(attribute.missing)), else_=value.cases(*places, else_=_int(above)))
        case Booleans():
            first, last, inside = 0, 1, value.cast("int64")
        case _:
            assert_never(attribute.values)
    return ibis.cases(
        (value.isnull(), _int(attribute.missing)),
        (value < _whole(first), _int(below)),
        (value > _whole(last), _int(above)),
        else_=inside,
    )


def rungs(values: Integers | Grid | Dates, column: Column) -> Ladder:
    """The numbering of a column's numbers or days. Refuses what 64 bits cannot number exactly."""
    match values:
        case Dates():
            days = Integers((values.first - EPOCH).days, (values.last - EPOCH).days)
            return ladder(days, 1)
        case Integers() | Grid():
            units = 1
            if column.kind is Kind.DECIMAL:
                units = 10**column.scale
            elif column.kind in REALS or column.kind is Kind.TEXT:
                units = 10 ** decimals_of_doubles(values)
            steps = ladder(values, units)
        case _:
            assert_never(values)
    simple = steps.times == steps.by == 1
    if not (steps.narrow and (simple or values.size < MOST_STEPS)) and not (
        simple and column.kind in (Kind.INTEGER, Kind.WIDE)
    ):
        raise TableError(
            "the range is too wide or too fine for this engine",
            fix="declare a smaller range or a coarser step, or give the table to DuckDB",
            where=column.name,
        )
    return steps


def _number(values: Integers | Grid, column: Column, place: Expression, dialect: str) -> Expression:
    match column.kind:
        case Kind.INTEGER:
            return place.cast("int64" if rungs(values, column).narrow else WIDEST)
        case Kind.WIDE:  # Postgres has whole numbers of any length
            near = ibis.least(ibis.greatest(place, ibis.literal(-MOST, WIDEST)), ibis.literal(MOST, WIDEST))
            return _real(column, dialect, place, near.cast(WIDEST))
        case Kind.DECIMAL:
            return _real(column, dialect, place, place.cast("string").replace(".", "").cast(WIDEST))
        case Kind.SINGLE:  # by way of text: a single 0.1 means one tenth, not the double nearest to it
            return _units(_real(column, dialect, place, place.cast("string").cast("float64")), values)
        case Kind.DOUBLE:
            return _units(_real(column, dialect, place, place), values)
        case Kind.TEXT:
            return _units(_matching(place, number_pattern("."), _written(place, dialect), dialect), values)
        case _:
            raise _unexpected(column)


def _written(place: Expression, dialect: str) -> Expression:
    """A text that looks like a number, as a double; one that is too long for Postgres is huge, or nothing."""
    if dialect != "postgres":
        return place.try_cast("float64")
    huge = place.re_search("^[ \\t]*-").ifelse(-HUGE, HUGE)
    tiny = place.re_search("[eE]-|^[ \\t]*[+-]?0*[.]|^[ \\t]*[+-]?0+[eE]")
    return _matching(place, SAFE, place.cast("float64"), dialect).coalesce(tiny.ifelse(0.0, huge))


def _units(number: Expression, values: Integers | Grid) -> Expression:
    """A double to the nearest whole number of units, halves up; clamped before, so that nothing overflows."""
    digits = decimals_of_doubles(values)
    end = float(f"9e{15 - digits}")
    scaled = ibis.least(ibis.greatest(number, ibis.literal(-end)), ibis.literal(end)) * ibis.literal(10.0**digits)
    floor = scaled.floor().cast("int64")
    half = scaled - floor.cast("float64") >= 0.5
    # Engines differ on whether least() and greatest() pass NULL on.
    return number.notnull().ifelse(floor + half.ifelse(_int(1), _int(0)), ibis.null("int64"))


def _numbered(steps: Ladder, value: Expression) -> Expression:
    clamped = ibis.least(ibis.greatest(value, _whole(steps.first)), _whole(steps.last))
    if not steps.narrow:
        return (clamped.cast(WIDEST) + _whole(steps.plus).cast(WIDEST)).cast("int64")
    clamped = clamped.cast("int64")
    if steps.times == steps.by == 1:
        return clamped + _int(steps.plus)
    scaled = clamped * _int(steps.times) + _int(steps.plus)
    whole = scaled - scaled % _int(steps.by)
    return (whole / _int(steps.by)).round().cast("int64")  # exact: the quotient is whole and below 2^50


def _day(column: Column, place: Expression, dialect: str) -> Expression:
    match column.kind:
        case Kind.DATE:
            return _since(place)
        case Kind.TIMESTAMP:
            return _since(place.date())
        case Kind.ZONED if dialect == "duckdb":  # its session may have any time zone; those of the others keep UTC
            seconds = place.delta(ibis.timestamp("1970-01-01", timezone="UTC"), unit="second")
            return (seconds // _int(86400)).cast("int64")
        case Kind.ZONED:
            return _since(place.date())
        case Kind.TEXT:
            plain = _matching(place, DAY, calendar_day(place), dialect)
            zoned = _matching(place, INSTANT, calendar_instant(place), dialect)
            return plain.coalesce(zoned)
        case _:
            raise _unexpected(column)


def _since(day: Expression) -> Expression:
    """Days since 1970. An infinite date is none; it is looked for only where it can be."""
    finite = (day >= FAR[0]) & (day <= FAR[1]) | day.cast("string").notin(["infinity", "-infinity"])
    return finite.ifelse(day.delta(ibis.literal(EPOCH), unit="day").cast("int64"), ibis.null("int64"))


def _label(column: Column, place: Expression, dialect: str) -> Expression:
    written = place.cast("string")
    match column.kind:
        case Kind.SINGLE | Kind.DOUBLE:  # 1.0 is spelt '1'
            small = place.abs() < 1e15
            whole = small.ifelse(place, ibis.literal(0.5)).cast("float64")
            whole = small & (whole == whole.floor())
            short = ibis.least(ibis.greatest(place, -1e15), 1e15).cast("int64").cast("string")
            return _real(column, dialect, place, whole.ifelse(short, written))
        case Kind.DECIMAL if column.scale:
            return _real(column, dialect, place, written.re_replace("[.]?0*$", ""))
        case _:
            return written


def _truth(column: Column, place: Expression, dialect: str) -> Expression:
    if column.kind is Kind.BOOLEAN:
        return ibis.cases((place.isnull(), ibis.null("int64")), (place, _int(1)), else_=_int(0))
    if column.kind is Kind.TEXT:
        word = place.lower()
        yes, no = word.isin(list(TRUE)), word.isin(list(FALSE))
    else:
        yes, no = place == 1, place == 0
    return ibis.cases(
        (~present(column, place, dialect), ibis.null("int64")), (yes, _int(1)), (no, _int(0)), else_=_int(2)
    )


def _real(column: Column, dialect: str, place: Expression, value: Expression) -> Expression:
    return present(column, place, dialect).ifelse(value, ibis.null(value.type()))


def _matching(place: Expression, pattern: str, value: Expression, dialect: str) -> Expression:
    whole = place.re_search(f"^({pattern}){END[dialect]}")
    return whole.ifelse(value, ibis.null(value.type()))


def _int(number: int) -> Expression:
    return ibis.literal(number, "int64")


def _whole(number: int) -> Expression:
    return _int(number) if abs(number) < 2**63 else ibis.literal(number, WIDEST)


def _unexpected(column: Column) -> TableError:
    return TableError(f"the type {column.shown} is not expected here", fix="convert it", where=column.name)
