"""Counting a table with the SQL of the engine that holds it: the same queries for every engine.

Several groups of attributes share one scan by GROUP BY GROUPING SETS. Most values are grouped as they are written and
numbered afterwards: a few cells instead of every row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Self

import numpy as np
from sqlglot import exp

from tetraodon.arrays import Ints
from tetraodon.domain import Attribute, Domain
from tetraodon.engine.column import Column, ColumnReport, numbered_later, require, require_key, require_kind
from tetraodon.engine.counts import Counts, require_sound, summed
from tetraodon.engine.dialect import (
    CountableTable,
    Sql,
    call,
    grouped,
    inner,
    missing,
    name,
    negated,
    number,
    op,
    rows_where,
    selected,
    total,
    when,
)
from tetraodon.engine.expressions import amiss, answered, code, fractional, present, read
from tetraodon.engine.individuals import Individuals
from tetraodon.engine.open_names import names_query, require_open, texts_of
from tetraodon.engine.passes import NOTHING, Adding, covering, passes, require_summable
from tetraodon.engine.per_person import PersonCounts, people_query


class Engine:
    """A table that can be counted. Engines only count: noise, floats and randomness stay out of them.

    The table's columns are checked when the engine is made; no record is looked at before `counts`.
    """

    def __init__(
        self, table: CountableTable, domain: Domain, individuals: Individuals, open_text: Sequence[str] = ()
    ) -> None:
        self._table = table
        self._dialect = table.dialect
        self._domain = domain
        self._individuals = individuals
        self._reports: dict[str, ColumnReport] = {}
        """Of attributes whose values were counted as they are written: how these fit is known with the counts."""
        require(table.columns, [*domain.names, *([individuals.key] if individuals.key else []), *open_text])
        for attribute in domain:
            require_kind(attribute, self._column(attribute.name))
            self._code(attribute.name, self._read(attribute.name))  # whatever cannot be numbered is refused now
        for title in open_text:
            require_open(self._column(title))
        if individuals.key:
            require_key(self._column(individuals.key))

    def counts(self, groups: Sequence[tuple[str, ...]], add: Adding = NOTHING) -> list[Counts]:
        """Exact counts by each group of attributes; where `add` lists attributes for a group, their codes' sums too.

        Pre   attributes to add up have at most `passes.LONGEST_SUM` values.

        Post  one `Counts` per group, in the order asked, its cells non-empty and sorted; equal on every
              engine. What a row counts as depends on that row and, for keyed tables, on the other rows
              of the same individual; on nothing else.
        Raises DataRefusal if the table cannot be read. A table without rows is counted like any other.
        """
        asked = [tuple(group) for group in groups]
        require_summable(add, self._domain)
        apart = {group: tuple(add[group]) for group in asked if add.get(group)} if self._dialect.sums_apart else {}
        needed = passes([group for group in asked if group not in apart], self._domain)
        together = {added for group in asked if group not in apart for added in add.get(group, ())}
        done = self._tabulate(needed, tuple(sorted(together, key=self._domain.position))) if needed else []
        alone = {group: self._tabulate([group], added)[0] for group, added in apart.items()}
        for counted in (*done, *alone.values()):
            require_sound(counted, self._domain)
        return [alone[group] if group in alone else done[covering(group, needed)].by(group) for group in asked]

    def dry_run(self, names: Collection[str] | None = None) -> list[ColumnReport]:
        """Per attribute, how many rows are missing, unreadable or outside; then the key. For the curator only.

        Where `names` are given, the columns of these attributes alone are looked at. What `counts` has seen of a column
        is not looked at again.
        """
        asked = [a.name for a in self._domain if names is None or a.name in names]
        new = {p: self._domain[title] for p, title in self._places(asked).items() if title not in self._reports}
        if new:
            found = self._fetch(("fit", tuple(new)), lambda origin: self._fit(new, origin))
            self._reports |= {a.name: ColumnReport.added_up(a.name, place, found) for place, a in new.items()}
        reports = [self._reports[title] for title in asked]
        keyed = names is None and self._individuals.key
        return reports + ([self._key_report(keyed, reports[0].rows)] if keyed else [])

    def _fit(self, asked: Mapping[int, Attribute], origin: Sql) -> exp.Select:
        """How many rows there are, and of each attribute how many are missing, unreadable and outside."""
        columns: dict[str, Sql] = {}
        parts: dict[str, Sql] = {"n": exp.Count(this=exp.Star())}
        for place, attribute in asked.items():
            columns[f"p{place}"] = self._answered(attribute.name)
            columns[f"r{place}"] = self._read(attribute.name)
            wrong = self._amiss(attribute.name, place, name(f"r{place}"))
            decimals = self._fractional(attribute.name)
            if decimals is not None:
                columns[f"d{place}"], wrong[f"d{place}"] = decimals, name(f"d{place}")
            parts |= {part: rows_where(condition) for part, condition in wrong.items()}
        return selected(parts, inner(selected(columns, origin)))

    def _amiss(self, title: str, place: int, value: Sql) -> dict[str, Sql]:
        found = amiss(self._domain[title], self._column(title), name(f"p{place}"), value, self._dialect)
        return {f"{part}{place}": condition for part, condition in found.items()}

    def per_person(self, title: str = "", *, first: int = 0, step: int = 0, cap: int = 0) -> PersonCounts:
        """By number of rows, how many individuals have so many; and the sum of an attribute, each up to a cap.

        Pre   there is a key. Values of the attribute are first + step * code, from 0 upwards.
        Post  equal on every engine; of each individual the rows count that `counts` counts.
        """
        key, place = self._individuals.key, f"s{self._domain.position(title)}" if title else ""
        assert key is not None, "whose row is whose is not known"
        found = self._fetch(
            ("people", title, first, step, cap),
            lambda origin: people_query(
                self._keyed_rows(key, (), [title] if title else [], origin, whose=True), place, first, step, cap
            ),
        )
        return PersonCounts(found["n"], found["p"], found["t"])

    def names(self, title: str, *, longest: int, trim: bool) -> dict[str, int]:
        """How many individuals have each text of a column that was opened as open text.

        Post  whoever has more rows than allowed has none, and rows of nobody count for none. A text that is missing,
              longer than allowed or not printable is none.
        Raises TableError on an engine that tells no texts.
        """
        key = self._individuals.key
        tree = names_query(
            self._column(title),
            self._dialect,
            trim=trim,
            longest=longest,
            key=None if key is None else self._key(key),
            at_most=self._individuals.at_most,
        )
        found = texts_of(self._table)(lambda origin: self._dialect.text(tree(exp.Table(this=exp.Var(this=origin)))))
        return {text: number for text, number in found if text.isprintable()}

    def close(self) -> None:
        """Let go of the table. Nothing of it stays behind on disk."""
        self._table.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _fetch(self, asked: Hashable, query: Callable[[Sql], exp.Select]) -> dict[str, Ints]:
        """The answer to a query that depends on `asked`, and on how the table and its records look, alone."""
        table = self._table
        how = tuple(table.columns.values()), table.decimal, self._domain, self._individuals
        return table.fetch(lambda origin: self._dialect.written((how, asked), query, origin))

    def _column(self, title: str) -> Column:
        return self._table.columns[title]

    def _read(self, title: str, place: Sql | None = None) -> Sql:
        column = self._column(title)
        value = place or self._dialect.held(column)
        return read(self._domain[title], column, value, self._dialect, self._table.decimal)

    def _fractional(self, title: str) -> Sql | None:
        column = self._column(title)
        return fractional(self._domain[title], column, self._dialect.held(column), self._dialect, self._table.decimal)

    def _answered(self, title: str, place: Sql | None = None) -> Sql:
        column = self._column(title)
        return answered(self._domain[title], column, place or self._dialect.held(column), self._dialect)

    def _code(self, title: str, value: Sql) -> Sql:
        return code(self._domain[title], self._column(title), value, self._dialect)

    def _key(self, title: str) -> Sql:
        column = self._column(title)
        place = self._dialect.held(column)
        return when((present(column, place, self._dialect), place)) if column.kind in self._dialect.nan_kinds else place

    def _later(self, title: str) -> bool:
        return self._individuals.key is None and numbered_later(self._domain[title], self._column(title))

    def _places(self, titles: Iterable[str]) -> dict[int, str]:
        return {self._domain.position(title): title for title in titles}

    def _rows(self, titles: Sequence[str], add: Sequence[str], origin: Sql) -> exp.Select:
        """The rows that count: a column `c<position>` for each attribute, and `s<position>` for each to add up."""
        key = self._individuals.key
        if key is not None:
            return self._keyed_rows(key, titles, add, origin)
        wanted, added = self._places(titles), self._places(add)
        late = {place for place, title in wanted.items() if self._later(title)}
        typed = {f"r{p}": self._read(title) for p, title in {**wanted, **added}.items() if p in added or p not in late}
        typed |= {f"v{p}": self._dialect.held(self._column(wanted[p])) for p in wanted if p in late}
        coded = {f"c{p}": name(f"v{p}") if p in late else self._code(t, name(f"r{p}")) for p, t in wanted.items()}
        coded |= {f"s{p}": self._code(title, name(f"r{p}")) for p, title in added.items()}
        return selected(coded, inner(selected(typed, origin)))

    def _keyed_rows(
        self, key: str, titles: Sequence[str], add: Sequence[str], origin: Sql, *, whose: bool = False
    ) -> exp.Select:
        """The same, without the rows of nobody and those of whoever has too many; with `whose`, the key too, as `k`."""
        used = self._places(self._domain.names if self._individuals.cut else dict.fromkeys((*titles, *add)))
        typed = {"k": self._key(key), **{f"r{p}": self._read(title) for p, title in used.items()}}
        coded = {"k": name("k"), **{f"c{p}": self._code(title, name(f"r{p}")) for p, title in used.items()}}
        encoded = selected(coded, inner(selected(typed, origin))).where(negated(missing(name("k"))), copy=False)
        order = exp.Order(expressions=[name(f"c{p}") for p in used]) if self._individuals.cut else None
        held = exp.RowNumber() if self._individuals.cut else exp.Count(this=exp.Star())
        kept = {title: name(title) for title in (*(f"c{p}" for p in used), *(["k"] if whose else []))}
        ranked = selected(
            {**kept, "held": exp.Window(this=held, partition_by=[name("k")], order=order)}, inner(encoded)
        )
        few = op(exp.LTE, name("held"), number(self._individuals.at_most))
        kept |= {f"s{p}": name(f"c{p}") for p in self._places(add)}
        return selected(kept, inner(ranked)).where(few, copy=False)

    def _tabulate(self, needed: list[tuple[str, ...]], add: tuple[str, ...]) -> list[Counts]:
        """Counts and sums by every pass; all of them share one scan."""
        every = [title for title in self._domain.names if any(title in titles for titles in needed)]
        sums = [f"s{place}" for place in self._places(add)]
        sets = [[f"c{place}" for place in self._places(titles)] for titles in needed]
        found = self._fetch(
            ("cells", tuple(needed), add),
            lambda origin: self._numbered(
                grouped(self._rows(every, add, origin), sets, sums), every, sums, apart=len(sets) > 1
            ),
        )
        parts = [found if len(sets) == 1 else self._chosen(titles, every, found) for titles in needed]
        for titles, part in zip(needed, parts, strict=True):
            learnt = [one for one in self._places(titles).items() if self._later(one[1])]
            self._reports |= {title: ColumnReport.added_up(title, place, part) for place, title in learnt}
        return [self._part(titles, add, part) for titles, part in zip(needed, parts, strict=True)]

    def _numbered(self, cells: exp.Select, every: Sequence[str], sums: list[str], *, apart: bool) -> exp.Select:
        """The same cells with every column numbered, those of one number added up. Of columns that are numbered here it
        is added up too how many of their values are amiss.
        """
        places = self._places(every)
        late = {place for place, title in places.items() if self._later(title)}
        if not late and not apart:
            return cells
        kept = {title: name(title) for title in (*(f"g{place}" for place in places if apart), "n", *sums)}
        if late:
            typed = {f"c{p}": self._read(t, name(f"c{p}")) if p in late else name(f"c{p}") for p, t in places.items()}
            typed |= {f"p{p}": self._answered(places[p], name(f"c{p}")) for p in late}
            cells = selected({**typed, **kept}, inner(cells))
        # NULL where a column is not in the set
        coded = {
            f"c{p}": self._code(t, name(f"c{p}")) if p in late else call("COALESCE", name(f"c{p}"), number(0))
            for p, t in places.items()
        }
        found = [one for p in sorted(late) for one in self._amiss(places[p], p, name(f"c{p}")).items()]
        wrong = {part: when((condition, name("n"))) for part, condition in found}
        numbered = selected({**coded, **kept, **wrong}, inner(cells))
        if not late:
            return numbered
        added = ("n", *sums, *wrong)
        by = [title for title in (*coded, *kept) if title not in added]
        listed = {title: name(title) for title in by} | {title: total(name(title)) for title in added}
        return selected(listed, inner(numbered)).group_by(*map(name, by), copy=False)

    def _chosen(self, titles: tuple[str, ...], every: Sequence[str], found: dict[str, Ints]) -> dict[str, Ints]:
        """The cells of one pass, out of those of several which have `every` attribute among them."""
        chosen = np.ones(len(found["n"]), dtype=bool)
        for place, title in self._places(every).items():
            chosen &= found[f"g{place}"] == (title not in titles)
        return {title: array[chosen] for title, array in found.items()}

    def _part(self, titles: tuple[str, ...], add: tuple[str, ...], found: dict[str, Ints]) -> Counts:
        """The cells of one pass as counts."""
        codes, counts = [found[f"c{place}"] for place in self._places(titles)], found["n"]
        sums = {title: found[f"s{place}"] for place, title in self._places(add).items()}
        return summed(titles, np.stack(codes, axis=1) if codes else np.zeros((len(counts), 0), np.int64), counts, sums)

    def _key_report(self, key: str, rows: int) -> ColumnReport:
        most, kept = self._individuals.at_most, self._individuals.at_most if self._individuals.cut else 0
        many = op(exp.And, negated(missing(name("k"))), op(exp.GT, name("n"), number(most)))
        left_out = when((many, op(exp.Sub, name("n"), number(kept))))
        keyless = when((missing(name("k")), name("n")))
        found = self._fetch(
            ("key", key),
            lambda origin: selected(
                {"m": total(keyless), "o": total(left_out)},
                inner(
                    selected(
                        {"k": name("k"), "n": exp.Count(this=exp.Star())},
                        inner(selected({"k": self._key(key)}, origin)),
                    ).group_by(name("k"), copy=False)
                ),
            ),
        )
        return ColumnReport(key, rows, int(found["m"][0]), 0, int(found["o"][0]))
