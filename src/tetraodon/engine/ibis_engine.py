"""Counting through Ibis: the door to tables that live in another database.

Only backends whose answers have been compared with DuckDB's and whose errors we know are let in; a
driver's own error may quote a record.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Self

import duckdb
import ibis
import ibis.expr.datatypes as types
import numpy as np
from ibis.common.exceptions import IbisError
from numpy.typing import NDArray

from tetraodon.domain import Domain
from tetraodon.engine.column import Column, Kind, must_be_read, require, require_key, require_kind
from tetraodon.engine.counts import Counts, summed
from tetraodon.engine.ibis_expression import Expression, code, outside, present, read
from tetraodon.engine.individuals import Individuals
from tetraodon.engine.passes import covering, passes
from tetraodon.engine.refusal import DataRefusal
from tetraodon.engine.report import ColumnReport
from tetraodon.engine.sound import require_sound, wrong_type
from tetraodon.errors import TableError

FAILURES: dict[str, type[Exception]] = {"duckdb": duckdb.Error}
"""The root of a backend's errors. A backend that is not listed is refused."""


class IbisEngine:
    """Counts an Ibis table. The connection behind it is the caller's and stays open."""

    def __init__(self, table: Any, domain: Domain, individuals: Individuals) -> None:
        if not isinstance(table, ibis.Table):
            raise TableError("the Ibis expression is not a table", fix="give a table expression")
        backends, _ = table._find_backends()
        names = {backend.name for backend in backends} or {ibis.get_backend(table).name}
        for name in sorted(names - set(FAILURES)):
            raise TableError(f"counting with {name} is not supported", fix=f"use {', '.join(FAILURES)}")
        self._failures = (IbisError, *(FAILURES[name] for name in sorted(names)))
        self._table = table
        self._domain = domain
        self._individuals = individuals
        self._columns = {name: column(name, kind) for name, kind in table.schema().items()}
        require(self._columns, [*domain.names, *([individuals.key] if individuals.key else [])])
        for attribute in domain:
            require_kind(attribute, self._columns[attribute.name])
            self._coded(attribute.name)  # whatever cannot be numbered is refused now
        if individuals.key:
            require_key(self._columns[individuals.key])

    def counts(self, groups: Sequence[tuple[str, ...]]) -> list[Counts]:
        """Exact counts by each group of attributes; groups that fit together share a scan."""
        asked = [tuple(group) for group in groups]
        needed = passes(asked, self._domain)
        self._require_readable({name for names in needed for name in names})
        done = [self._group(names) for names in needed]
        for counted in done:
            require_sound(counted, self._domain)
        return [done[covering(group, needed)].by(group) for group in asked]

    def dry_run(self) -> list[ColumnReport]:
        """Per attribute, how many rows are missing, unreadable or outside; then the key, if there is one."""
        parts = {"n": self._table.count()}
        for place, attribute in enumerate(self._domain):
            column, raw = self._columns[attribute.name], self._table[attribute.name]
            held, value = present(column, raw), self._typed(attribute.name)
            parts[f"m{place}"] = self._table.count(where=~held)
            parts[f"u{place}"] = self._table.count(where=held & value.isnull())
            parts[f"o{place}"] = self._table.count(where=value.notnull() & outside(attribute, column, value))
        found = self._fetch(self._table.aggregate(**parts))
        rows = int(found["n"][0])
        reports = [
            ColumnReport(name, rows, *(int(found[f"{part}{place}"][0]) for part in "muo"))
            for place, name in enumerate(self._domain.names)
        ]
        return reports + ([self._key_report(self._individuals.key, rows)] if self._individuals.key else [])

    def close(self) -> None:
        """Nothing to let go of: the connection is the caller's."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _typed(self, name: str) -> Expression:
        return read(self._domain[name], self._columns[name], self._table[name])

    def _coded(self, name: str) -> Expression:
        return code(self._domain[name], self._columns[name], self._typed(name))

    def _key(self, name: str) -> Expression:
        raw = self._table[name]
        return present(self._columns[name], raw).ifelse(raw, ibis.null(raw.type()))

    def _rows(self, names: Sequence[str]) -> Expression:
        """The encoded rows that count, with a column `c<position>` for each attribute."""
        key = self._individuals.key
        if key is None:
            coded = {f"c{self._domain.position(name)}": self._coded(name) for name in names}
            return self._table.select(**coded) if coded else self._table
        coded = {f"c{place}": self._coded(name) for place, name in enumerate(self._domain.names)}
        rows = self._table.select(k=self._key(key), **coded)
        rows = rows.filter(rows.k.notnull())
        window = ibis.window(group_by=rows.k, order_by=[rows[name] for name in coded])
        rows = rows.mutate(place=ibis.row_number().over(window))
        return rows.filter(rows.place < self._individuals.at_most)

    def _group(self, names: tuple[str, ...]) -> Counts:
        rows = self._rows(names)
        by = [f"c{self._domain.position(name)}" for name in names]
        found = self._fetch(rows.group_by(by).aggregate(n=rows.count()) if by else rows.aggregate(n=rows.count()))
        codes = np.stack([found[name] for name in by], axis=1) if by else np.zeros((1, 0), np.int64)
        return summed(names, codes, found["n"])

    def _require_readable(self, names: set[str]) -> None:
        for name in self._domain.names if self._individuals.key else sorted(names):
            if must_be_read(self._domain[name], self._columns[name]):
                held = present(self._columns[name], self._table[name])
                if not self._any(self._typed(name).notnull()) and self._any(held):
                    raise wrong_type(name)

    def _any(self, condition: Expression) -> bool:
        return len(self._fetch(self._table.filter(condition).limit(1).select(n=ibis.literal(1)))["n"]) > 0

    def _key_report(self, key: str, rows: int) -> ColumnReport:
        keyed = self._table.select(k=self._key(key))
        held = keyed.group_by("k").aggregate(n=keyed.count())
        most = self._individuals.at_most
        beyond = ibis.greatest(held.n - most, 0)
        found = self._fetch(
            held.aggregate(
                m=held.n.sum(where=held.k.isnull()).coalesce(0).cast("int64"),
                o=beyond.sum(where=held.k.notnull()).coalesce(0).cast("int64"),
            )
        )
        return ColumnReport(key, rows, int(found["m"][0]), 0, int(found["o"][0]))

    def _fetch(self, expression: Expression) -> dict[str, NDArray[np.int64]]:
        with suppress(*self._failures):  # ours is raised outside, for the driver's may quote a record
            found = expression.to_pyarrow()
            return {name: found[name].to_numpy().astype(np.int64, copy=False) for name in found.column_names}
        raise DataRefusal("the table cannot be counted", fix="check that the table can be read")


def column(name: str, kind: types.DataType) -> Column:
    """A column of an Ibis type."""
    match kind:
        case types.Decimal() if kind.precision is not None and kind.scale is not None:
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
        case types.String() | types.UUID():
            found = Kind.TEXT
        case types.Boolean():
            found = Kind.BOOLEAN
        case types.Date():
            found = Kind.DATE
        case _:
            found = Kind.STRANGE
    return Column(name, name, found, type(kind).__name__.lower())
