"""One table in every form that an engine can be given, and what each is held to."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.engine import toy_source
from tests.engine.oracle import tally
from tests.services import postgres, spark

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.engine import Counts, open_table
from tetraodon.engine.open_table import DOORS

FORMS = (
    "parquet",
    "csv",
    "pandas",
    "polars",
    "lazy",
    "arrow",
    "duckdb",
    "relation",
    "ibis",
    "toy",
    "postgres",
    "spark",
)
POSTGRES = {
    "DOUBLE": "double precision",
    "FLOAT": "real",
    "HUGEINT": "numeric(39, 0)",
    "UBIGINT": "numeric(20, 0)",
    "VARCHAR": "text",
    "STRUCT(a INTEGER)": "jsonb",
    "BLOB": "bytea",
    "VARCHAR COLLATE NOCASE": "text COLLATE house.nocase",
    "VARCHAR COLLATE NOACCENT": "text COLLATE house.noaccent",
}
AGE = Attribute("age", Integers(18, 65), missing=3)
numbers = count()


@contextmanager
def table(form: str, folder: Path, columns: dict[str, str], records: Sequence[Sequence[object]]) -> Iterator[Any]:
    """A table with columns of the given DuckDB types, as a source for `open_table`."""
    if form == "postgres":
        yield postgres_table(columns, records)
        return
    if form == "spark":
        columns = {name: "BLOB" if kind == "TIME" else kind for name, kind in columns.items()}  # it has no such type
    file = folder / f"table.{form}"
    names = ['"' + name.replace('"', '""') + '"' for name in columns]
    with duckdb.connect(str(file) if form in ("duckdb", "toy") else ":memory:") as connection:
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
            case "spark":  # in two files and an empty one, so that partitions are of several sizes
                half = len(records) // 2
                for place, part in enumerate((f"LIMIT {half}", f"OFFSET {half}", "LIMIT 0")):
                    connection.execute(f"COPY (FROM made {part}) TO '{folder / f'{place}.parquet'}' (FORMAT parquet)")
                frame = spark().read.parquet(*(str(folder / f"{place}.parquet") for place in range(3)))
                folded = {name: f"`{name}` COLLATE UTF8_LCASE" for name, kind in columns.items() if "COLLATE" in kind}
                yield (
                    frame.selectExpr(*(f"{folded.get(name, f'`{name}`')} AS `{name}`" for name in columns))
                    if (folded)
                    else frame
                )
    if form == "duckdb":
        yield f"{file}#made"
    if form == "toy":
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys.modules["tetraodon.engine.open_table"], "DOORS", (*DOORS, toy_source.DOOR))
            yield f"toy:{file}#made"


def postgres_table(columns: dict[str, str], records: Sequence[Sequence[object]]) -> str:
    """A new table that the role `reader` may read, by its address."""
    import psycopg
    from psycopg import sql

    server, name = postgres(), f"made {next(numbers)}"
    title = sql.Identifier("house", name)
    kinds = [POSTGRES.get(kind, kind) for kind in columns.values()]
    listed = sql.SQL(", ").join(
        sql.SQL("{} {}").format(sql.Identifier(column), sql.SQL(kind))  # type: ignore[arg-type]
        for column, kind in zip(columns, kinds, strict=True)
    )
    with psycopg.connect(server.address("owner")) as connection:
        connection.execute(sql.SQL("CREATE TABLE {} ({})").format(title, listed))
        connection.execute(sql.SQL("GRANT SELECT ON {} TO reader").format(title))
        marks = sql.SQL(", ").join(sql.Placeholder() for _ in columns)
        with connection.cursor() as cursor:
            cursor.executemany(sql.SQL("INSERT INTO {} VALUES ({})").format(title, marks), list(records))
    return f"{server.address()}#house.{name}"


def found(counts: Counts) -> dict[tuple[int, ...], int]:
    """Cells and their counts, after a look at their form."""
    assert counts.codes.dtype == counts.counts.dtype == "int64"
    rows = [tuple(int(code) for code in row) for row in counts.codes]
    assert rows == sorted(set(rows))
    return dict(zip(rows, counts.counts.tolist(), strict=True))


def check(
    form: str, folder: Path, attributes: Iterable[Attribute], kinds: Iterable[str], records: Sequence[Sequence[object]]
) -> None:
    """Compare one engine with the oracle: by all attributes, by each, and in total."""
    domain = Domain(tuple(attributes))
    columns = dict(zip(domain.names, kinds, strict=True))
    groups = [domain.names, *((name,) for name in domain.names), ()]
    with table(form, folder, columns, records) as source, open_table(source, domain) as engine:
        for group, counts in zip(groups, engine.counts(groups), strict=True):
            assert counts.names == tuple(group)
            assert found(counts) == tally(records, domain, group)
