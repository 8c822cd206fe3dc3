"""Questions of analysts: a condition, or a SELECT of aggregates with groups."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from sqlglot import exp

from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Bools, Floats
from tetraodon.query.condition.nodes import (
    Codes,
    Negation,
    Number,
    Reader,
    Truth,
    denominator,
    evaluate,
    numbers,
    together,
)
from tetraodon.query.condition.public_tables import Joined, PublicColumn, joined, public_column
from tetraodon.query.condition.read import checked, read_condition, read_value
from tetraodon.query.condition.syntax import Names, bare, parsed, quoted
from tetraodon.query.condition.values import Plain, number_in, unknown

OFFERED: Final = {"expressions", "from_", "where", "group", "kind", "having", "order", "limit", "joins"}
FIX: Final = "write it like `select count(*) from people where age > 30`, or just `age > 30`"
Kind: TypeAlias = Literal["count", "sum", "avg", "distinct"]
AGGREGATES: Final = "ask for count(*), count(x), count(distinct x), sum(x) or avg(x)"


@dataclass(frozen=True)
class AskedNumber:
    """The answer for a group: how many records, or those where something is known; a sum, a mean; how many values.

    `number` is what is added up, or distinguished; `known` is where what `count(x)` counts is not missing.
    """

    kind: Kind
    name: str
    number: Number | None = None
    known: Truth | None = None

    @property
    def places(self) -> tuple[int, ...]:
        """The attributes that it looks at."""
        part = self.number or self.known
        return () if part is None else tuple(sorted({place for place, _ in part.sizes}))

    def over(self, codes: Codes, reader: Reader | None = None) -> tuple[Floats, Bools]:
        """Its numbers for records with these codes, and where they are known."""
        if self.number is None:
            here = np.array(True) if self.known is None else evaluate(self.known, codes, reader)[0]
            return np.ones(here.shape), here
        found = numbers(self.number, codes, reader)
        return np.asarray(found.over, np.float64) / np.asarray(found.under, np.float64), np.asarray(found.known)


@dataclass(frozen=True)
class Order:
    """Groups in the order of the aggregate at `column`, or of the attribute at `place`."""

    column: int | None
    place: int | None
    descending: bool


@dataclass(frozen=True)
class Question:
    """Aggregates of the records that satisfy a checked condition, for each cell of the attributes at `by`.

    The first `shown` aggregates were selected; the others are for `having` and `order by`. In `having` the aggregate at
    i is the column `ai`. `joins` are the public tables read with every record. What is grouped by may be one of
    `columns` of theirs, which are counted on from the attributes.
    """

    aggregates: tuple[AskedNumber, ...]
    by: tuple[int, ...]
    condition: Truth | None
    shown: int = 1
    having: exp.Expression | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    joins: tuple[Joined, ...] = ()
    columns: tuple[PublicColumn, ...] = ()

    @property
    def chosen_by_looking(self) -> bool:
        """Whether estimates decide which groups are shown: then intervals must hold for all groups together."""
        return self.having is not None or (self.limit is not None and any(one.column is not None for one in self.order))

    @property
    def plain(self) -> bool:
        """Whether it is one count of all that satisfy the condition."""
        return not self.by and self.aggregates == (replace(COUNT, name=self.aggregates[0].name),)


COUNT: Final = AskedNumber("count", "count(*)")


def read_question(text: str, names: Names) -> Question:
    """What a text asks; a QueryError if it is not offered."""
    if not isinstance(text, str):
        raise QueryError("a question is a text", fix='write a condition such as "age < 30", or a SELECT, in quotes')
    if not is_select(text):
        return Question((COUNT,), (), read_condition(text, names))
    select = one_select(text)
    names = replace(names, table=_table(select, names))
    where = select.args.get("where")
    trees, joins = joined(select, None if where is None else where.this, names)
    condition = together(True, [checked(tree, names) for tree in trees]) if trees else None
    group = select.args.get("group")
    groups = _Groups(names, joins)
    by = [] if group is None else [groups.grouped(one, select) for one in _only_columns(group)]
    if len(set(by)) != len(by):
        raise QueryError("an attribute is grouped by twice", fix="name it once")
    asked = _Aggregates(names, groups)
    for part in select.expressions:
        inner = part.this if isinstance(part, exp.Alias) else part
        if not isinstance(inner, exp.Column):
            asked.add(inner, part.alias)
        elif groups.place(inner) not in by:
            raise QueryError(f"{inner.name} is selected but not grouped by", fix="add it to `group by`")
    if not asked.found:
        raise QueryError("a question has no aggregate", fix=AGGREGATES)
    shown = len(asked.found)
    parts = {key: select.args.get(key) for key in ("having", "order", "limit")}
    if not by and any(parts.values()):
        raise QueryError("there is one group, and nothing to choose from", fix="leave out having, order by and limit")
    having = None if parts["having"] is None else asked.having(parts["having"].this)
    order = () if parts["order"] is None else [asked.order(one, select, by) for one in parts["order"].expressions]
    limit = None if parts["limit"] is None else _limit(parts["limit"])
    columns = tuple(groups.columns)
    return Question(tuple(asked.found), tuple(by), condition, shown, having, tuple(order), limit, joins, columns)


def is_select(text: str) -> bool:
    """Whether a question is a whole SELECT, and not a condition alone."""
    return re.match(r"\s*select\b", text, re.IGNORECASE) is not None


def one_select(text: str) -> exp.Select:
    """The one SELECT that a question is, with no part that is not offered in questions."""
    statements = parsed(text, what="the question", fix=FIX)
    select = statements[0] if len(statements) == 1 else None
    if not isinstance(select, exp.Select):
        raise QueryError("the question is more than one SELECT", fix=FIX)
    extra = {key for key, value in select.args.items() if value} - OFFERED
    if extra:
        raise QueryError(f"`{min(extra).rstrip('_')}` is not offered in a question", fix=FIX)
    return select


def source_of(select: exp.Select) -> exp.Table | None:
    """The one plain table that a SELECT reads, which may have another name in it."""
    source = select.args.get("from_")
    table = None if source is None else source.this
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        return None
    return None if {key for key, value in table.args.items() if value} - {"this", "alias"} else table


class _Groups:
    """The places of what may be grouped by: attributes, and then columns of joined tables as they are named."""

    def __init__(self, names: Names, joins: Sequence[Joined]) -> None:
        self.names, self.joins = names, joins
        self.columns: list[PublicColumn] = []

    def place(self, column: exp.Column) -> int:
        found = public_column(column, self.joins, self.names)
        if found is None:
            return self.names.column(column)
        if found not in self.columns:
            self.columns.append(found)
        return len(self.names.domain.names) + self.columns.index(found)

    def grouped(self, part: Any, select: exp.Select) -> int:
        part = _listed(part, select)
        if not isinstance(part, exp.Column):
            raise QueryError("a question is grouped by something that is no attribute", fix="group by attributes")
        return self.place(part)


class _Aggregates:
    """The aggregates of a question, each once."""

    def __init__(self, names: Names, groups: _Groups) -> None:
        self.names, self.groups = names, groups
        self.found: list[AskedNumber] = []

    def add(self, part: Any, alias: str = "") -> int:
        name = alias or part.sql("duckdb", normalize_functions="lower")
        if name in (one.name for one in self.found):
            raise QueryError("two columns have one name", fix="select it once, or write `as` and another name")
        self.found.append(_aggregate(part, name, self.names))
        return len(self.found) - 1

    def place(self, part: Any) -> int | None:
        """Which aggregate a part of `having` or `order by` is, under its name or written out; None if it is none."""
        if isinstance(part, exp.Column):
            near = [at for at, one in enumerate(self.found) if not part.table and one.name.lower() == part.name.lower()]
            return near[0] if near else None
        if not isinstance(part, exp.AggFunc):
            return None
        wanted = _aggregate(part, "", self.names)
        same = [at for at, one in enumerate(self.found) if replace(one, name="") == wanted]
        return same[0] if same else self.add(part)

    def having(self, tree: exp.Expression) -> exp.Expression:
        def replaced(node: exp.Expression) -> exp.Expression:
            place = self.place(node)
            if place is None and isinstance(node, exp.Column):
                raise QueryError("`having` is about an attribute", fix="say what is about attributes in `where`")
            return node if place is None else exp.column(f"a{place}")

        return tree.transform(replaced)

    def order(self, part: Any, select: exp.Select, by: Sequence[int]) -> Order:
        wanted = _listed(part.this, select)
        place = self.place(wanted.this if isinstance(wanted, exp.Alias) else wanted)
        if place is not None:
            return Order(place, None, bool(part.args.get("desc")))
        if not isinstance(wanted, exp.Column) or self.groups.place(wanted) not in by:
            raise QueryError("groups are ordered by neither aggregate nor group", fix="order by one of them")
        return Order(None, self.groups.place(wanted), bool(part.args.get("desc")))


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


def _listed(part: Any, select: exp.Select) -> Any:
    """The selected part that a number means by its position."""
    if isinstance(part, exp.Literal) and part.this.isdigit() and 1 <= int(part.this) <= len(select.expressions):
        return select.expressions[int(part.this) - 1]
    return part


def _limit(limit: exp.Limit) -> int:
    number = limit.expression
    if not isinstance(number, exp.Literal) or number.is_string or not number.this.isdigit() or int(number.this) < 1:
        raise QueryError("`limit` is not a positive whole number", fix="write one such as `limit 10`")
    return int(number.this)


def _aggregate(part: Any, name: str, names: Names) -> AskedNumber:
    inner = part.this if isinstance(part, exp.Count | exp.Sum | exp.Avg) else None
    if inner is None or {key for key, value in part.args.items() if value} - {"this", "big_int"}:
        raise QueryError(f"`{part.key}` of this is not offered", fix=AGGREGATES)
    if isinstance(part, exp.Count) and isinstance(inner, exp.Star):
        return AskedNumber("count", name)
    distinct = isinstance(inner, exp.Distinct)
    if distinct:
        if len(inner.expressions) != 1 or inner.args.get("on") or not isinstance(part, exp.Count):
            raise QueryError(f"`{part.key}(distinct ...)` of this is not offered", fix=AGGREGATES)
        inner = inner.expressions[0]
    value = read_value(inner, names)
    if not isinstance(part, exp.Count):
        return AskedNumber("sum" if isinstance(part, exp.Sum) else "avg", name, number_in(value))
    if not distinct:
        always = isinstance(value, Plain) and not value.attribute.separate
        return AskedNumber("count", name, known=None if always else Negation(unknown(value)))
    number = value.code if isinstance(value, Plain) else number_in(value)
    if denominator(number) is None:
        raise QueryError("the values of a quotient are not told apart", fix="count the distinct values of an attribute")
    return AskedNumber("distinct", name, number)
