"""How an attribute is read from a column and numbered, as DuckDB SQL.

Each attribute takes two steps, so that the dry run can tell them apart: `read` makes a typed value or NULL
from whatever is in the column, and `code` numbers it. No step can fail on any record.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import assert_never

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Grid, Integers
from tetraodon.engine.column import REALS, Column, Kind
from tetraodon.engine.ladder import Ladder, decimals_of_doubles, ladder
from tetraodon.engine.written import DAY, FALSE, INSTANT, TRUE, WHOLE, number_pattern
from tetraodon.errors import TableError

SHORT_LIST = 64
"""Up to here a list is searched faster than an enumeration is hashed, on dictionary-encoded Parquet."""


SURE = 9 * 10**15
"""Up to here a double holds every whole number."""


def quoted(name: str) -> str:
    """A name as SQL, whatever is in it."""
    return '"' + _plain(name).replace('"', '""') + '"'


def text(value: str) -> str:
    """A string as SQL, whatever is in it."""
    return "'" + _plain(value).replace("'", "''") + "'"


def present(column: Column) -> str:
    """Whether there is a value; NaN is none."""
    held = f"({column.place} IS NOT NULL)"
    return f"({held} AND NOT isnan({column.place}))" if column.kind in REALS else held


def read(attribute: Attribute, column: Column, decimal: str) -> str:
    """The value as a number in units, a date, a label or 0/1/2 (neither); NULL if missing or unreadable."""
    match attribute.values:
        case Integers() | Grid():
            return _number(attribute.values, column, decimal)
        case Dates():
            return _day(column)
        case Categories():
            return _label(column)
        case Booleans():
            return _truth(column)
        case _:
            assert_never(attribute.values)


def outside(attribute: Attribute, column: Column, value: str) -> str:
    """Whether a value that was read is outside the domain."""
    match attribute.values:
        case Integers() | Grid():
            steps = rungs(attribute.values, column)
            return f"({value} < {steps.first} OR {value} > {steps.last})"
        case Dates():
            return f"({value} < {_date(attribute.values.first)} OR {value} > {_date(attribute.values.last)})"
        case Categories():
            return f"({_position(attribute.values.labels, value)} IS NULL)"
        case Booleans():
            return f"({value} = 2)"
        case _:
            assert_never(attribute.values)


def code(attribute: Attribute, column: Column, value: str) -> str:
    """The code of a value that was read, as a BIGINT that is never NULL."""
    below = 0 if attribute.other is None else attribute.other
    above = attribute.size - 1 if attribute.other is None else attribute.other
    match attribute.values:
        case Integers() | Grid():
            steps = rungs(attribute.values, column)
            ends, inside = (str(steps.first), str(steps.last)), _numbered(steps, value)
            plain = steps.times == steps.by == 1
        case Dates():
            ends = _date(attribute.values.first), _date(attribute.values.last)
            inside, plain = f"(least(greatest({value}, {ends[0]}), {ends[1]}) - {ends[0]})", True
        case Categories():
            found = f"coalesce({_position(attribute.values.labels, value)}, {above})"
            return _big(f"CASE WHEN {value} IS NULL THEN {attribute.missing} ELSE {found} END")
        case Booleans():
            ends, inside, plain = ("0", "1"), value, False
        case _:
            assert_never(attribute.values)
    if plain and attribute.other is None:  # clamping says it all
        return f"CASE WHEN {value} IS NULL THEN {_big(str(attribute.missing))} ELSE {_big(inside)} END"
    return _big(
        f"CASE WHEN {value} IS NULL THEN {attribute.missing} WHEN {value} < {ends[0]} THEN {below} "
        f"WHEN {value} > {ends[1]} THEN {above} ELSE {_big(inside)} END"
    )


def rungs(values: Integers | Grid, column: Column) -> Ladder:
    """The numbering of a column's numbers, in the units that `read` gives them in."""
    match column.kind:
        case Kind.INTEGER | Kind.WIDE:
            return ladder(values, 1)
        case Kind.DECIMAL:
            return ladder(values, 10**column.scale)
        case _:
            return ladder(values, 10 ** decimals_of_doubles(values))


def _number(values: Integers | Grid, column: Column, decimal: str) -> str:
    place, steps = column.place, rungs(values, column)
    narrow = max(-steps.first, steps.last) <= SURE and steps.narrow
    match column.kind:
        case Kind.INTEGER:
            return f"CAST({place} AS {'BIGINT' if steps.narrow else 'HUGEINT'})"
        case Kind.WIDE:  # an unsigned 128-bit number may be larger than any signed one
            return f"CASE WHEN {place} IS NOT NULL THEN coalesce(TRY_CAST({place} AS HUGEINT), {2**126}) END"
        case Kind.DECIMAL if column.width + column.scale < 38:
            return f"CAST({place} * CAST({10**column.scale} AS DECIMAL({column.scale + 1}, 0)) AS HUGEINT)"
        case Kind.DECIMAL:
            return f"CAST(replace(CAST({place} AS VARCHAR), '.', '') AS HUGEINT)"
        case Kind.SINGLE:  # by way of text: a single 0.1 means one tenth, not the double nearest to it
            shortest = f"CAST(CAST({place} AS VARCHAR) AS DOUBLE)"
            return _units(f"(CASE WHEN NOT isnan({place}) THEN {shortest} END)", values, narrow)
        case Kind.DOUBLE:
            return _units(f"(CASE WHEN NOT isnan({place}) THEN {place} END)", values, narrow)
        case Kind.TEXT:
            return _written(values, column, decimal, narrow)
        case _:
            raise _unexpected(column)


