"""How an attribute is read from a column and numbered, as Ibis expressions: the twin of `duckdb_sql`.

Dates become days since 1970, so that numbers and dates share one numbering.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, TypeAlias, assert_never

import ibis

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Grid, Integers
from tetraodon.engine.column import REALS, Column, Kind
from tetraodon.engine.ladder import Ladder, decimals_of_doubles, ladder
from tetraodon.engine.written import DAY, FALSE, INSTANT, TRUE, number_pattern
from tetraodon.errors import TableError

Expression: TypeAlias = Any
"""An Ibis column; Ibis has no types for what a column holds."""

EPOCH = dt.date(1970, 1, 1)
WIDEST = "decimal(38, 0)"
MOST_STEPS = 2**50


def present(column: Column, place: Expression) -> Expression:
    """Whether there is a value; NaN is none."""
    held = place.notnull()
    return held & ~place.isnan() if column.kind in REALS else held


def read(attribute: Attribute, column: Column, place: Expression) -> Expression:
    """The value as a number in units, days since 1970, a label or 0/1/2 (neither); NULL if missing or unreadable."""
    if column.kind is Kind.TEXT:
        place = place.cast("string")
    match attribute.values:
        case Integers() | Grid():
            return _number(attribute.values, column, place)
        case Dates():
            return _day(column, place)
        case Categories():
            return _label(column, place)
        case Booleans():
            return _truth(column, place)
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


def _number(values: Integers | Grid, column: Column, place: Expression) -> Expression:
    match column.kind:
        case Kind.INTEGER:
            return place.cast("int64" if rungs(values, column).narrow else WIDEST)
        case Kind.WIDE:
            return place.cast(WIDEST)
        case Kind.DECIMAL:
            return place.cast("string").replace(".", "").cast(WIDEST)
        case Kind.SINGLE:
            return _units(_real(place, place.cast("string").cast("float64")), values)
        case Kind.DOUBLE:
            return _units(_real(place, place), values)
        case Kind.TEXT:
            number = _matching(place, number_pattern("."), place.try_cast("float64"))
            return _units(number, values)
        case _:
            raise _unexpected(column)


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


def _day(column: Column, place: Expression) -> Expression:
    match column.kind:
        case Kind.DATE:
            return _since(place)
        case Kind.TIMESTAMP:
            return _since(place.date())
        case Kind.ZONED:
            return _utc(place)
        case Kind.TEXT:
            plain = place.try_cast("timestamp").notnull().ifelse(_since(place.try_cast("date")), ibis.null("int64"))
            zoned = _matching(place, INSTANT, _utc(place.try_cast("timestamp('UTC')")))
            return place.re_search(f"^({DAY})$").ifelse(plain, zoned)
        case _:
            raise _unexpected(column)


def _since(day: Expression) -> Expression:
    return day.delta(ibis.literal(EPOCH), unit="day").cast("int64")


def _utc(instant: Expression) -> Expression:
    seconds = instant.delta(ibis.timestamp("1970-01-01", timezone="UTC"), unit="second")
    return (seconds // _int(86400)).cast("int64")


def _label(column: Column, place: Expression) -> Expression:
    written = place.cast("string")
    match column.kind:
        case Kind.SINGLE | Kind.DOUBLE:  # 1.0 is spelt '1'
            small = place.abs() < 1e15
            whole = small.ifelse(place, ibis.literal(0.5)).cast("float64")
            whole = small & (whole == whole.floor())
            short = ibis.least(ibis.greatest(place, -1e15), 1e15).cast("int64").cast("string")
            return _real(place, whole.ifelse(short, written))
        case Kind.DECIMAL if column.scale:
            return written.re_replace("[.]?0*$", "")
        case _:
            return written


def _truth(column: Column, place: Expression) -> Expression:
    if column.kind is Kind.BOOLEAN:
        return place.cast("int64")
    if column.kind is Kind.TEXT:
        word = place.lower()
        yes, no = word.isin(list(TRUE)), word.isin(list(FALSE))
    else:
        yes, no = place == 1, place == 0
    return ibis.cases((~present(column, place), ibis.null("int64")), (yes, _int(1)), (no, _int(0)), else_=_int(2))


def _real(place: Expression, value: Expression) -> Expression:
    return place.isnan().ifelse(ibis.null(value.type()), value)


def _matching(place: Expression, pattern: str, value: Expression) -> Expression:
    return place.re_search(f"^({pattern})$").ifelse(value, ibis.null(value.type()))


def _int(number: int) -> Expression:
    return ibis.literal(number, "int64")


def _whole(number: int) -> Expression:
    return _int(number) if abs(number) < 2**63 else ibis.literal(number, WIDEST)


def _unexpected(column: Column) -> TableError:
    return TableError(f"the type {column.shown} is not expected here", fix="convert it", where=column.name)
