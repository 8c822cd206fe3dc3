"""What an analyst may ask of a view: a condition, or a SELECT of one count, sum or average, by groups or not."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from sqlglot import exp

from tetraodon.errors import QueryError
from tetraodon.publishing.predicate import Known, checked, place_of
from tetraodon.workload.condition import parse_condition
from tetraodon.workload.sql import is_select, one_select, source_of

Aggregate = Literal["count", "sum", "avg"]


@dataclass(frozen=True)
class Question:
    """One aggregate of the records that satisfy a checked condition, for each cell of the attributes at `by`."""

    aggregate: Aggregate
    attribute: int | None
    by: tuple[int, ...]
    condition: exp.Expression | None


def read_question(text: str, known: Known) -> Question:
    """What a text asks; a QueryError if it is not offered."""
    if not is_select(text):
        return Question("count", None, (), checked(parse_condition(text), known))
    select = one_select(text)
    known = replace(known, table=_table(select, known))
    where = select.args.get("where")
    condition = None if where is None else checked(where.this, known)
    group = select.args.get("group")
    by = [] if group is None else [_grouped(one, select, known) for one in _only_columns(group)]
    if len(set(by)) != len(by):
        raise QueryError("an attribute is grouped by twice", fix="name it once")
    aggregates = []
    for part in select.expressions:
        part = part.this if isinstance(part, exp.Alias) else part
        if isinstance(part, exp.Column):
            if _column(part, known) not in by:
                raise QueryError(f"{part.name} is selected but not grouped by", fix="add it to `group by`")
        else:
            aggregates.append(part)
    if len(aggregates) != 1:
        raise QueryError("a question has one aggregate", fix="ask for count(*), sum(attribute) or avg(attribute)")
    aggregate, attribute = _aggregate(aggregates[0], known)
    if attribute is not None and attribute in by:
        raise QueryError("the attribute added up is also grouped by", fix="group by other attributes")
    return Question(aggregate, attribute, tuple(by), condition)


def _table(select: exp.Select, known: Known) -> str:
    table = source_of(select)
    if table is None:
        raise QueryError("the question does not ask one table", fix=_from(known))
    if table.name.lower() != known.table.lower():
        raise QueryError(f"this is a view of {known.table}, not of {table.name}", fix=_from(known))
    return str(table.alias or table.name)


def _from(known: Known) -> str:
    """How to name the view: in double quotes, where its name is not a word."""
    name = (
        known.table if re.fullmatch(r"[^\W\d]\w*", known.table) else exp.to_identifier(known.table, quoted=True).sql()
    )
    return f"write `from {name}`, or just the condition"


def _only_columns(group: exp.Group) -> list[Any]:
    if {key for key, value in group.args.items() if value} - {"expressions"}:
        raise QueryError("this kind of grouping is not offered", fix="group by attributes")
    return list(group.expressions)


def _grouped(part: Any, select: exp.Select, known: Known) -> int:
    if isinstance(part, exp.Literal) and part.this.isdigit() and 1 <= int(part.this) <= len(select.expressions):
        part = select.expressions[int(part.this) - 1]
    if not isinstance(part, exp.Column):
        raise QueryError("a question is grouped by something that is no attribute", fix="group by attributes")
    return _column(part, known)


def _column(column: exp.Column, known: Known) -> int:
    if column.table and column.table != known.table:
        raise QueryError(f"{column.table} is not the table asked", fix=f"write {known.table}.{column.name}")
    return place_of(column.name, known.domain)


def _aggregate(part: Any, known: Known) -> tuple[Aggregate, int | None]:
    inner = part.this if isinstance(part, exp.Count | exp.Sum | exp.Avg) else None
    if isinstance(part, exp.Count) and isinstance(inner, exp.Star):
        return "count", None
    if isinstance(part, exp.Sum | exp.Avg) and isinstance(inner, exp.Column):
        place = _column(inner, known)
        if not known.domain.attributes[place].numeric:
            raise QueryError(f"{inner.name} is not a number", fix="add up a numeric attribute")
        return ("sum" if isinstance(part, exp.Sum) else "avg"), place
    raise QueryError(f"`{part.key}` of this is not offered", fix="ask for count(*), sum(attribute) or avg(attribute)")
