"""Checked conditions as SQL for DuckDB, over columns c0, c1, ... that hold the codes of the attributes."""

from __future__ import annotations

from typing import assert_never

from sqlglot import exp

from tetraodon.errors import QueryError
from tetraodon.query.condition.nodes import (
    FAST,
    Always,
    Arithmetic,
    Choice,
    Code,
    Constant,
    Extreme,
    Junction,
    Lookup,
    Negation,
    NumberComparison,
    Reading,
    Truth,
    Unknown,
    Whole,
)
from tetraodon.query.condition.values import Day, Nothing, Plain, Ratio, Span, Value, Words

OWN = "tetraodon_"
"""How our own tables are called, so that no public table is mistaken for one of them."""
ROW = f"{OWN}row"
"""The name under which conditions know the tuple they look at: c0, c1, ... are its codes, a0, a1, ... its values."""
LISTED = 2**17
"""The most values of an attribute whose texts are looked up in a database."""


def condition_sql(truth: Truth) -> str:
    """A condition as SQL, true, false or null as it is in `nodes.py`.

    >>> condition_sql(NumberComparison("<", Code(0, 9), Constant(3)))
    '(tetraodon_row.c0 < 3)'
    """
    match truth:
        case Always(true):
            return {True: "true", False: "false", None: "CAST(NULL AS BOOLEAN)"}[true]
        case NumberComparison(sign, left, right):
            return f"({_sql(left)} {sign} {_sql(right)})"
        case Negation(part):
            return f"(NOT {condition_sql(part)})"
        case Junction(every, parts):
            return "(" + (" AND " if every else " OR ").join(condition_sql(part) for part in parts) + ")"
        case Unknown(number):
            return f"({_sql(number)} IS NULL)"
        case Reading(sql):
            return f"({sql})"
        case _:
            assert_never(truth)


def value_sql(value: Value) -> str:
    """A part of a condition as SQL, to be compared with what a public table holds."""
    match value:
        case Plain(_, place):
            return f"{ROW}.a{place}"
        case Ratio(over, under):
            return _sql(over) if under == Constant(1) else f"(CAST({_sql(over)} AS DOUBLE) / {_sql(under)})"
        case Words(words, place):
            texts = ", ".join("NULL" if word is None else str(exp.Literal.string(word).sql("duckdb")) for word in words)
            return f"(CAST([{texts}] AS VARCHAR[]))[{'1' if place is None else f'{ROW}.c{place} + 1'}]"
        case Day(days):
            return f"(DATE '0001-01-01' + CAST({_sql(days)} - 1 AS INTEGER))"
        case Span() | Nothing():
            raise QueryError("this is not compared with a subquery", fix="compare an attribute with it")
        case _:
            return condition_sql(value)


def _sql(node: Whole) -> str:
    match node:
        case Constant(number):
            return "CAST(NULL AS BIGINT)" if number is None else str(number) if number >= 0 else f"({number})"
        case Code(place):
            return f"{ROW}.c{place}"
        case Lookup(place, listed):
            if len(listed) > LISTED:
                raise QueryError("a text function looks at too many values", fix="compare the attribute itself")
            texts = ", ".join("NULL" if number is None else str(number) for number in listed)
            return f"(CAST([{texts}] AS BIGINT[]))[{ROW}.c{place} + 1]"
        case Arithmetic(operation, left, right):
            wide = max(node.bound, left.bound, right.bound) >= FAST
            return f"({_wide(_sql(left), wide)} {operation} {_wide(_sql(right), wide)})"
        case Choice(conditions, numbers):
            wide = node.bound >= FAST
            pairs = zip(conditions, numbers, strict=False)
            whens = " ".join(f"WHEN {condition_sql(one)} THEN {_wide(_sql(number), wide)}" for one, number in pairs)
            return f"(CASE {whens} ELSE {_wide(_sql(numbers[-1]), wide)} END)"
        case Extreme(largest, numbers):
            wide = node.bound >= FAST
            sides = ", ".join(_wide(_sql(number), wide) for number in numbers)
            return f"{'greatest' if largest else 'least'}({sides})"
        case _:
            assert_never(node)


def _wide(sql: str, wide: bool) -> str:
    return f"CAST({sql} AS HUGEINT)" if wide else sql
