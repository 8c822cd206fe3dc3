"""Tables of pyarrow in which DuckDB reads every cell, or finds it missing: no cell makes it refuse a table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.compute
import pyarrow.parquet

from tetraodon.engine.column import require
from tetraodon.errors import TableError

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
