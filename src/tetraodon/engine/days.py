"""How a day is read from a column: days since 1970, whatever it is written as and on every engine."""

from __future__ import annotations

import datetime as dt

from sqlglot import exp

from tetraodon.domain.date_format import WrittenDay, written_days
from tetraodon.engine.column import Column, Kind
from tetraodon.engine.dialect import BIG, DATE, Dialect, Sql, among, call, cast, number, op, string, when
from tetraodon.engine.text_patterns import DATE as DATE_PATTERN
from tetraodon.engine.text_patterns import DAY, INSTANT
from tetraodon.errors import TableError

EPOCH = dt.date(1970, 1, 1)
BEFORE_1970 = 719_528
"""Days since the year 0, so that none is negative."""


def days(column: Column, place: Sql, dialect: Dialect, form: str) -> Sql:
    """The day, NULL if there is none; `form` says how a text is written, an ISO date if it says nothing."""
    match column.kind:
        case Kind.DATE | Kind.TIMESTAMP:
            return dialect.days(cast(place, DATE))
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
