"""Parquet files that a stranger may have written: what they would unfold to is asked before they are read.

A kilobyte of Parquet can hold a billion equal rows, or a million times the same long text. So the footer must state the
columns and the number of rows that are expected, texts stay numbers of a dictionary until their length is known, and
files are read piece by piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tetraodon.errors import ReleaseError

if TYPE_CHECKING:
    import pyarrow

FOOTER = 16_000_000
TEXTS = 32_000_000
"""Bytes of a footer, and of all different texts of a column."""
BATCH = 1 << 16
KINDS = {"i": "int64", "f": "double", "b": "bool", "M": "date32[day]", "O": "dictionary<values=string, indices=int32"}
"""The columns we write, by numpy's letters for them."""


def parquet_rows(path: Path) -> int:
    """How many rows a Parquet file holds, by its footer alone."""
    import pyarrow

    try:
        return _rows(_footer(path))
    except (pyarrow.ArrowException, OSError, ValueError):
        raise unreadable(path) from None


def _rows(footer: pyarrow.parquet.FileMetaData) -> int:
    """Pre: the footer is parsed once, since it may list a hundred thousand row groups."""
    return sum(footer.row_group(place).num_rows for place in range(footer.num_row_groups))


def _footer(path: Path) -> pyarrow.parquet.FileMetaData:
    from pyarrow import parquet

    with path.open("rb") as file:
        file.seek(-8, 2)
        if int.from_bytes(file.read(4), "little") > FOOTER:
            raise ValueError("a footer without measure")
    return parquet.read_metadata(path)


def read_batches(path: Path, kinds: Mapping[str, str], rows: int) -> Iterator[dict[str, NDArray[Any]]]:
    """The columns of a file, piece by piece. Raises ReleaseError unless it has these columns, so many rows, no gaps."""
    import pyarrow
    from pyarrow import parquet

    try:
        footer = _footer(path)
        if _rows(footer) != rows or _unfolded(footer) > 64 * (rows + 1) * len(kinds) + 2 * TEXTS:
            raise _unfit(path, "another number of rows than it should")
        texts = [name for name, kind in kinds.items() if kind == "O"]
        with parquet.ParquetFile(path, read_dictionary=texts, memory_map=False) as file:
            found = [(field.name, str(field.type)) for field in file.schema_arrow]
            if [name for name, _ in found] != list(kinds) or not all(
                kind.startswith(KINDS[wanted]) for (_, kind), wanted in zip(found, kinds.values(), strict=True)
            ):
                raise _unfit(path, "other columns than it should")
            for batch in file.iter_batches(batch_size=BATCH, use_threads=False):
                yield {name: _array(path, batch.column(place)) for place, name in enumerate(kinds)}
    except (pyarrow.ArrowException, OSError, ValueError, KeyError):  # a KeyError where a column of texts is missing
        raise unreadable(path) from None


def _unfolded(footer: pyarrow.parquet.FileMetaData) -> int:
    """Bytes of all pieces once decompressed, as the footer tells."""
    groups = (footer.row_group(place) for place in range(footer.num_row_groups))
    return sum(group.column(place).total_uncompressed_size for group in groups for place in range(group.num_columns))


def _array(path: Path, found: pyarrow.Array) -> NDArray[Any]:
    """The values of a column without gaps. DLPack hands numbers over without importing pandas, as `to_numpy` does."""
    import pyarrow

    if found.null_count:
        raise _unfit(path, "gaps, which it should not")
    if pyarrow.types.is_dictionary(found.type):
        if found.dictionary.nbytes > TEXTS:
            raise _unfit(path, "longer texts than it should")
        texts: NDArray[Any] = np.array([*found.dictionary.to_pylist(), None], object)
        return np.asarray(texts[np.from_dlpack(found.indices)])
    if pyarrow.types.is_date32(found.type):
        return np.from_dlpack(found.cast(pyarrow.int32())).astype("datetime64[D]")
    if pyarrow.types.is_boolean(found.type):
        return np.from_dlpack(found.cast(pyarrow.int8())).astype(bool)
    return np.from_dlpack(found)


def read_columns(path: Path, kinds: Mapping[str, str], rows: int) -> dict[str, NDArray[Any]]:
    """All of a file that has these columns and so many rows."""
    parts = list(read_batches(path, kinds, rows))
    return {name: np.concatenate([part[name] for part in parts]) for name in kinds} if parts else {}


def read_table(path: Path, *, values: int, texts: int) -> pyarrow.Table:
    """All of a file with any columns, of so many values at most, whose texts unfold to so many bytes at most.

    Why   texts stay numbers of a dictionary, however often they are repeated.
    """
    import pyarrow
    from pyarrow import compute, parquet

    try:
        footer = _footer(path)
        if footer.num_rows * footer.num_columns > values or _unfolded(footer) > 64 * values:
            raise _unfit(path, "more values than can be read")
        schema = parquet.read_schema(path)
        words = [field.name for field in schema if pyarrow.types.is_string(field.type)]
        with parquet.ParquetFile(path, read_dictionary=words, memory_map=False) as file:
            table = file.read(use_threads=False)
        chunks = (chunk for column in table.columns for chunk in column.chunks)
        for chunk in (chunk for chunk in chunks if pyarrow.types.is_dictionary(chunk.type)):
            lengths = compute.binary_length(chunk.dictionary.cast(pyarrow.string()))
            texts -= compute.sum(lengths.take(chunk.indices)).as_py() or 0
    except (pyarrow.ArrowException, OSError, ValueError):
        raise unreadable(path) from None
    if texts < 0:
        raise _unfit(path, "longer texts than can be read")
    return table


def same_columns(path: Path, columns: Mapping[str, NDArray[Any]]) -> bool:
    """Whether a file holds these columns and nothing else, but for the last digits of floating-point numbers."""
    kinds = {name: column.dtype.kind for name, column in columns.items()}
    start = 0
    for batch in read_batches(path, kinds, len(next(iter(columns.values())))):
        stop = start + len(next(iter(batch.values())))
        for name, column in columns.items():
            mine, stated = column[start:stop], batch[name]
            near = np.allclose(stated, mine, rtol=1e-9, atol=1e-9, equal_nan=True) if mine.dtype.kind == "f" else False
            if not (near or (stated == mine).all()):
                return False
        start = stop
    return True


def unreadable(path: Path) -> ReleaseError:
    """A file that is no Parquet file, or a broken one."""
    return ReleaseError("a file of the release cannot be read", fix="ask for a new copy", where=path.name)


def _unfit(path: Path, why: str) -> ReleaseError:
    return ReleaseError(f"a file has {why}", fix="ask for a new copy", where=path.name)
