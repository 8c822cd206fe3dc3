"""Counting with DuckDB, the default engine.

It writes SQL itself instead of going through Ibis, because importing Ibis takes longer than counting ten
million rows. Names and labels are quoted, numbers are ours, and nothing that a record holds becomes SQL.
On this path nothing is imported but NumPy and DuckDB.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Domain
from tetraodon.engine.column import REALS, Column, must_be_read, require, require_key, require_kind
from tetraodon.engine.counts import Counts
from tetraodon.engine.duckdb_sql import code, outside, present, read
from tetraodon.engine.duckdb_table import DuckDBTable
from tetraodon.engine.individuals import Individuals
from tetraodon.engine.passes import covering, passes, require_summable
from tetraodon.engine.report import ColumnReport
from tetraodon.engine.sound import require_sound, wrong_type


class DuckDBEngine:
    """Counts a table that DuckDB can scan. Memory stays with DuckDB, which spills to a private folder.

    The table's columns are checked when the engine is made; no record is looked at before `counts`.
    """

    def __init__(self, table: DuckDBTable, domain: Domain, individuals: Individuals) -> None:
        self._table = table
        self._domain = domain
        self._individuals = individuals
        require(table.columns, [*domain.names, *([individuals.key] if individuals.key else [])])
        for attribute in domain:
            require_kind(attribute, self._column(attribute.name))
            self._read(attribute.name), self._code(attribute.name)  # whatever cannot be numbered is refused now
        if individuals.key:
            require_key(self._column(individuals.key))

    def counts(self, groups: Sequence[tuple[str, ...]], add: Sequence[str] = ()) -> list[Counts]:
        """Exact counts, and sums of the codes of `add`, by each group of attributes, from one scan of the table."""
        asked = [tuple(group) for group in groups]
        needed = passes(asked, self._domain)
        require_summable(add, self._domain)
        self._require_readable({name for names in needed for name in names} | set(add))
        done = self._tabulate(needed, tuple(add))
        for counted in done:
            require_sound(counted, self._domain)
        return [done[covering(group, needed)].by(group) for group in asked]

    def dry_run(self) -> list[ColumnReport]:
        """Per attribute, how many rows are missing, unreadable or outside; then the key, if there is one."""
        inner, parts = [], ["count(*) AS n"]
        for place, attribute in enumerate(self._domain):
            column = self._column(attribute.name)
            inner.append(f"{present(column)} AS p{place}, {self._read(attribute.name)} AS r{place}")
            beyond = outside(attribute, column, f"r{place}")
            parts.append(f"count(*) FILTER (WHERE NOT p{place}) AS m{place}")
            parts.append(f"count(*) FILTER (WHERE p{place} AND r{place} IS NULL) AS u{place}")
            parts.append(f"count(*) FILTER (WHERE r{place} IS NOT NULL AND {beyond}) AS o{place}")
        found = self._table.fetch(
            lambda origin: f"SELECT {', '.join(parts)} FROM (SELECT {', '.join(inner)} FROM {origin})"
        )
        rows = _whole(found, "n")
        reports = [
            ColumnReport(name, rows, *(_whole(found, f"{part}{place}") for part in "muo"))
            for place, name in enumerate(self._domain.names)
        ]
        return reports + ([self._key_report(self._individuals.key, rows)] if self._individuals.key else [])

    def close(self) -> None:
        self._table.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _column(self, name: str) -> Column:
        return self._table.columns[name]

    def _read(self, name: str) -> str:
        return read(self._domain[name], self._column(name), self._table.decimal)

    def _code(self, name: str) -> str:
        return code(self._domain[name], self._column(name), f"r{self._domain.position(name)}")

    def _key(self, name: str) -> str:
        column = self._column(name)
        return f"CASE WHEN {present(column)} THEN {column.place} END" if column.kind in REALS else column.place

    def _rows(self, names: Sequence[str], origin: str) -> str:
        """The encoded rows that count, as a query with a column `c<position>` for each attribute."""
        key = self._individuals.key
        wanted = self._domain.names if key else tuple(names)
        places = {name: self._domain.position(name) for name in wanted}
        typed = [f"{self._read(name)} AS r{place}" for name, place in places.items()]
        coded = [f"{self._code(name)} AS c{place}" for name, place in places.items()]
        if key is None:
            return f"SELECT {', '.join(coded) or '1'} FROM (SELECT {', '.join(typed) or '1'} FROM {origin})"
        order = ", ".join(f"c{place}" for place in places.values())
        encoded = f"SELECT k, {', '.join(coded)} FROM (SELECT {self._key(key)} AS k, {', '.join(typed)} FROM {origin})"
        return (
            f"SELECT * FROM ({encoded}) WHERE k IS NOT NULL "
            f"QUALIFY row_number() OVER (PARTITION BY k ORDER BY {order}) <= {self._individuals.at_most}"
        )

    def _tabulate(self, needed: list[tuple[str, ...]], add: tuple[str, ...]) -> list[Counts]:
        """Counts by every pass; several passes share one scan."""
        columns = [[f"c{self._domain.position(name)}" for name in names] for names in needed]
        if len(needed) < 2 or self._table.relation is not None:
            return [self._group(names, by, add) for names, by in zip(needed, columns, strict=True)]
        every = sorted({name for names in needed for name in names}, key=self._domain.position)
        scanned = [*every, *(name for name in add if name not in every)]
        totals = "".join(f", {total}" for total in self._totals(add))
        codes = ", ".join(f"c{self._domain.position(name)}" for name in every)
        sets = ", ".join(f"({', '.join(by)})" for by in columns)
        self._table.fetch(
            lambda origin: (
                f"CREATE OR REPLACE TEMP TABLE cells AS SELECT {codes}, grouping_id({codes}) AS w, count(*) AS n"
                f"{totals} FROM ({self._rows(scanned, origin)}) GROUP BY GROUPING SETS ({sets})"
            )
        )
        done = []
        for names, by in zip(needed, columns, strict=True):
            absent = sum(1 << place for place, name in enumerate(reversed(every)) if name not in names)
            listed = ", ".join(by)
            kept = [*by, "n", *(f"s{self._domain.position(name)}" for name in add)]
            sql = f"SELECT {', '.join(kept)} FROM cells WHERE w = {absent} ORDER BY {listed or 'n'}"
            done.append(self._counts(names, by, add, self._table.fetch(lambda _, sql=sql: sql)))  # type: ignore[misc]
        self._table.fetch(lambda _: "DROP TABLE cells")
        return done

    def _totals(self, add: tuple[str, ...]) -> list[str]:
        places = [self._domain.position(name) for name in add]
        return [f"CAST(coalesce(sum(c{place}), 0) AS BIGINT) AS s{place}" for place in places]

    def _group(self, names: tuple[str, ...], by: list[str], add: tuple[str, ...]) -> Counts:
        grouped = f"GROUP BY {', '.join(by)} ORDER BY {', '.join(by)}" if by else ""
        scanned = [*names, *(name for name in add if name not in names)]
        listed = ", ".join([*by, "count(*) AS n", *self._totals(add)])
        found = self._table.fetch(lambda origin: f"SELECT {listed} FROM ({self._rows(scanned, origin)}) {grouped}")
        return self._counts(names, by, add, found)

    def _counts(
        self, names: tuple[str, ...], by: list[str], add: tuple[str, ...], found: dict[str, NDArray[np.int64]]
    ) -> Counts:
        counts = np.asarray(found["n"], np.int64)
        codes = np.empty((len(counts), len(by)), np.int64)
        for place, name in enumerate(by):
            codes[:, place] = found.pop(name)
        sums = {name: np.asarray(found[f"s{self._domain.position(name)}"], np.int64) for name in add}
        return Counts(names, codes, counts, sums)

    def _require_readable(self, names: set[str]) -> None:
        """Refuse a column of text that should hold numbers or dates and holds none at all."""
        for name in self._domain.names if self._individuals.key else sorted(names):
            if must_be_read(self._domain[name], self._column(name)):
                value, held = self._read(name), present(self._column(name))
                if not self._any(f"({value}) IS NOT NULL") and self._any(held):
                    raise wrong_type(name)

    def _any(self, condition: str) -> bool:
        found = self._table.fetch(lambda origin: f"SELECT 1 AS n FROM {origin} WHERE {condition} LIMIT 1")
        return len(found["n"]) > 0

    def _key_report(self, key: str, rows: int) -> ColumnReport:
        found = self._table.fetch(
            lambda origin: (
                f"SELECT CAST(coalesce(sum(n) FILTER (WHERE k IS NULL), 0) AS BIGINT) AS m, "
                f"CAST(coalesce(sum(greatest(n - {self._individuals.at_most}, 0)) FILTER (WHERE k IS NOT NULL), 0) "
                f"AS BIGINT) AS o FROM (SELECT {self._key(key)} AS k, count(*) AS n FROM {origin} GROUP BY 1)"
            )
        )
        return ColumnReport(key, rows, _whole(found, "m"), 0, _whole(found, "o"))


def _whole(found: dict[str, NDArray[np.int64]], name: str) -> int:
    return int(found[name][0])
