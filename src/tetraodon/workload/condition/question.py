"""What an analyst may ask: a condition, or a SELECT of one count, sum or average, by groups or not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from sqlglot import exp

from tetraodon.errors import QueryError
from tetraodon.workload.condition.names import Names, bare, quoted
from tetraodon.workload.condition.nodes import Truth
from tetraodon.workload.condition.read import checked, read_condition
from tetraodon.workload.condition.syntax import is_select, one_select, source_of

Aggregate = Literal["count", "sum", "avg"]


@dataclass(frozen=True)
class Question:
    """One aggregate of the records that satisfy a checked condition, for each cell of the attributes at `by`."""

    aggregate: Aggregate
    attribute: int | None
    by: tuple[int, ...]
    condition: Truth | None


def read_question(text: str, names: Names) -> Question:
    """What a text asks; a QueryError if it is not offered."""
    if not isinstance(text, str):
        raise QueryError("a question is a text", fix='write a condition such as "age < 30", or a SELECT, in quotes')
    if not is_select(text):
        return Question("count", None, (), read_condition(text, names))
    select = one_select(text)
    names = replace(names, table=_table(select, names))
    where = select.args.get("where")
    condition = None if where is None else checked(where.this, names)
    group = select.args.get("group")
    by = [] if group is None else [_grouped(one, select, names) for one in _only_columns(group)]
    if len(set(by)) != len(by):
        raise QueryError("an attribute is grouped by twice", fix="name it once")
    aggregates = []
    for part in select.expressions:
        part = part.this if isinstance(part, exp.Alias) else part
        if isinstance(part, exp.Column):
            if names.column(part) not in by:
                raise QueryError(f"{part.name} is selected but not grouped by", fix="add it to `group by`")
        else:
            aggregates.append(part)
    if len(aggregates) != 1:
        raise QueryError("a question has one aggregate", fix="ask for count(*), sum(attribute) or avg(attribute)")
    aggregate, attribute = _aggregate(aggregates[0], names)
    if attribute is not None and attribute in by:
        raise QueryError("the attribute added up is also grouped by", fix="group by other attributes")
    return Question(aggregate, attribute, tuple(by), condition)


def _table(select: exp.Select, names: Names) -> str:
    table = source_of(select)
    if table is None:
        raise QueryError("the question does not ask one table", fix=_from(names))
    if table.name.lower() != names.table.lower():
        raise QueryError(f"{names.table} is asked here, not {table.name}", fix=_from(names))
    return str(table.alias or table.name)


def _from(names: Names) -> str:
    """How to name the view: in double quotes, where its name is not a word."""
    name = names.table if bare(names.table) else quoted(names.table)
    return f"write `from {name}`, or just the condition"


def _only_columns(group: exp.Group) -> list[Any]:
    if {key for key, value in group.args.items() if value} - {"expressions"}:
        raise QueryError("this kind of grouping is not offered", fix="group by attributes")
    return list(group.expressions)


def _grouped(part: Any, select: exp.Select, names: Names) -> int:
    if isinstance(part, exp.Literal) and part.this.isdigit() and 1 <= int(part.this) <= len(select.expressions):
        part = select.expressions[int(part.this) - 1]
    if not isinstance(part, exp.Column):
        raise QueryError("a question is grouped by something that is no attribute", fix="group by attributes")
    return names.column(part)


def _aggregate(part: Any, names: Names) -> tuple[Aggregate, int | None]:
    inner = part.this if isinstance(part, exp.Count | exp.Sum | exp.Avg) else None
    if isinstance(part, exp.Count) and isinstance(inner, exp.Star):
        return "count", None
    if isinstance(part, exp.Sum | exp.Avg) and isinstance(inner, exp.Column):
        place = names.column(inner)
        if not names.domain.attributes[place].numeric:
            raise QueryError(f"{inner.name} is not a number", fix="add up a numeric attribute")
        return ("sum" if isinstance(part, exp.Sum) else "avg"), place
    raise QueryError(f"`{part.key}` of this is not offered", fix="ask for count(*), sum(attribute) or avg(attribute)")
