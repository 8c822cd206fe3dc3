"""The files of a view: attribute values as database columns, and tuples in Parquet and CSV.

Every row group but the last has the same number of rows. Cutting them where the sampler happens to pause would tell how
many tuples of a group are noise.
"""

from __future__ import annotations

import errno
import glob
import math
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

import duckdb
import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.engine.duckdb_source import quoted as identifier
from tetraodon.engine.duckdb_source import text
from tetraodon.errors import DomainError
from tetraodon.exact.arrays import Floats, Ints
from tetraodon.releases.open_formats import harmless_cell, harmless_sql
from tetraodon.views.sampling import Cells
from tetraodon.wording import listing

if TYPE_CHECKING:
    import pyarrow


# -- columns ----------------------------------------------------------------------------------------
# Values of an attribute as a column that any reader of Parquet understands.
#
# Categories are text, integers BIGINT, real numbers DOUBLE (the nearest one), dates DATE and booleans BOOLEAN. The view
# and every count over the domain use these columns, so that a condition means the same in both.

MOST_CELLS = 2**63 - 1
"""Cells are numbered in 64 bits."""

Codes = NDArray[np.unsignedinteger[Any]] | NDArray[np.signedinteger[Any]]


def require_numbered(domain: Domain) -> None:
    """Refuse a domain whose cells do not have numbers of 64 bits, or whose missing values stand apart."""
    if apart := [attribute.name for attribute in domain if attribute.separate]:
        raise DomainError(
            f"missing values of {listing(apart)} stand apart, and tables of records have no place for them yet",
            fix="write `missing:` one of the other values",
        )
    if domain.size > MOST_CELLS:
        raise DomainError(
            "the domain has more than 2^63 tuples, too many to publish a view of",
            fix="declare fewer attributes, or coarser ones",
        )


def column(attribute: Attribute, codes: Codes) -> pyarrow.Array:
    """The values at some positions."""
    import pyarrow

    values = attribute.values
    match values:
        case Categories():
            places = _plain(codes.astype(np.int32), pyarrow.int32())
            return pyarrow.DictionaryArray.from_arrays(places, _texts(values.labels))
        case Booleans():
            bits = np.packbits(codes.astype(bool), bitorder="little")
            return pyarrow.Array.from_buffers(pyarrow.bool_(), len(codes), [None, pyarrow.py_buffer(bits)])
        case Integers():
            return _plain(codes.astype(np.int64) + np.int64(values.low), pyarrow.int64())
        case Grid():
            numbers = _numbers(values)[codes] if values.size <= 1 << 20 else _far(values, codes)
            return _plain(numbers, pyarrow.float64())
        case Dates():
            first = np.datetime64(values.first, "D").astype(np.int64)
            return _plain((codes.astype(np.int64) + first).astype(np.int32), pyarrow.date32())
        case _:
            assert_never(values)


def _plain(numbers: NDArray[Any], kind: pyarrow.DataType) -> pyarrow.Array:
    """An array as a column, where it lies. (`pyarrow.array` would import pandas, which takes seconds.)"""
    import pyarrow

    return pyarrow.Array.from_buffers(kind, len(numbers), [None, pyarrow.py_buffer(np.ascontiguousarray(numbers))])


def _texts(labels: Sequence[str]) -> pyarrow.Array:
    import pyarrow

    words = [label.encode() for label in labels]
    ends = np.cumsum([0, *map(len, words)]).astype(np.int32)
    parts = [None, pyarrow.py_buffer(ends), pyarrow.py_buffer(b"".join(words))]
    return pyarrow.Array.from_buffers(pyarrow.string(), len(words), parts)


def columns(domain: Domain, cells: NDArray[np.uint64]) -> dict[str, pyarrow.Array]:
    """The values of some cells of a domain, one column for each attribute."""
    return {a.name: column(a, codes) for a, codes in zip(domain, codes_of(domain, cells), strict=True)}


def codes_in(attribute: Attribute, found: pyarrow.Array) -> NDArray[np.uint64]:
    """The positions of the values in a column that `column` made."""
    values = attribute.values
    match values:
        case Categories():
            places = {label: place for place, label in enumerate(values.labels)}
            listed = found if hasattr(found, "dictionary") else found.dictionary_encode()
            own = np.array([places[str(label)] for label in listed.dictionary.to_pylist()], np.uint64)
            return np.asarray(own[_held(listed.indices, np.int32)], np.uint64)
        case Booleans():
            bits = np.unpackbits(np.frombuffer(found.buffers()[1], np.uint8), bitorder="little")
            return bits[found.offset : found.offset + len(found)].astype(np.uint64)
        case Integers():
            return (_held(found, np.int64) - np.int64(values.low)).astype(np.uint64)
        case Grid():
            low, step = float(values.low), float(values.step)
            return np.rint((_held(found, np.float64) - low) / step).astype(np.uint64)
        case Dates():
            first = np.datetime64(values.first, "D").astype(np.int64)
            return (_held(found, np.int32).astype(np.int64) - first).astype(np.uint64)
        case _:
            assert_never(values)


