"""Counting a table with the SQL of its engine: the same queries for every engine.

Several groups of attributes share one scan by GROUP BY GROUPING SETS. Most values are grouped as they are written and
numbered afterwards: a few cells instead of every row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tetraodon.domain import Attribute, Categories, Domain
from tetraodon.engine.column import LABELS, Column, ColumnReport, numbered_later, require, require_key, require_kind
from tetraodon.engine.dialect import (
    BIG,
    CountableTable,
    Dialect,
    Sql,
    call,
    grouped,
    inner,
    missing,
    negated,
    number,
    op,
    rows_where,
    selected,
    total,
    when,
)
from tetraodon.engine.dialect import cast as sql_cast
from tetraodon.engine.dialect import name as sql_name
from tetraodon.engine.expressions import ColumnReader
from tetraodon.errors import DataRefusal, PolicyError, QueryError, TableError, did_you_mean
from tetraodon.exact.arrays import MOST_ROWS, Ints

# -- counts -----------------------------------------------------------------------------------------
# How many rows fall in each cell: the only thing an engine says about a table, unless its records forbid to count.


@dataclass(frozen=True)
class Counts:
    """Exact counts by some attributes; empty cells are left out.

    Attributes
    ----------
    names:  the attributes, in the order of the columns of `codes`.
    codes:  one row per cell, in lexicographic order; int64.
    counts: how many rows of the table are in that cell; int64. Without attributes, one cell holds all.
    sums:   for attributes that were to be added up, the sum of their codes over the rows of that cell; int64.

    >>> counts = Counts(("a", "b"), np.array([[0, 1], [2, 0]]), np.array([3, 4]))
    >>> counts.total, counts.by(()).counts.tolist(), counts.by(("b",)).codes.tolist()
    (7, [7], [[0], [1]])
    """

    names: tuple[str, ...]
    codes: Ints
    counts: Ints
    sums: Mapping[str, Ints] = field(default_factory=dict)

    def __post_init__(self) -> None:
        fits = all(len(sums) == len(self.counts) for sums in self.sums.values())
        if not fits or self.codes.shape != (len(self.counts), len(self.names)):
            raise QueryError("codes and counts do not fit together", fix="give one row of codes per count")

    @property
    def total(self) -> int:
        """How many rows were counted."""
        return int(self.counts.sum())

    def by(self, names: Sequence[str]) -> Counts:
        """The same counts by fewer attributes, or by the same ones in another order."""
        wanted = tuple(names)
        if wanted == self.names:
            return self
        for name in wanted:
            if name not in self.names:
                raise QueryError(f"these counts are not by {name!r}", fix=did_you_mean(name, self.names)) from None
        return summed(wanted, self.codes[:, [self.names.index(name) for name in wanted]], self.counts, self.sums)


def summed(
    names: tuple[str, ...],
    codes: Ints,
    counts: Ints,
    sums: Mapping[str, Ints] | None = None,
) -> Counts:
    """Counts and sums from cells in any order, equal cells added up and empty ones dropped."""
    given = sums or {}
    if not names:
        totals = {name: np.array([values.sum()], np.int64) for name, values in given.items()}
        return Counts((), np.zeros((1, 0), np.int64), np.array([counts.sum()], np.int64), totals)
    order = np.lexsort(codes.T[::-1])
    order = order[counts[order] != 0]
    codes, counts = codes[order], counts[order]
    fresh = np.ones(len(codes), dtype=bool)
    fresh[1:] = (codes[1:] != codes[:-1]).any(axis=1)
    starts = np.flatnonzero(fresh)
    added = {name: _added(values[order], starts) for name, values in given.items()}
    return Counts(names, np.ascontiguousarray(codes[starts]), _added(counts, starts), added)


def require_sound(counted: Counts, domain: Domain) -> None:
    """Refuse an endless table, and never let a code out that the domain does not have."""
    if counted.total > MOST_ROWS:
        raise DataRefusal("the table has more rows than can be added up exactly", fix="release parts of it")
    for name, codes in zip(counted.names, counted.codes.T, strict=True):
        if len(codes) and (int(codes.min()) < 0 or int(codes.max()) >= domain[name].size):
            raise DataRefusal("a row was numbered outside the domain", fix="report this as a bug", where=name)


def _added(values: Ints, starts: NDArray[np.intp]) -> Ints:
    return np.asarray(np.add.reduceat(values, starts) if len(starts) else values, np.int64)


# -- passes -----------------------------------------------------------------------------------------
# How few times the table has to be grouped to answer several groups of attributes.

FINE_ENOUGH = 2**20
"""Up to this many cells, finer counts cost next to nothing and are added up afterwards."""

Adding: TypeAlias = Mapping[tuple[str, ...], Sequence[str]]
"""For some groups of attributes, those whose codes are to be added up in every cell."""
NOTHING: Adding = MappingProxyType({})
LONGEST_SUM = 2**26
"""Codes below this can be added up in 64 bits over 2^37 rows."""


def passes(groups: Sequence[tuple[str, ...]], domain: Domain) -> list[tuple[str, ...]]:
    """Groups of attributes, each in the domain's order, such that every group asked for is inside one.

    Post  two passes are kept apart only if together they would have more than `FINE_ENOUGH` cells.
          Depends on the groups and the domain alone.

    >>> from tetraodon.domain import Attribute, Integers
    >>> small, huge = Attribute("small", Integers(0, 9)), Attribute("huge", Integers(0, 10**9))
    >>> passes([("small",), ("huge",), ()], Domain((small, huge)))
    [('small',), ('huge',)]
    """
    chosen: list[set[str]] = []
    sizes = {attribute.name: attribute.size for attribute in domain}
    for group in sorted(groups, key=len, reverse=True):
        for name in group:
            domain.position(name)
        if len(set(group)) != len(group):
            raise QueryError("a group names an attribute twice", fix="name each attribute once")
        for held in chosen:
            both = held | set(group)
            if both == held or math.prod(sizes[name] for name in both) <= FINE_ENOUGH:
                held |= set(group)
                break
        else:
            chosen.append(set(group))
    return [tuple(name for name in domain.names if name in held) for held in chosen]


def covering(group: tuple[str, ...], done: Sequence[tuple[str, ...]]) -> int:
    """Which pass answers a group."""
    return next(place for place, names in enumerate(done) if set(group) <= set(names))


def require_summable(add: Adding, domain: Domain) -> None:
    """Refuse to add up codes that 64 bits may not hold the sum of."""
    for name in (name for names in add.values() for name in names):
        if domain[name].size > LONGEST_SUM:
            raise QueryError(f"{name} has too many values to be added up", fix="count its values instead", where=name)


# -- individuals ------------------------------------------------------------------------------------
# Who a row is about, and how many rows one individual may have.


@dataclass(frozen=True, slots=True)
class Individuals:
    """`key` is the column that tells individuals apart; None says that every row is another individual.

    With a key, at most `at_most` rows of each individual are counted. Whoever has more is left out with all of their
    rows, unless `cut` says to keep the first `at_most` of them, in the order of their own encoded values, all
    attributes of the domain taken in turn. Neither knows anything of the file's order, of the engine or of anybody
    else's rows, and rows that tie are equal, so every engine counts the same rows. Rows without a key belong to
    no person who could be protected, and are left out.

    Why  a cut lets one row decide whether another is counted, so it is safe only where the price allows for any row in
         the place of any other. Leaving out depends on no value (docs/promise.md, "Several rows per person").

    >>> Individuals("patient", at_most=3).cut
    False
    """

    key: str | None = None
    at_most: int = 1
    cut: bool = False

    def __post_init__(self) -> None:
        if self.key == "":
            raise PolicyError("the key of the individuals has no name", fix="name a column, or leave the key out")
        if isinstance(self.at_most, bool) or not isinstance(self.at_most, int) or self.at_most < 1:
            raise PolicyError("an individual has fewer than one row", fix="let `at_most` be 1 or more")
        if self.key is None and (self.at_most != 1 or self.cut):
            raise PolicyError("several rows per individual need a key", fix="name the column that holds the key")


# -- per person -------------------------------------------------------------------------------------
# Counting people rather than rows: rows are grouped by their key first, and what a person has is cut off at a cap.


@dataclass(frozen=True)
class PersonCounts:
    """By number of rows: how many people have so many, and what they have together, each up to the cap; int64."""

    rows: Ints
    people: Ints
    totals: Ints


def people_query(rows: exp.Select, summed: str, first: int, step: int, cap: int) -> exp.Select:
    """The query that counts people, given the rows that count, with the key as `k`.

    `summed` is the column of codes to be added up, whose values are first + step * code; none if it is empty.
    """
    count = exp.Count(this=exp.Star())
    each: dict[str, Sql] = {"n": count, "s": _sum(sql_name(summed)) if summed else number(0)}
    persons = selected(each, inner(rows)).group_by(sql_name("k"), copy=False)
    added = op(exp.Add, op(exp.Mul, sql_name("n"), number(first)), op(exp.Mul, sql_name("s"), number(step)))
    capped = selected({"n": sql_name("n"), "t": call("LEAST", added, number(cap))}, inner(persons))
    sums = {"n": sql_name("n"), "p": count.copy(), "t": _sum(sql_name("t"))}
    return selected(sums, inner(capped)).group_by(sql_name("n"), copy=False)


def _sum(value: Sql) -> Sql:
    return call("COALESCE", sql_cast(exp.Sum(this=value), BIG), number(0))


# -- open names -------------------------------------------------------------------------------------
# Counting the texts of an open column: how many individuals have each.

Texts: TypeAlias = Callable[[Callable[[str], str]], list[tuple[str, int]]]
"""Runs a query that gives texts with their numbers."""


def require_open(column: Column) -> None:
    """Refuse a column whose values have no one spelling."""
    if column.kind not in LABELS:
        raise TableError(
            f"the column is of type {column.shown} where the policy expects text",
            fix="convert the column to text",
            where=column.name,
        )


def texts_of(table: CountableTable) -> Texts:
    """How a table tells texts. Most engines tell numbers alone, and are refused."""
    found = getattr(table, "fetch_texts", None)
    if found is None:
        raise TableError(
            "open text is counted in files and frames only",
            fix="write the table to a Parquet file, and name that",
        )
    return cast(Texts, found)


def names_query(
    column: Column, dialect: Dialect, *, trim: bool, longest: int, key: Sql | None, at_most: int
) -> Callable[[Sql], exp.Select]:
    """The query that counts texts as they are spelt, given what to read; with a `key`, each person once for a text."""
    reader = ColumnReader(Attribute(column.name, Categories(("",)), other=0, trim=trim), column, dialect)
    spelt = reader.read(reader.held)
    held = op(exp.And, negated(missing(sql_name("t"))), op(exp.GTE, call("LENGTH", sql_name("t")), number(1)))
    fitting = op(exp.And, held, op(exp.LTE, call("LENGTH", sql_name("t")), number(longest)))
    counted = {"t": sql_name("t"), "n": exp.Count(this=exp.Star())}

    def query(origin: Sql) -> exp.Select:
        if key is None:
            rows = selected({"t": spelt}, origin)
        else:
            keyed = selected({"k": key, "t": spelt}, origin)
            window = exp.Window(this=exp.Count(this=exp.Star()), partition_by=[sql_name("k")])
            whose = selected({"k": sql_name("k"), "t": sql_name("t"), "held": window}, inner(keyed)).where(
                negated(missing(sql_name("k"))), copy=False
            )
            few = op(exp.LTE, sql_name("held"), number(at_most))
            once = selected({"k": sql_name("k"), "t": sql_name("t")}, inner(whose)).where(few, copy=False)
            rows = once.distinct(copy=False)
        return selected(counted, inner(rows)).where(fitting, copy=False).group_by(sql_name("t"), copy=False)

    return query


# -- counting ---------------------------------------------------------------------------------------


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
            require_kind(attribute, table.columns[attribute.name])
        self._readers = {
            attribute.name: ColumnReader(attribute, table.columns[attribute.name], table.dialect, table.decimal)
            for attribute in domain
        }
        for reader in self._readers.values():
            reader.code(reader.read(reader.held))  # whatever cannot be numbered is refused now
        for title in open_text:
            require_open(table.columns[title])
        if individuals.key:
            require_key(table.columns[individuals.key])

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
            reader = self._readers[attribute.name]
            columns[f"p{place}"] = reader.answered(reader.held)
            columns[f"r{place}"] = reader.read(reader.held)
            wrong = self._amiss(attribute.name, place, sql_name(f"r{place}"))
            decimals = reader.fractional(reader.held)
            if decimals is not None:
                columns[f"d{place}"], wrong[f"d{place}"] = decimals, sql_name(f"d{place}")
            parts |= {part: rows_where(condition) for part, condition in wrong.items()}
        return selected(parts, inner(selected(columns, origin)))

    def _amiss(self, title: str, place: int, value: Sql) -> dict[str, Sql]:
        found = self._readers[title].amiss(sql_name(f"p{place}"), value)
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

        Post  individuals with more rows than allowed count as having none; rows without a key are left out. Texts that
              are missing, too long or not printable are left out.
        Raises TableError on an engine that does not count texts.
        """
        key = self._individuals.key
        tree = names_query(
            self._table.columns[title],
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

    def _read(self, title: str) -> Sql:
        reader = self._readers[title]
        return reader.read(reader.held)

    def _code(self, title: str, place: str) -> Sql:
        return self._readers[title].code(sql_name(place))

    def _key(self, title: str) -> Sql:
        column = self._table.columns[title]
        place = self._dialect.held(column)
        nan = column.kind in self._dialect.nan_kinds
        return when((negated(op(exp.Or, missing(place), self._dialect.is_nan(place))), place)) if nan else place

    def _later(self, title: str) -> bool:
        return self._individuals.key is None and numbered_later(self._domain[title], self._table.columns[title])

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
        typed |= {f"v{p}": self._readers[wanted[p]].held for p in wanted if p in late}
        coded = {f"c{p}": sql_name(f"v{p}") if p in late else self._code(t, f"r{p}") for p, t in wanted.items()}
        coded |= {f"s{p}": self._code(title, f"r{p}") for p, title in added.items()}
        return selected(coded, inner(selected(typed, origin)))

    def _keyed_rows(
        self, key: str, titles: Sequence[str], add: Sequence[str], origin: Sql, *, whose: bool = False
    ) -> exp.Select:
        """The same, without rows that lack a key or exceed `at_most`; with `whose`, the key too, as `k`."""
        used = self._places(self._domain.names if self._individuals.cut else dict.fromkeys((*titles, *add)))
        typed = {"k": self._key(key), **{f"r{p}": self._read(title) for p, title in used.items()}}
        coded = {"k": sql_name("k"), **{f"c{p}": self._code(title, f"r{p}") for p, title in used.items()}}
        encoded = selected(coded, inner(selected(typed, origin))).where(negated(missing(sql_name("k"))), copy=False)
        order = exp.Order(expressions=[sql_name(f"c{p}") for p in used]) if self._individuals.cut else None
        held = exp.RowNumber() if self._individuals.cut else exp.Count(this=exp.Star())
        kept = {title: sql_name(title) for title in (*(f"c{p}" for p in used), *(["k"] if whose else []))}
        ranked = selected(
            {**kept, "held": exp.Window(this=held, partition_by=[sql_name("k")], order=order)}, inner(encoded)
        )
        few = op(exp.LTE, sql_name("held"), number(self._individuals.at_most))
        kept |= {f"s{p}": sql_name(f"c{p}") for p in self._places(add)}
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
        kept = {title: sql_name(title) for title in (*(f"g{place}" for place in places if apart), "n", *sums)}
        if late:
            typed = {
                f"c{p}": self._readers[t].read(sql_name(f"c{p}")) if p in late else sql_name(f"c{p}")
                for p, t in places.items()
            }
            typed |= {f"p{p}": self._readers[places[p]].answered(sql_name(f"c{p}")) for p in late}
            cells = selected({**typed, **kept}, inner(cells))
        # NULL where a column is not in the set
        coded = {
            f"c{p}": self._code(t, f"c{p}") if p in late else call("COALESCE", sql_name(f"c{p}"), number(0))
            for p, t in places.items()
        }
        found = [one for p in sorted(late) for one in self._amiss(places[p], p, sql_name(f"c{p}")).items()]
        wrong = {part: when((condition, sql_name("n"))) for part, condition in found}
        numbered = selected({**coded, **kept, **wrong}, inner(cells))
        if not late:
            return numbered
        added = ("n", *sums, *wrong)
        by = [title for title in (*coded, *kept) if title not in added]
        listed = {title: sql_name(title) for title in by} | {title: total(sql_name(title)) for title in added}
        return selected(listed, inner(numbered)).group_by(*map(sql_name, by), copy=False)

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
        many = op(exp.And, negated(missing(sql_name("k"))), op(exp.GT, sql_name("n"), number(most)))
        left_out = when((many, op(exp.Sub, sql_name("n"), number(kept))))
        keyless = when((missing(sql_name("k")), sql_name("n")))
        found = self._fetch(
            ("key", key),
            lambda origin: selected(
                {"m": total(keyless), "o": total(left_out)},
                inner(
                    selected(
                        {"k": sql_name("k"), "n": exp.Count(this=exp.Star())},
                        inner(selected({"k": self._key(key)}, origin)),
                    ).group_by(sql_name("k"), copy=False)
                ),
            ),
        )
        return ColumnReport(key, rows, int(found["m"][0]), 0, int(found["o"][0]))
