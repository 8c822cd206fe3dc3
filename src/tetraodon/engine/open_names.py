"""Counting the texts of a column that nobody has listed: how many individuals have each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

from sqlglot import exp

from tetraodon.domain import Attribute, Categories
from tetraodon.engine.column import LABELS, Column
from tetraodon.engine.dialect import (
    CountableTable,
    Dialect,
    Sql,
    call,
    inner,
    missing,
    name,
    negated,
    number,
    op,
    selected,
)
from tetraodon.engine.expressions import read
from tetraodon.errors import TableError

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
            "names that nobody listed are counted in files and frames only",
            fix="write the table to a Parquet file, and name that",
        )
    return cast(Texts, found)


def names_query(
    column: Column, dialect: Dialect, *, trim: bool, longest: int, key: Sql | None, at_most: int
) -> Callable[[Sql], exp.Select]:
    """The query that counts texts as they are spelt, given what to read; with a `key`, each person once for a text."""
    spelt = read(Attribute(column.name, Categories(("",)), other=0, trim=trim), column, dialect.held(column), dialect)
    held = op(exp.And, negated(missing(name("t"))), op(exp.GTE, call("LENGTH", name("t")), number(1)))
    fitting = op(exp.And, held, op(exp.LTE, call("LENGTH", name("t")), number(longest)))
    counted = {"t": name("t"), "n": exp.Count(this=exp.Star())}

    def query(origin: Sql) -> exp.Select:
        if key is None:
            rows = selected({"t": spelt}, origin)
        else:
            keyed = selected({"k": key, "t": spelt}, origin)
            window = exp.Window(this=exp.Count(this=exp.Star()), partition_by=[name("k")])
            whose = selected({"k": name("k"), "t": name("t"), "held": window}, inner(keyed)).where(
                negated(missing(name("k"))), copy=False
            )
            few = op(exp.LTE, name("held"), number(at_most))
            once = selected({"k": name("k"), "t": name("t")}, inner(whose)).where(few, copy=False)
            rows = once.distinct(copy=False)
        return selected(counted, inner(rows)).where(fitting, copy=False).group_by(name("t"), copy=False)

    return query