def _held(found: pyarrow.Array, kind: Any) -> NDArray[Any]:
    """A column's numbers, where they lie."""
    return np.frombuffer(found.buffers()[1], kind)[found.offset : found.offset + len(found)]


def codes_of(domain: Domain, cells: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
    """The positions of some cells in each attribute."""
    codes = []
    for size in reversed(domain.shape[1:]):
        whole = cells // np.uint64(size)
        codes.append(cells - whole * np.uint64(size))
        cells = whole
    return [cells, *reversed(codes)]


def cells_of(domain: Domain, codes: Ints) -> NDArray[np.uint64]:
    """The numbers of the cells at some positions, one row of `codes` for each."""
    return cells_at(domain, [codes[:, place].astype(np.uint64) for place in range(len(domain.shape))])


def cells_at(domain: Domain, codes: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """The numbers of the cells at some positions, one array of `codes` for each attribute."""
    cells = np.zeros(len(codes[0]), np.uint64)
    for part, size in zip(codes, domain.shape, strict=True):
        cells *= np.uint64(size)
        cells += part
    return cells


def _numbers(values: Grid) -> Floats:
    return np.array([float(values.number(code)) for code in range(values.size)])


def _far(values: Grid, codes: Codes) -> Floats:
    return np.array([float(values.number(int(code))) for code in codes])


# -- sql value --------------------------------------------------------------------------------------
# The values of an attribute as a database holds them: one type, and the value at each code.
#
# The tuples of a view and the tuples of the whole domain are made by the same expressions, so that a condition means
# the same on both.

WIDEST = 38
"""Digits of the widest exact decimal."""


def sql_type(attribute: Attribute) -> str:
    """The database's type for an attribute's values: exact whenever the values have finitely many decimals.

    >>> sql_type(Attribute("weight", Grid(Fraction(0), Fraction(100), Fraction(1, 2))))
    'DECIMAL(6, 1)'
    """
    match attribute.values:
        case Integers():
            return "BIGINT" if _fits(attribute, 62) else "HUGEINT"
        case Grid():
            places = decimals(attribute.values)
            if places is None:
                return "DOUBLE"
            digits = max(len(str(abs(_units(attribute.number(code), places)))) for code in (0, attribute.size - 1))
            return f"DECIMAL({max(digits, places) + 2}, {places})" if digits + 2 <= WIDEST else "DOUBLE"
        case Dates():
            return "DATE"
        case Booleans():
            return "BOOLEAN"
        case Categories():
            return "VARCHAR"
        case _:
            assert_never(attribute.values)


def sql_value(attribute: Attribute, code: str) -> str:
    """The value at a code, as an expression of the database over an expression for the code."""
    kind = sql_type(attribute)
    match attribute.values:
        case Integers():
            return f"CAST(CAST({code} AS {kind}) + ({attribute.values.low}) AS {kind})"
        case Grid():
            low, step = attribute.values.low, attribute.values.step
            if kind == "DOUBLE":
                top, below = _over(low, step)
                return f"((CAST({code} AS DOUBLE) * {top[1]} + {top[0]}) / {below})"
            places = decimals(attribute.values) or 0
            whole = f"CAST({code} AS HUGEINT) * {_units(step, places)} + ({_units(low, places)})"
            unit = f"CAST({_decimal(places)} AS DECIMAL({places + 1}, {places}))"
            return f"CAST(CAST({whole} AS DECIMAL({WIDEST - places - 1}, 0)) * {unit} AS {kind})"
        case Dates():
            return f"(DATE '{attribute.values.first.isoformat()}' + CAST({code} AS INTEGER))"
        case Booleans():
            return f"({code} = 1)"
        case Categories():
            return f"([{', '.join(map(text, attribute.values.labels))}])[{code} + 1]"
        case _:
            assert_never(attribute.values)


def sql_code(attribute: Attribute, column: str) -> str:
    """The code of a value that a view's file holds, as an expression of the database over its column."""
    values = attribute.values
    match values:
        case Integers():
            return f"(CAST({column} AS {sql_type(attribute)}) - ({values.low}))"
        case Grid():
            low, step = repr(float(values.low)), repr(float(values.step))
            return f"CAST(round((CAST({column} AS DOUBLE) - ({low})) / {step}) AS BIGINT)"
        case Dates():
            return f"CAST(CAST({column} AS DATE) - DATE '{values.first.isoformat()}' AS BIGINT)"
        case Booleans():
            return f"CAST({column} AS BIGINT)"
        case Categories():
            return f"CAST(enum_code(CAST({column} AS ENUM({', '.join(map(text, values.labels))}))) AS BIGINT)"
        case _:
            assert_never(values)


def decimals(values: Grid) -> int | None:
    """How many decimals the values of a grid need; None when no number of them is enough."""
    below = _over(values.low, values.step)[1]
    for places in range(WIDEST // 2):
        if 10**places % below == 0:
            return places
    return None


def _over(low: Fraction, step: Fraction) -> tuple[tuple[int, int], int]:
    """The two numbers over one denominator."""
    below = math.lcm(low.denominator, step.denominator)
    return (int(low * below), int(step * below)), below


def _units(number: Fraction, places: int) -> int:
    return int(number * 10**places)


def _decimal(places: int) -> str:
    return "1" if places == 0 else f"0.{'0' * (places - 1)}1"


def _fits(attribute: Attribute, bits: int) -> bool:
    return all(abs(attribute.number(code)) < 2**bits for code in (0, attribute.size - 1))


# -- tuple files ------------------------------------------------------------------------------------

GROUP = 1 << 20
TUPLES = "tuples.parquet"
PARTS = {name: f"parts/{name}.parquet" for name in ("fresh", "rows", "before")}
"""The two parts of a later view of a series, and what earlier ones showed."""


def write_tuples(domain: Domain, parts: Iterable[Cells], path: Path, *, group: int = GROUP) -> int:
    """Write the tuples of some cells, in their order; how many there are. Raises OSError if the disk is full.

    Why  one thread encodes a group while the next is drawn; at most two groups are in memory.
    """
    import pyarrow
    from pyarrow import parquet

    schema = pyarrow.schema([(name, array.type) for name, array in columns(domain, np.zeros(1, np.uint64)).items()])
    written = 0
    with (
        parquet.ParquetWriter(path, schema, compression="zstd", compression_level=1, write_statistics=True) as writer,
        ThreadPoolExecutor(1) as pool,
    ):

        def write(cells: Cells) -> None:
            batch = pyarrow.table(columns(domain, cells), schema=schema)
            writer.write_table(batch, row_group_size=group)

        waiting: Future[None] | None = None
        for cells in regrouped(parts, group):
            if waiting is not None:
                waiting.result()
            waiting = pool.submit(write, cells)
            written += len(cells)
        if waiting is not None:
            waiting.result()
    return written


def read_tuples(domain: Domain, path: Path, *, group: int = GROUP) -> Iterator[Cells]:
    """The cells of a file that `write_tuples` wrote, in parts."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=group, columns=list(domain.names)):
            yield cells_at(domain, [codes_in(attribute, batch.column(attribute.name)) for attribute in domain])


def regrouped(parts: Iterable[Cells], group: int) -> Iterator[Cells]:
    """The same cells in parts of `group`, but for the last.

    >>> [part.tolist() for part in regrouped([np.arange(3, dtype=np.uint64), np.arange(4, dtype=np.uint64)], 2)]
    [[0, 1], [2, 0], [1, 2], [3]]
    """
    waiting: list[Cells] = []
    held = 0
    for part in parts:
        waiting.append(part)
        held += len(part)
        while held >= group:
            whole = np.concatenate(waiting)
            yield whole[:group]
            waiting, held = [whole[group:]], held - group
    if held:
        yield np.concatenate(waiting)


def write_csv(parquet: Path, csv: Path) -> None:
    """The same rows as CSV, in the same order; what a spreadsheet would run is spelt as `spreadsheet.py` says."""
    source = f"read_parquet({text(glob.escape(str(parquet)))})"
    with duckdb.connect() as connection:
        try:
            found = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
            cells = ", ".join(_cell(str(name), str(kind)) for name, kind, *_ in found)
            connection.execute(f"COPY (SELECT {cells} FROM {source}) TO {text(str(csv))} (HEADER)")
        except duckdb.Error as error:
            raise OSError(errno.ENOSPC, "cannot write") from error


def _cell(name: str, kind: str) -> str:
    value = harmless_sql(identifier(name)) if kind == "VARCHAR" else identifier(name)
    return f"{value} AS {identifier(harmless_cell(name))}"


def write_view(folder: Path, domain: Domain, parts: Iterable[Cells]) -> None:
    """Write the tuples of a view, in the order in which they are drawn."""
    write_tuples(domain, parts, folder / TUPLES)


def write_later(folder: Path, domain: Domain, fresh: Iterable[Cells], rows: Cells, before: Cells) -> None:
    """Write a later view of a series: its tuples that no view has shown, those that one has, and all such."""
    new = list(fresh)
    (folder / "parts").mkdir()
    for name, cells in (("fresh", new), ("rows", [rows]), ("before", [before])):
        write_tuples(domain, cells, folder / PARTS[name])
    write_tuples(domain, [np.sort(np.concatenate([*new, rows]), kind="stable")], folder / TUPLES)


def take_drawn(drawn: Path, folder: Path) -> int:
    """Put a drawn view into the folder that is to be published; how many tuples it has.

    Why  the files are linked, for a view may be long; where links are not possible they are copied.
    """
    from pyarrow import parquet

    for path in sorted(drawn.rglob("*.parquet")):
        target = folder / path.relative_to(drawn)
        target.parent.mkdir(exist_ok=True)
        try:
            os.link(path, target)
        except OSError:
            shutil.copyfile(path, target)
    return int(parquet.read_metadata(folder / TUPLES).num_rows)
