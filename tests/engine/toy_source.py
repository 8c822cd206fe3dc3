"""One more engine, as docs/adding.md says: one file. Its tables are `toy:FILE#TABLE`, DuckDB files read without our own
DuckDB engine, with the defaults of the dialect and no whole numbers of more than 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import duckdb
import numpy as np
from sqlglot import exp

from tetraodon.engine.column import Column, Kind
from tetraodon.engine.dialect import DATE, DOUBLE, Dialect, Door, call, cast, in_days, name, op, try_cast
from tetraodon.errors import DataRefusal, TableError
from tetraodon.exact.arrays import Ints

WORDS = {"BIGINT": Kind.INTEGER, "INTEGER": Kind.INTEGER, "SMALLINT": Kind.INTEGER, "HUGEINT": Kind.WIDE}
WORDS |= {"UBIGINT": Kind.WIDE, "DOUBLE": Kind.DOUBLE, "FLOAT": Kind.SINGLE, "VARCHAR": Kind.TEXT, "DATE": Kind.DATE}
WORDS |= {"BOOLEAN": Kind.BOOLEAN, "TIMESTAMP": Kind.TIMESTAMP, "TIMESTAMP WITH TIME ZONE": Kind.ZONED}
TOY = Dialect(
    name="duckdb",
    end="\\z",
    collation="binary",
    longest="DECIMAL(38, 0)",
    is_nan=lambda value: call("ISNAN", value),
    double=lambda text: try_cast(text, DOUBLE),
    whole=lambda value: cast(value, "DECIMAL(38, 0)"),
    day=lambda text: in_days(try_cast(text, DATE)),
    quotient=lambda value, by: op(exp.IntDiv, value, by),
)


class ToyTable:
    """A table of a DuckDB file."""

    dialect = TOY
    decimal = "."

    def __init__(self, path: str, title: str) -> None:
        self._connection, self._origin = duckdb.connect(path, read_only=True), name(title).sql("duckdb")
        described = self._connection.execute(f"DESCRIBE {self._origin}").fetchall()
        self.columns = {each[0]: column(each[0], each[1]) for each in described}

    def fetch(self, query: Callable[[str], str]) -> dict[str, Ints]:
        with suppress(duckdb.Error):
            found = self._connection.execute(query(self._origin)).fetchnumpy()
            return {title: np.asarray(found[title], np.int64) for title in found}
        raise DataRefusal("the table cannot be counted", fix="check that it can be read")

    def close(self) -> None:
        self._connection.close()


def column(title: str, shown: str) -> Column:
    if shown.startswith("DECIMAL("):
        width, scale = map(int, shown[8:-1].split(","))
        return Column(title, title, Kind.DECIMAL if scale else Kind.WIDE, "decimal", width, scale)
    return Column(title, title, WORDS.get(shown, Kind.STRANGE), shown)


def open_toy(address: str) -> ToyTable:
    path, mark, title = address.removeprefix("toy:").rpartition("#")
    if not mark:
        raise TableError("the address names no table", fix="end it with #TABLE")
    return ToyTable(path, title)


DOOR = Door(addresses=("toy:",), open=open_toy)
