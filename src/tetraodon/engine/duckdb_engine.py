"""Counting with DuckDB, the default engine.

It writes SQL itself instead of going through Ibis, because importing Ibis takes longer than counting ten
million rows. Names and labels are quoted, numbers are ours, and nothing that a record holds becomes SQL.
On this path nothing is imported but NumPy and DuckDB.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Domain
from tetraodon.engine.column import REALS, Column, numbered_later, require, require_key, require_kind
from tetraodon.engine.counts import Counts
from tetraodon.engine.duckdb_sql import code, outside, present, read
from tetraodon.engine.duckdb_table import DuckDBTable
from tetraodon.engine.individuals import Individuals
from tetraodon.engine.passes import NOTHING, Adding, covering, passes, require_summable
from tetraodon.engine.report import ColumnReport
from tetraodon.engine.sound import require_sound


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

    def counts(self, groups: Sequence[tuple[str, ...]], add: Adding = NOTHING) -> list[Counts]:
        """Exact counts, and sums where `add` asks for them, by each group of attributes.

        Counts come from one scan. Sums are cheaper apart: a scan of their columns reads nothing twice.
        """
        asked = [tuple(group) for group in groups]
        needed = passes([group for group in asked if not add.get(group)], self._domain)
        require_summable(add, self._domain)
        summed = {group: tuple(names) for group, names in add.items() if names and group in asked}
        done = self._tabulate(needed)
        apart = {group: self._group(group, names) for group, names in summed.items()}
        for counted in (*done, *apart.values()):
            require_sound(counted, self._domain)
        return [apart[group] if group in apart else done[covering(group, needed)].by(group) for group in asked]

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

    def _later(self, name: str) -> bool:
        return self._individuals.key is None and numbered_later(self._domain[name], self._column(name))

    def _rows(self, names: Sequence[str], add: Sequence[str], origin: str) -> str:
        """The rows that count, as a query: `c<position>` for each attribute, `s<position>` for each to add up."""
        key, most = self._individuals.key, self._individuals.at_most
        used = self._domain.names if self._individuals.cut else dict.fromkeys((*names, *add) if key else names)
        wanted = {self._domain.position(name): name for name in used}
        added = {self._domain.position(name): name for name in add}
        late = {place: self._column(name).place for place, name in wanted.items() if self._later(name)}
        read = {**wanted, **added} if key is None else wanted
        typed = [
            f"{self._read(name)} AS r{place}" for place, name in read.items() if place in added or place not in late
        ]
        typed += [f"{column} AS v{place}" for place, column in late.items()]
        coded = [f"v{p} AS c{p}" if p in late else f"{self._code(name)} AS c{p}" for p, name in wanted.items()]
        sums = [f"{self._code(name)} AS s{place}" for place, name in added.items()]
        if key is None:
            return f"SELECT {', '.join(coded + sums) or '1'} FROM (SELECT {', '.join(typed) or '1'} FROM {origin})"
        keyed = f"SELECT {', '.join([f'{self._key(key)} AS k', *typed])} FROM {origin}"
        encoded = f"SELECT {', '.join(['k', *coded])} FROM ({keyed})"
        order = ", ".join(f"c{place}" for place in wanted)
        place = f"row_number() OVER (PARTITION BY k ORDER BY {order})"
        held = place if self._individuals.cut else "count(*) OVER (PARTITION BY k)"
        return (
            f"SELECT *{''.join(f', c{place} AS s{place}' for place in added)} FROM ({encoded}) WHERE k IS NOT NULL "
            f"QUALIFY {held} <= {most}"
        )

    def _tabulate(self, needed: list[tuple[str, ...]]) -> list[Counts]:
        """Counts by every pass; several passes share one scan."""
        columns = [[f"c{self._domain.position(name)}" for name in names] for names in needed]
        if len(needed) < 2 or self._table.relation is not None:
            return [self._group(names) for names in needed]
        every = sorted({name for names in needed for name in names}, key=self._domain.position)
        codes = ", ".join(f"c{self._domain.position(name)}" for name in every)
        sets = ", ".join(f"({', '.join(by)})" for by in columns)
        self._table.fetch(
            lambda origin: (
                f"CREATE OR REPLACE TEMP TABLE cells AS SELECT {codes}, grouping_id({codes}) AS w, count(*) AS n "
                f"FROM ({self._rows(every, (), origin)}) GROUP BY GROUPING SETS ({sets})"
            )
        )
        done = []
        for names in needed:
            absent = sum(1 << place for place, name in enumerate(reversed(every)) if name not in names)
            sql = self._numbered(names, (), f"(FROM cells WHERE w = {absent})")
            done.append(self._counts(names, (), self._table.fetch(lambda _, sql=sql: sql)))  # type: ignore[misc]
        self._table.fetch(lambda _: "DROP TABLE cells")
        return done

    def _group(self, names: tuple[str, ...], add: tuple[str, ...] = ()) -> Counts:
        by = [f"c{self._domain.position(name)}" for name in names]
        sums = [f"s{self._domain.position(name)}" for name in add]
        totals = ["count(*) AS n", *(f"CAST(coalesce(sum({s}), 0) AS BIGINT) AS {s}" for s in sums)]
        grouped, listed = f"GROUP BY {', '.join(by)}" if by else "", ", ".join([*by, *totals])
        found = self._table.fetch(
            lambda origin: self._numbered(
                names, add, f"(SELECT {listed} FROM ({self._rows(names, add, origin)}) {grouped})"
            )
        )
        return self._counts(names, add, found)

    def _numbered(self, names: tuple[str, ...], add: tuple[str, ...], cells: str) -> str:
        """Cells by codes, in order; values that get the same number are added up."""
        places = {self._domain.position(name): name for name in names}
        by, kept = [f"c{place}" for place in places], ["n", *(f"s{self._domain.position(name)}" for name in add)]
        order = f"ORDER BY {', '.join(by)}" if by else ""
        late = {place: name for place, name in places.items() if self._later(name)}
        if not late:
            return f"SELECT {', '.join([*by, *kept])} FROM {cells} {order}"
        typed, coded = [], []
        for place, name in places.items():
            if place in late:
                column = replace(self._column(name), place=f"c{place}")
                typed.append(f"{read(self._domain[name], column, self._table.decimal)} AS r{place}")
                coded.append(f"{self._code(name)} AS c{place}")
            else:
                typed.append(f"c{place}")
                coded.append(f"c{place}")
        inner = f"SELECT {', '.join(typed + kept)} FROM {cells}"
        totals = [f"CAST(sum({name}) AS BIGINT) AS {name}" for name in kept]
        return (
            f"SELECT {', '.join(by + totals)} FROM (SELECT {', '.join(coded + kept)} FROM ({inner})) "
            f"GROUP BY {', '.join(by)} {order}"
        )

    def _counts(self, names: tuple[str, ...], add: tuple[str, ...], found: dict[str, NDArray[np.int64]]) -> Counts:
        counts = np.asarray(found["n"], np.int64)
        codes = np.empty((len(counts), len(names)), np.int64)
        for column, name in enumerate(names):
            codes[:, column] = found.pop(f"c{self._domain.position(name)}")
        sums = {name: np.asarray(found[f"s{self._domain.position(name)}"], np.int64) for name in add}
        return Counts(names, codes, counts, sums)

    def _key_report(self, key: str, rows: int) -> ColumnReport:
        most, kept = self._individuals.at_most, self._individuals.at_most if self._individuals.cut else 0
        found = self._table.fetch(
            lambda origin: (
                f"SELECT CAST(coalesce(sum(n) FILTER (WHERE k IS NULL), 0) AS BIGINT) AS m, "
                f"CAST(coalesce(sum(n - {kept}) FILTER (WHERE k IS NOT NULL AND n > {most}), 0) AS BIGINT) AS o "
                f"FROM (SELECT {self._key(key)} AS k, count(*) AS n FROM {origin} GROUP BY 1)"
            )
        )
        return ColumnReport(key, rows, _whole(found, "m"), 0, _whole(found, "o"))


def _whole(found: dict[str, NDArray[np.int64]], name: str) -> int:
    return int(found[name][0])
