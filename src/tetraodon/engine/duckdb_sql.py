"""DuckDB's own SQL: names and texts for statements that are written by hand, and its differences from other engines."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tetraodon.engine.column import Column
from tetraodon.engine.dialect import (
    DATE,
    DOUBLE,
    Dialect,
    Sql,
    call,
    cast,
    number,
    op,
    plain,
    since_1970,
    string,
    try_cast,
    when,
)

SHORT_LIST = 64
"""Up to here a list is searched faster than an enumeration is hashed, on dictionary-encoded Parquet."""
HUGE = 2**126
"""An unsigned 128-bit number may be larger than any signed one; this is larger than any range."""


def quoted(title: str) -> str:
    """A name as SQL, whatever is in it."""
    return '"' + plain(title).replace('"', '""') + '"'


def text(value: str) -> str:
    """A string as SQL, whatever is in it."""
    return "'" + plain(value).replace("'", "''") + "'"


def _position(value: Sql, labels: Sequence[str]) -> Sql:
    listed = [string(label) for label in labels]
    if len(labels) <= SHORT_LIST:
        return op(exp.Sub, call("LIST_POSITION", exp.Array(expressions=listed), value), number(1))
    kind = exp.DataType(this=exp.DataType.Type.ENUM, expressions=listed)
    return call("ENUM_CODE", exp.TryCast(this=value, to=kind))


def _value(column: Column, place: Sql) -> Sql:
    """Seconds and milliseconds beyond the range of microseconds are no moment: any other use of them fails."""
    return call("TRY", cast(place, "TIMESTAMP")) if column.shown in ("TIMESTAMP_S", "TIMESTAMP_MS") else place


def _utc_days(instant: Sql) -> Sql:
    """By the clock, for taking the date of the first and last instants fails; an infinite one has none."""
    ticks, day = call("EPOCH_US", instant), number(86_400_000_000)
    early = op(exp.LT, op(exp.Mod, ticks, day), number(0))
    return op(exp.Sub, op(exp.IntDiv, ticks, day), when((early, number(1)), otherwise=number(0)))


DUCKDB = Dialect(
    name="duckdb",
    end="\\z",
    collation="binary",
    value=_value,
    longest="INT128",
    wide=True,
    is_nan=lambda value: call("ISNAN", value),
    double=lambda text: try_cast(text, DOUBLE),
    whole=lambda value: call("COALESCE", try_cast(value, "INT128"), number(HUGE)),
    day=lambda text: since_1970(try_cast(text, DATE)),
    utc_days=_utc_days,
    quotient=lambda value, by: op(exp.IntDiv, value, by),
    position=_position,
    sums_apart=True,
)
