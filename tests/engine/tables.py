"""One table in every form that an engine can be given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from tetraodon.engine import Counts

FORMS = ("parquet", "csv", "pandas", "polars", "lazy", "arrow", "duckdb", "relation", "ibis")


@contextmanager
def table(form: str, folder: Path, columns: dict[str, str], records: Sequence[Sequence[object]]) -> Iterator[Any]:
    """A table with columns of the given DuckDB types, as a source for `open_table`."""
    file = folder / f"table.{form}"
    names = ['"' + name.replace('"', '""') + '"' for name in columns]
    with duckdb.connect(str(file) if form == "duckdb" else ":memory:") as connection:
        connection.execute("SET TimeZone = 'America/New_York'")
        kinds = ", ".join(f"{name} {kind}" for name, kind in zip(names, columns.values(), strict=True))
        connection.execute(f"CREATE TABLE made ({kinds})")
        if records:
            marks = ", ".join("(" + ", ".join("?" for _ in record) + ")" for record in records)
            connection.execute(f"INSERT INTO made VALUES {marks}", [value for record in records for value in record])
        made = connection.sql("SELECT * FROM made")
        match form:
            case "parquet" | "csv":
                options = ", HEADER" if form == "csv" else ""
                connection.execute(f"COPY made TO '{file}' (FORMAT {form}{options})")
                yield file
            case "pandas":
                yield made.to_arrow_table().to_pandas()
            case "polars":
                yield made.pl()
            case "lazy":
                yield made.pl().lazy()
            case "arrow":
                yield made.to_arrow_table()
            case "relation":
                yield made
            case "ibis":
                import ibis

                path = folder / "ibis.parquet"
                connection.execute(f"COPY made TO '{path}' (FORMAT parquet)")
                backend = ibis.duckdb.connect()
                backend.raw_sql("SET TimeZone = 'Asia/Kathmandu'")
                yield backend.read_parquet(path)
                backend.disconnect()
    if form == "duckdb":
        yield f"{file}#made"


def found(counts: Counts) -> dict[tuple[int, ...], int]:
    """Cells and their counts, after a look at their form."""
    assert counts.codes.dtype == counts.counts.dtype == "int64"
    rows = [tuple(int(code) for code in row) for row in counts.codes]
    assert rows == sorted(set(rows))
    return dict(zip(rows, counts.counts.tolist(), strict=True))
