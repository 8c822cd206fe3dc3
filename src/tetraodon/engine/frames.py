"""Arrow, pandas and polars tables, converted so that no cell makes DuckDB refuse the table.

pandas gives a column the type `object` as soon as one cell does not fit the others. So that this one cell changes
nothing for the rest, each cell is written as a column of its own type would be read: 1.0 as `1`, True as `true`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import pyarrow
import pyarrow.compute
import pyarrow.parquet

from tetraodon.engine.column import require
from tetraodon.errors import TableError

if TYPE_CHECKING:
    import pandas
    import polars


# -- arrow cells ------------------------------------------------------------------------------------
# Tables of pyarrow in which DuckDB reads every cell, or finds it missing: no cell makes it refuse a table.

TICKS = {"s": 10**6, "ms": 10**3}
"""Of DuckDB's own, which are microseconds."""
ENDLESS = pyarrow.array([-(2**63) + 1, 2**63 - 1])
"""Moments of any unit that DuckDB takes for infinite ones."""
LAST_DAY, MILLISECONDS = 2**31 - 2, 86_400_000


def arrow_table(table: pyarrow.Table, wanted: Collection[str] = ()) -> pyarrow.Table:
    """The wanted columns, or all, in types and with values that DuckDB reads without an error.

    A moment or day beyond DuckDB's range is the last one inside, but for an infinite moment, as where DuckDB reads the
    file itself; a text that is no UTF-8 is missing.
    """
    names = chosen(wanted, table.column_names)
    return pyarrow.table({name: _readable(table.column(name)) for name in names})


def chosen(wanted: Collection[str], known: list[str]) -> list[str]:
    """The names of the columns to be read, each of which is there once."""
    require(known, wanted)
    names = list(dict.fromkeys(wanted or known))
    for name in names:
        if known.count(name) > 1:
            raise TableError(f"two columns are named {name!r}", fix="give each its own name")
    return names


def parquet_parts(paths: Sequence[Path], wanted: Collection[str]) -> Iterator[pyarrow.Table]:
    """The wanted columns of Parquet files in parts, the first of which is empty and of the types that all have."""
    names = list(dict.fromkeys(wanted))
    schema = None
    for path in paths:
        with pyarrow.parquet.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
            if schema is None:
                yield (first := _without_dictionaries(arrow_table(file.schema_arrow.empty_table(), names)))
                schema = first.schema
            for batch in file.iter_batches(columns=names):
                yield arrow_table(pyarrow.table(batch), names).cast(schema)


def _without_dictionaries(table: pyarrow.Table) -> pyarrow.Table:
    """The same columns, those of dictionaries as their values."""
    kinds = [kind.value_type if pyarrow.types.is_dictionary(kind) else kind for kind in table.schema.types]
    return table.cast(pyarrow.schema(list(zip(table.column_names, kinds, strict=True))))


