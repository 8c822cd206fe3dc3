"""Counting people rather than rows: rows are grouped by their key first, and what a person has is cut off at a cap."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from tetraodon.arrays import Ints
from tetraodon.engine.dialect import BIG, Sql, call, cast, inner, name, number, op, selected


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
    each: dict[str, Sql] = {"n": count, "s": _sum(name(summed)) if summed else number(0)}
    persons = selected(each, inner(rows)).group_by(name("k"), copy=False)
    added = op(exp.Add, op(exp.Mul, name("n"), number(first)), op(exp.Mul, name("s"), number(step)))
    capped = selected({"n": name("n"), "t": call("LEAST", added, number(cap))}, inner(persons))
    told = {"n": name("n"), "p": count.copy(), "t": _sum(name("t"))}
    return selected(told, inner(capped)).group_by(name("n"), copy=False)


def _sum(value: Sql) -> Sql:
    return call("COALESCE", cast(exp.Sum(this=value), BIG), number(0))