def _written(values: Integers | Grid, column: Column, decimal: str, narrow: bool) -> str:
    place = f"CAST({column.place} AS VARCHAR)"
    pointed = place if decimal == "." else f"replace({place}, ',', '.')"
    double = f"TRY_CAST({pointed} AS DOUBLE)"
    number = f"(CASE WHEN {_matches(place, number_pattern(decimal))} THEN {double} END)"
    if narrow:
        return _units(number, values, narrow)
    # Beyond 2^53 a double would lose whole numbers.
    if isinstance(values, Integers):
        whole = f"CASE WHEN {_matches(place, WHOLE)} THEN TRY_CAST({place} AS HUGEINT) END"
        return f"coalesce({whole}, {_units(number, values, narrow)})"
    return _units(number, values, narrow)


def _units(number: str, values: Integers | Grid, narrow: bool) -> str:
    """A double to the nearest whole number of units, halves up; clamped before, so that nothing overflows."""
    digits = decimals_of_doubles(values)
    end = f"{9 if narrow else 1}e{(15 if narrow else 38) - digits}"
    scaled = (
        f"(CASE WHEN {number} > {end} THEN {end} WHEN {number} < -{end} THEN -{end} ELSE {number} END * 1e{digits})"
    )
    floor = f"floor({scaled})"
    kind = "BIGINT" if narrow else "HUGEINT"
    # floor(x + 0.5) would round 0.49999999999999994 up; this way is exact.
    return f"CAST({floor} + CASE WHEN {scaled} - {floor} >= 0.5 THEN 1 ELSE 0 END AS {kind})"


def _numbered(steps: Ladder, value: str) -> str:
    clamped = f"least(greatest({value}, {steps.first}), {steps.last})"
    clamped = f"CAST({clamped} AS {'BIGINT' if steps.narrow else 'HUGEINT'})"
    if steps.times == steps.by == 1:
        return f"({clamped} + ({steps.plus}))"
    return f"(({clamped} * {steps.times} + ({steps.plus})) // {steps.by})"


def _day(column: Column) -> str:
    match column.kind:
        case Kind.DATE | Kind.TIMESTAMP:
            day = f"CAST({column.place} AS DATE)"
            return f"CASE WHEN isfinite({day}) THEN {day} END"
        case Kind.ZONED:
            day = f"CAST(({column.place} AT TIME ZONE 'UTC') AS DATE)"
            return f"CASE WHEN isfinite({day}) THEN {day} END"
        case Kind.TEXT:
            place = f"CAST({column.place} AS VARCHAR)"
            zoned = f"CAST((TRY_CAST({place} AS TIMESTAMPTZ) AT TIME ZONE 'UTC') AS DATE)"
            plain = f"CASE WHEN TRY_CAST({place} AS TIMESTAMP) IS NOT NULL THEN TRY_CAST({place} AS DATE) END"
            return f"CASE WHEN {_matches(place, DAY)} THEN {plain} WHEN {_matches(place, INSTANT)} THEN {zoned} END"
        case _:
            raise _unexpected(column)


def _label(column: Column) -> str:
    written = f"CAST({column.place} AS VARCHAR)"
    match column.kind:
        case Kind.SINGLE | Kind.DOUBLE:  # 1.0 is spelt '1'
            whole = f"{column.place} = floor({column.place}) AND abs({column.place}) < 1e15"
            return (
                f"CASE WHEN isnan({column.place}) THEN NULL WHEN {whole} "
                f"THEN CAST(CAST({column.place} AS BIGINT) AS VARCHAR) ELSE {written} END"
            )
        case Kind.DECIMAL if column.scale:
            return f"rtrim(rtrim({written}, '0'), '.')"
        case _:
            return written


def _truth(column: Column) -> str:
    place = column.place
    if column.kind is Kind.BOOLEAN:
        return f"CAST({place} AS BIGINT)"
    if column.kind is Kind.TEXT:
        word = f"lower(CAST({place} AS VARCHAR))"
        yes, no = (f"{word} IN ({', '.join(map(text, words))})" for words in (TRUE, FALSE))
    else:
        yes, no = f"{place} = 1", f"{place} = 0"
    return f"CASE WHEN NOT {present(column)} THEN NULL WHEN {yes} THEN 1 WHEN {no} THEN 0 ELSE 2 END"


def _position(labels: Sequence[str], value: str) -> str:
    listed = ", ".join(text(label) for label in labels)
    if len(labels) <= SHORT_LIST:
        return f"(list_position([{listed}], {value}) - 1)"
    return f"CAST(enum_code(TRY_CAST({value} AS ENUM({listed}))) AS BIGINT)"


def _matches(place: str, pattern: str) -> str:
    return f"regexp_full_match({place}, {text(pattern)})"


def _date(day: dt.date) -> str:
    return f"DATE '{day.isoformat()}'"


def _big(expression: str) -> str:
    return f"CAST({expression} AS BIGINT)"


def _plain(string: str) -> str:
    """SQL has no way to write a NUL, and UTF-8 none for half a surrogate pair."""
    if "\0" in string or any("\ud800" <= letter <= "\udfff" for letter in string):
        raise TableError("a name or label holds a character that no database can store", fix="remove the character")
    return string


def _unexpected(column: Column) -> TableError:
    return TableError(f"the type {column.shown} is not expected here", fix="convert it", where=column.name)