def _readable(column: pyarrow.ChunkedArray) -> Any:
    types, kind = pyarrow.types, column.type
    if types.is_dictionary(kind):
        return column if _is_utf8(column) else _readable(column.cast(kind.value_type))
    if types.is_timestamp(kind) and kind.unit in TICKS:
        ticks, each = column.cast(pyarrow.int64()), TICKS[kind.unit]
        inside = pyarrow.compute.multiply(_clamped(ticks, (2**63 - 2) // each), each)
        endless = pyarrow.compute.is_in(ticks, ENDLESS)
        return pyarrow.compute.if_else(endless, ticks, inside).cast(pyarrow.timestamp("us", kind.tz))
    if types.is_date64(kind):
        return _clamped(column.cast(pyarrow.int64()), LAST_DAY * MILLISECONDS).cast(kind)
    if types.is_float16(kind):
        return column.cast(pyarrow.float32())
    if types.is_decimal256(kind):
        return column.cast(pyarrow.string())
    if _is_text(kind) and not _is_utf8(column):
        return pyarrow.array([_decoded(cell) for cell in column.cast(pyarrow.large_binary()).to_pylist()], kind)
    return column


def _is_text(kind: pyarrow.DataType) -> bool:
    types = pyarrow.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_utf8(column: pyarrow.ChunkedArray) -> bool:
    try:
        column.validate(full=True)
    except pyarrow.ArrowInvalid:
        return False
    return True


def _decoded(cell: bytes | None) -> str | None:
    with suppress(UnicodeDecodeError):
        return None if cell is None else cell.decode()
    return None


def _clamped(ticks: pyarrow.ChunkedArray, most: int) -> pyarrow.ChunkedArray:
    """Moments or days that are at most so many ticks away from 1970."""
    compute = pyarrow.compute
    least = compute.max_element_wise(ticks, -most, skip_nulls=False)
    return compute.min_element_wise(least, most, skip_nulls=False)


# -- frame cells ------------------------------------------------------------------------------------

WHOLE_BELOW = 1e15
"""Reals below are spelt as whole numbers if they are."""
INFINITE = "1e400"
"""Larger than any number, in a form that is read as one."""
DIGITS = 400
LARGEST = 10**DIGITS
"""No number from here on is written out: it is infinite, and the inverse of one is 0."""


def polars_table(frame: polars.DataFrame, wanted: Collection[str]) -> pyarrow.Table:
    """A polars frame as `arrow_table` makes one."""
    return arrow_table(narrowed(frame.select(chosen(wanted, frame.columns))).to_arrow())


def narrowed(frame: Any) -> Any:
    """A polars frame or query with whole numbers of 128 bits as text, for pyarrow has no such type."""
    import polars

    wide = [name for name, kind in frame.collect_schema().items() if str(kind) in ("Int128", "UInt128")]
    return frame.with_columns(polars.col(wide).cast(polars.String)) if wide else frame


def pandas_table(frame: pandas.DataFrame, wanted: Collection[str]) -> pyarrow.Table:
    """A pandas frame as `arrow_table` makes one; columns of objects and of categories as text."""
    known = [str(name) for name in frame.columns]
    names = chosen(wanted, known)
    return arrow_table(pyarrow.table({name: _series(frame.iloc[:, known.index(name)]) for name in names}))


def _series(series: pandas.Series[Any]) -> Any:
    import pandas

    kind = series.dtype
    if isinstance(kind, pandas.CategoricalDtype):
        codes = series.cat.codes.to_numpy()  # -1 where the value is missing
        return _texts(kind.categories).take(pyarrow.array(codes, mask=codes < 0))
    if kind == np.dtype(object) or (isinstance(kind, pandas.StringDtype) and kind.storage == "python"):
        return _texts(series)
    made = None
    with suppress(pyarrow.ArrowNotImplementedError, pyarrow.ArrowTypeError):
        made = pyarrow.array(series, from_pandas=True)
    strange = made is None or isinstance(kind, pandas.PeriodDtype | pandas.IntervalDtype)
    return pyarrow.nulls(len(series), pyarrow.binary()) if strange else made


def _texts(cells: Any) -> pyarrow.StringArray:
    return pyarrow.array([spelt(cell) for cell in cells], pyarrow.string())


def spelt(cell: object) -> str | None:
    """A cell as text, None if it is missing or of a type that no attribute is read from.

    >>> [spelt(cell) for cell in (1, 1.0, 2.5, True, Decimal("1.50"), dt.date(2026, 1, 2), float("nan"), b"x")]
    ['1', '1', '2.5', 'true', '1.5', '2026-01-02', None, None]
    """
    match cell:
        case str():
            return None if any("\ud800" <= letter <= "\udfff" for letter in cell) else cell
        case bool() | np.bool_():
            return "true" if cell else "false"
        case int() | np.integer():
            return str(int(cell)) if abs(int(cell)) < LARGEST else _real(math.inf if cell > 0 else -math.inf)
        case float() | np.floating():
            return _real(cell)
        case Decimal():
            return _fixed(cell)
        case dt.datetime() | np.datetime64() if cell != cell:  # not a time
            return None
        case dt.datetime():
            return cell.isoformat(" ", "microseconds")
        case dt.date() | UUID() | np.datetime64():
            return str(cell)
        case _:
            return None


def _real(number: float | np.floating[Any]) -> str | None:
    value = float(number)
    if math.isnan(value):
        return None
    if math.isinf(value):
        return INFINITE if value > 0 else f"-{INFINITE}"
    if value.is_integer() and abs(value) < WHOLE_BELOW:
        return str(int(value))
    return str(number)  # of a single, the shortest text that means it


def _fixed(number: Decimal) -> str | None:
    if number.is_nan():
        return None
    if not number or number.adjusted() <= -DIGITS:
        return "0"
    if number.is_infinite() or number.adjusted() >= DIGITS:
        return _real(math.copysign(math.inf, number))
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
