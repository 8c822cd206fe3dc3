"""Columns to and from Parquet and CSV files, through the DuckDB that is loaded anyway."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from tetraodon.errors import ReleaseError


def write_columns(stem: Path, columns: dict[str, NDArray[Any]], *, csv: bool = True) -> None:
    """Write `stem.parquet`, and `stem.csv` beside it."""
    with duckdb.connect(config={"enable_external_access": True}) as connection:
        connection.execute("SET enable_progress_bar = false")
        plain = {f"c{i}": np.ascontiguousarray(column) for i, column in enumerate(columns.values())}
        connection.register("given", plain)
        names = ", ".join(f"c{i} AS {_quoted(name)}" for i, name in enumerate(columns))
        try:
            query = f"COPY (SELECT {names} FROM given) TO {_text(stem.with_name(stem.name + '.parquet'))}"
            connection.execute(f"{query} (FORMAT parquet, COMPRESSION zstd)")
            if csv:
                query = f"COPY (SELECT {names} FROM given) TO {_text(stem.with_name(stem.name + '.csv'))}"
                connection.execute(f"{query} (FORMAT csv, HEADER)")
        except duckdb.Error as error:
            raise OSError(28, "cannot write") from error


def read_columns(stem: Path) -> dict[str, NDArray[Any]]:
    """Read `stem.parquet`."""
    path = stem.with_name(stem.name + ".parquet")
    with duckdb.connect() as connection:
        try:
            found = connection.execute(f"SELECT * FROM read_parquet({_text(path)})").fetchnumpy()
        except duckdb.Error:
            raise ReleaseError(
                "a file of the release cannot be read", fix="ask for a new copy", where=path.name
            ) from None
    return {name: np.asarray(column) for name, column in found.items()}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
