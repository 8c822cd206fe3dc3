"""The files of a view: tuples to Parquet as they are drawn, from there to CSV, and into the folder that is published.

Every row group but the last has the same number of rows. Cutting them where the sampler happens to pause would tell how
many tuples of a group are noise.
"""

from __future__ import annotations

import errno
import glob
import os
import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import duckdb
import numpy as np

from tetraodon.domain import Domain
from tetraodon.engine.duckdb_sql import quoted as identifier
from tetraodon.engine.duckdb_sql import text
from tetraodon.publishing.columns import cells_at, codes_in, columns
from tetraodon.publishing.sampling import Cells
from tetraodon.releasing.column_files import harmless_cell, harmless_sql

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
