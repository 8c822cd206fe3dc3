"""Counting through Ibis: the door to tables that live in another database.

The table is read once, however many groups are asked for: several groups share one GROUP BY GROUPING SETS. Most
values are grouped as they are written and numbered afterwards: a few cells instead of every row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import ibis
import ibis.expr.datatypes as types
import ibis.expr.operations as operations
import numpy as np

from tetraodon.domain import Domain
from tetraodon.engine.column import Column, Kind, numbered_later, require, require_key, require_kind
from tetraodon.engine.counts import Counts, summed
from tetraodon.engine.ibis_backend import Columns, IbisBackend
from tetraodon.engine.ibis_expression import Expression, code, outside, present, read
from tetraodon.engine.individuals import Individuals
from tetraodon.engine.passes import NOTHING, Adding, covering, passes, require_summable
from tetraodon.engine.report import ColumnReport
from tetraodon.engine.sound import require_sound


class IbisEngine:
    """Counts an Ibis table. The connection behind it is the caller's and stays open, unless `close` closes it."""

    def __init__(
        self, table: Any, domain: Domain, individuals: Individuals, close: Callable[[], None] = lambda: None
    ) -> None:
        self._behind = IbisBackend(table)
        self._dialect = self._behind.dialect
        self._table = table
        self._domain = domain
        self._individuals = individuals
        self._close = close
        self._columns = {name: column(name, kind) for name, kind in table.schema().items()}
        require(self._columns, [*domain.names, *([individuals.key] if individuals.key else [])])
        for attribute in domain:
            require_kind(attribute, self._columns[attribute.name])
            value = self._typed(attribute.name, table[attribute.name])
            self._code(attribute.name, value)  # whatever cannot be numbered is refused now
        if individuals.key:
            require_key(self._columns[individuals.key])

    def counts(self, groups: Sequence[tuple[str, ...]], add: Adding = NOTHING) -> list[Counts]:
        """Exact counts, and sums where `add` asks for them, by each group of attributes, from one scan of the table."""
        asked = [tuple(group) for group in groups]
        needed = passes(asked, self._domain)
        require_summable(add, self._domain)
        added = sorted({name for names in add.values() for name in names}, key=self._domain.position)
        done = self._tabulate(needed, tuple(added)) if needed else []
        for counted in done:
            require_sound(counted, self._domain)
        return [done[covering(group, needed)].by(group) for group in asked]

    def dry_run(self) -> list[ColumnReport]:
        """Per attribute, how many rows are missing, unreadable or outside; then the key, if there is one."""
        columns, parts = {}, {}
        for place, attribute in enumerate(self._domain):
            raw = self._table[attribute.name]
            columns[f"p{place}"] = present(self._columns[attribute.name], raw, self._dialect)
            columns[f"r{place}"] = self._typed(attribute.name, raw)
        rows_read = self._table.select(**columns)
        for place, attribute in enumerate(self._domain):
            held, value = rows_read[f"p{place}"], rows_read[f"r{place}"]
            beyond = outside(attribute, self._columns[attribute.name], value)
            parts[f"m{place}"] = rows_read.count(where=~held).coalesce(0)
            parts[f"u{place}"] = rows_read.count(where=held & value.isnull()).coalesce(0)
            parts[f"o{place}"] = rows_read.count(where=value.notnull() & beyond).coalesce(0)
        found = self._behind.fetch(rows_read.aggregate(n=rows_read.count(), **parts))
        rows = int(found["n"][0])
        reports = [
            ColumnReport(name, rows, *(int(found[f"{part}{place}"][0]) for part in "muo"))
            for place, name in enumerate(self._domain.names)
        ]
        return reports + ([self._key_report(self._individuals.key, rows)] if self._individuals.key else [])

    def close(self) -> None:
        """Let go of the connection, if it is ours."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _typed(self, name: str, place: Expression) -> Expression:
        return read(self._domain[name], self._columns[name], place, self._dialect)

    def _code(self, name: str, value: Expression) -> Expression:
        return code(self._domain[name], self._columns[name], value)

    def _key(self, name: str) -> Expression:
        raw = self._table[name]
        return present(self._columns[name], raw, self._dialect).ifelse(raw, ibis.null(raw.type()))

    def _later(self, name: str) -> bool:
        return self._individuals.key is None and numbered_later(self._domain[name], self._columns[name])

    def _rows(self, names: Sequence[str], add: Sequence[str]) -> Expression:
        """The rows that count: a column `c<position>` for each attribute, and `s<position>` for each to add up."""
        key, table, most = self._individuals.key, self._table, self._individuals.at_most
        used = self._domain.names if self._individuals.cut else dict.fromkeys((*names, *add) if key else names)
        wanted = {self._domain.position(name): name for name in used}
        added = {self._domain.position(name): name for name in add}
        typed = {f"r{p}": table[n] if self._later(n) else self._typed(n, table[n]) for p, n in wanted.items()}
        typed |= {f"s{p}": self._typed(n, table[n]) for p, n in added.items() if key is None}
        if key is not None:
            typed["k"] = self._key(key)
        rows = table.select(**typed) if typed else table
        coded = {f"c{p}": rows[f"r{p}"] if self._later(n) else self._code(n, rows[f"r{p}"]) for p, n in wanted.items()}
        if key is None:
            coded |= {f"s{p}": self._code(n, rows[f"s{p}"]) for p, n in added.items()}
            return rows.select(**coded) if coded else rows
        rows = rows.filter(rows.k.notnull()).select("k", **coded)
        if self._individuals.cut:
            window = ibis.window(group_by=rows.k, order_by=[rows[name] for name in coded])
            rows = rows.mutate(place=ibis.row_number().over(window) + 1)
        else:
            rows = rows.mutate(place=rows.count().over(ibis.window(group_by=rows.k)))
        rows = rows.filter(rows.place <= most)
        return rows.select(*coded, **{f"s{p}": rows[f"c{p}"] for p in added}) if coded else rows

    def _tabulate(self, needed: list[tuple[str, ...]], add: tuple[str, ...]) -> list[Counts]:
        """Counts by every pass; all of them share one scan."""
        every = [name for name in self._domain.names if any(name in names for names in needed)]
        rows = self._rows(every, add)
        if len(needed) > 1 and rows.op().find(operations.InMemoryTable):  # Ibis cannot show those to SQL of our own
            return [self._tabulate([names], add)[0] for names in needed]
        sums = [f"s{self._domain.position(name)}" for name in add]
        sets = [[f"c{self._domain.position(name)}" for name in names] for names in needed]
        grouped = self._numbered(self._grouped(rows, sets, sums), every, sums, apart=len(needed) > 1)
        found = self._behind.fetch(grouped)
        return [self._part(names, every, add, found, apart=len(needed) > 1) for names in needed]

    def _grouped(self, rows: Expression, sets: list[list[str]], sums: list[str]) -> Expression:
        """Cells of each set of columns; with several sets, `g<position>` is 1 where a column is not in the set."""
        if len(sets) == 1:
            totals = {name: rows[name].sum().cast("int64").coalesce(0) for name in sums}
            parts = {"n": rows.count(), **totals}
            return rows.group_by(sets[0]).aggregate(**parts) if sets[0] else rows.aggregate(**parts)
        columns = list(dict.fromkeys(name for names in sets for name in names))
        listed = [
            *columns,
            *(f"GROUPING({name}) AS g{name[1:]}" for name in columns),
            "COUNT(*) AS n",
            *(f"COALESCE(CAST(SUM({name}) AS BIGINT), 0) AS {name}" for name in sums),
        ]
        shown = ", ".join(f"({', '.join(names)})" for names in sets)
        inner = self._behind.compile(rows)
        query = f"SELECT {', '.join(listed)} FROM ({inner}) AS rows_that_count GROUP BY GROUPING SETS ({shown})"
        schema = {name: rows[name].type() for name in columns}
        schema |= {f"g{name[1:]}": types.int64 for name in columns} | dict.fromkeys(("n", *sums), types.int64)
        return self._behind.backend.sql(query, schema=schema)

    def _numbered(self, cells: Expression, every: list[str], sums: list[str], *, apart: bool) -> Expression:
        """The same cells with every column numbered, those of one number added up."""
        places = {f"c{self._domain.position(name)}": name for name in every}
        late = {column for column, name in places.items() if self._later(name)}
        if not late and not apart:
            return cells
        kept = [*(f"g{column[1:]}" for column in places if apart), "n", *sums]
        typed = {c: self._typed(name, cells[c]) for c, name in places.items() if c in late}
        typed |= {c: cells[c].coalesce(0) for c in places if c not in late}  # NULL where it is outside of the set
        known = cells.select(*kept, **typed)
        known = known.select(
            *kept, **{c: self._code(n, known[c]) if c in late else known[c] for c, n in places.items()}
        )
        if not late:
            return known
        totals = {name: known[name].sum().cast("int64") for name in ("n", *sums)}
        return known.group_by([name for name in (*places, *kept) if name not in totals]).aggregate(**totals)

    def _part(
        self, names: tuple[str, ...], every: list[str], add: tuple[str, ...], found: Columns, *, apart: bool
    ) -> Counts:
        chosen = np.ones(len(found["n"]), dtype=bool)
        for name in every if apart else ():
            chosen &= found[f"g{self._domain.position(name)}"] == (name not in names)
        codes = [found[f"c{self._domain.position(name)}"][chosen] for name in names]
        sums = {name: found[f"s{self._domain.position(name)}"][chosen] for name in add}
        counts = found["n"][chosen]
        return summed(names, np.stack(codes, axis=1) if codes else np.zeros((len(counts), 0), np.int64), counts, sums)

    def _key_report(self, key: str, rows: int) -> ColumnReport:
        keyed = self._table.select(k=self._key(key))
        held = keyed.group_by("k").aggregate(n=keyed.count())
        most, kept = self._individuals.at_most, self._individuals.at_most if self._individuals.cut else 0
        found = self._behind.fetch(
            held.aggregate(
                m=held.n.sum(where=held.k.isnull()).coalesce(0).cast("int64"),
                o=(held.n - kept).sum(where=held.k.notnull() & (held.n > most)).coalesce(0).cast("int64"),
            )
        )
        return ColumnReport(key, rows, int(found["m"][0]), 0, int(found["o"][0]))


def column(name: str, kind: types.DataType) -> Column:
    """A column of an Ibis type."""
    match kind:
        case types.Decimal() if kind.precision is not None and kind.scale is not None:
            if kind.scale == 0:
                return Column(name, name, Kind.WIDE, "decimal")
            return Column(name, name, Kind.DECIMAL, "decimal", kind.precision, kind.scale)
        case types.Timestamp():
            found = Kind.ZONED if kind.timezone else Kind.TIMESTAMP
        case types.UInt64():
            found = Kind.WIDE
        case types.Integer():
            found = Kind.INTEGER
        case types.Float32():
            found = Kind.SINGLE
        case types.Float64():
            found = Kind.DOUBLE
        case types.String() | types.UUID() | types.Decimal():  # a decimal without a scale is read as it is written
            found = Kind.TEXT
        case types.Boolean():
            found = Kind.BOOLEAN
        case types.Date():
            found = Kind.DATE
        case _:
            found = Kind.STRANGE
    return Column(name, name, found, type(kind).__name__.lower())
