"""What a condition on a tuple may say: every part of its syntax tree is on a list, or it is refused.

A checked tree is written out again as SQL for the sandbox: attributes become columns of the tuple at hand, subqueries
read public tables and nothing else, and words and dates are compared as the domain means them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from sqlglot import exp

from tetraodon.domain import Attribute, Categories, Dates, Domain
from tetraodon.domain.values import label_text, number_of
from tetraodon.errors import DomainError, QueryError, did_you_mean
from tetraodon.publishing.sandbox import OWN, ROW
from tetraodon.workload.condition import nearest_value
from tetraodon.workload.like import like_regex

TWO: Final = frozenset({"this", "expression"})
ONE: Final = frozenset({"this"})
ORDERS: Final = (exp.LT, exp.LTE, exp.GT, exp.GTE)
COMPARISONS: Final = (exp.EQ, exp.NEQ, *ORDERS)
PARTS: Final[dict[type[exp.Expression], frozenset[str]]] = {
    **dict.fromkeys((exp.And, exp.Or, *COMPARISONS, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is), TWO),
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.IntDiv, exp.Mod, exp.Pow, exp.DPipe, exp.Escape), TWO),
    **dict.fromkeys((exp.StartsWith, exp.Nullif), TWO),
    **dict.fromkeys((exp.Not, exp.Paren, exp.Neg, exp.Boolean, exp.Abs, exp.Floor, exp.Lower, exp.Upper), ONE),
    **dict.fromkeys((exp.Length, exp.Year, exp.Month, exp.Day, exp.Var, exp.Exists, exp.Where, exp.Having), ONE),
    **dict.fromkeys((exp.Distinct, exp.Tuple, exp.Group), frozenset({"expressions"})),
    **dict.fromkeys((exp.Min, exp.Max, exp.Sum, exp.Avg), ONE),
    **dict.fromkeys((exp.Coalesce, exp.Least, exp.Greatest), frozenset({"this", "expressions", "ignore_nulls"})),
    exp.Null: frozenset(),
    exp.Star: frozenset(),
    exp.Div: TWO | {"typed", "safe"},
    exp.Ceil: ONE | {"decimals"},
    exp.Like: TWO | {"negate"},
    exp.ILike: TWO | {"negate"},
    exp.Between: frozenset({"this", "low", "high"}),
    exp.In: frozenset({"this", "expressions", "query"}),
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.If: frozenset({"this", "true", "false"}),
    exp.Round: ONE | {"decimals"},
    exp.Substring: frozenset({"this", "start", "length"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Column: frozenset({"this", "table"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Extract: TWO,
    exp.Cast: frozenset({"this", "to"}),
    exp.TryCast: frozenset({"this", "to", "requires_string"}),
    exp.DataType: frozenset({"this", "expressions", "nested"}),
    exp.DataTypeParam: ONE,
    exp.Interval: frozenset({"this", "unit"}),
    exp.Subquery: ONE,
    exp.Select: frozenset({"expressions", "from_", "where", "joins", "group", "having", "distinct"}),
    exp.From: ONE,
    exp.Join: frozenset({"this", "on", "side", "kind"}),
    exp.Table: frozenset({"this", "alias"}),
    exp.TableAlias: ONE,
    exp.Alias: frozenset({"this", "alias"}),
    exp.Count: frozenset({"this", "big_int"}),
}
"""The parts of a syntax tree that are offered, and what each may hold."""
INSIDE: Final = (exp.Count, exp.Min, exp.Max, exp.Sum, exp.Avg, exp.Star, exp.Distinct)
"""What makes sense in a subquery only."""
TYPES: Final = frozenset({"INT", "BIGINT", "DOUBLE", "FLOAT", "DECIMAL", "VARCHAR", "TEXT", "DATE", "BOOLEAN"})
FIX: Final = "use comparisons, arithmetic, between, in, like, case, and, or, not over the attributes"


Scope: TypeAlias = dict[str, tuple[str, ...]]
"""The tables that a subquery reads, under the names they have there, with their columns."""


@dataclass(frozen=True)
class Known:
    """What names may stand for: the attributes of a table, under its name, and the columns of public tables."""

    domain: Domain
    table: str
    public: Scope


def checked(tree: exp.Expression, known: Known) -> exp.Expression:
    """The condition with its names resolved, ready to be written out; a QueryError if any part is not offered."""
    try:
        return _checked(tree.copy(), known)
    except RecursionError:
        raise QueryError("the condition is nested too deeply", fix="split it, or use `in` and `between`") from None


def _checked(tree: exp.Expression, known: Known) -> exp.Expression:
    for part in tree.walk():
        _offered(part)
    for node in _outside_subqueries(tree):
        if isinstance(node, INSIDE):
            raise QueryError(f"`{node.key}` is not offered in a condition", fix=FIX)
    holder = exp.Paren(this=tree)
    _resolve(holder, known)
    for part in list(holder.find_all(*COMPARISONS, exp.In, exp.Between)):
        _like_with_like(part, known.domain)
    for part in list(holder.find_all(exp.Like, exp.ILike)):
        _without_backtracking(part)
    found = holder.this
    found.pop()
    assert isinstance(found, exp.Expression)
    return found


def places_in(tree: exp.Expression) -> tuple[int, ...]:
    """Which attributes a resolved condition looks at, in the domain's order."""
    return tuple(sorted({_place(column) for column in tree.find_all(exp.Column) if _is_attribute(column)}))


def written(tree: exp.Expression) -> str:
    """A checked condition as SQL."""
    return tree.sql(dialect="duckdb")


def _offered(node: Any) -> None:
    allowed = PARTS.get(type(node))
    if allowed is None:
        raise QueryError(f"`{node.key}` is not offered in a condition", fix=FIX)
    extra = {part for part, given in node.args.items() if given and not part.startswith("_")} - allowed
    if extra:
        raise QueryError(f"`{node.key}` with `{min(extra)}` is not offered in a condition", fix=FIX)
    if isinstance(node, exp.DataType) and node.this.name not in TYPES:
        raise QueryError("a cast to this type is not offered", fix="cast to integer, double, varchar, date or boolean")
    if isinstance(node, exp.Join) and (node.args.get("side") or node.args.get("kind") or "INNER") not in (
        "INNER",
        "LEFT",
    ):
        raise QueryError("this kind of join is not offered", fix="use an inner or a left join")


def _outside_subqueries(tree: exp.Expression) -> Iterator[exp.Expression]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, exp.Select):
            yield node
            waiting += node.iter_expressions()


def _resolve(holder: exp.Expression, known: Known) -> None:
    """Replace every name of an attribute by its column, going into subqueries with the tables they read."""
    waiting: list[tuple[exp.Expression, tuple[Scope, ...]]] = [(holder, ())]
    while waiting:
        node, scopes = waiting.pop()
        if isinstance(node, exp.Select):
            scopes = (*scopes, _tables(node, known))
        for child in list(node.iter_expressions()):
            if isinstance(child, exp.Column):
                _resolve_column(child, known, scopes)
            else:
                waiting.append((child, scopes))


def _tables(select: exp.Select, known: Known) -> Scope:
    sources = [part.this for part in (select.args.get("from_"), *(select.args.get("joins") or ())) if part is not None]
    if not sources:
        raise QueryError("a subquery reads no table", fix="read a public table in it")
    found = {}
    for table in sources:
        if not isinstance(table, exp.Table):
            raise QueryError("a subquery reads something that is no table", fix="read a public table in it")
        if table.name not in known.public:
            fix = did_you_mean(table.name, known.public) if known.public else "declare it as public, or leave it out"
            raise QueryError(f"{table.name} is not a public table", fix=fix)
        if table.alias.lower().startswith(OWN):
            raise QueryError(f"a table is called {table.alias}", fix=f"use a name that does not start with {OWN}")
        found[table.alias or table.name] = known.public[table.name]
    return found


def _resolve_column(column: exp.Column, known: Known, scopes: tuple[Scope, ...]) -> None:
    name, table = column.name, column.table
    for scope in reversed(scopes):
        for alias, columns in scope.items():
            if table.lower() not in ("", alias.lower()):
                continue
            if name.lower() in map(str.lower, columns):
                return
            if table:
                raise QueryError(f"{table} has no column {name!r}", fix=did_you_mean(name, columns))
    if table and table.lower() != known.table.lower():
        raise QueryError(f"{table} is not a table that is read here", fix=did_you_mean(table, [known.table]))
    place = place_of(name, known.domain)
    column.replace(exp.column(f"a{place}", table=ROW))


def place_of(name: str, domain: Domain) -> int:
    """Which attribute a name means: exactly, or else the only one that differs in case."""
    near = [place for place, other in enumerate(domain.names) if other.lower() == name.lower()]
    if name not in domain.names and len(near) == 1:
        return near[0]
    try:
        return domain.position(name)
    except DomainError as error:
        raise QueryError(error.what, fix=error.fix, where="condition") from None


def _is_attribute(node: exp.Expression | None) -> bool:
    return isinstance(node, exp.Column) and node.table == ROW


def _place(column: exp.Expression) -> int:
    return int(column.name[1:])


def _like_with_like(node: Any, domain: Domain) -> None:
    """Compare an attribute with words, dates and ranks as its values are meant."""
    if isinstance(node, exp.Between):
        keys = ["this", "low", "high"]
    elif isinstance(node, exp.In):
        keys = ["this"]
    else:
        keys = ["this", "expression"]
    sides = [node.args[key] for key in keys] + (node.expressions if isinstance(node, exp.In) else [])
    attributes = [domain.attributes[_place(side)] for side in sides if _is_attribute(side)]
    special = [a for a in attributes if isinstance(a.values, Categories | Dates)]
    if not special:
        return
    attribute = special[0]
    directed = isinstance(node, (*ORDERS, exp.Between))
    if directed and not attribute.ordered:
        raise QueryError(f"the values of {attribute.name} have no order", fix="compare with = or in")
    ranked = directed and isinstance(attribute.values, Categories)
    if any(a.values != attribute.values for a in attributes) and ranked:
        raise QueryError("two attributes with different values are compared", fix="compare like with like")
    for side in sides:
        if isinstance(side, exp.Literal):
            side.replace(_meant(side, attribute, ranked))
        elif ranked and _is_attribute(side):
            assert isinstance(attribute.values, Categories)
            labels = exp.Array(expressions=[exp.Literal.string(label) for label in attribute.values.labels])
            side.replace(exp.Anonymous(this="list_position", expressions=[labels, side.copy()]))
        elif ranked:
            raise QueryError(f"{attribute.name} is compared with something that has no rank", fix="name its values")


def _without_backtracking(like: exp.Binary) -> None:
    """Write a `like` as a regular expression, for DuckDB's own goes back and forth in a text without end."""
    escaped = like.parent if isinstance(like.parent, exp.Escape) else None
    words = [like.expression, *([] if escaped is None else [escaped.expression])]
    if not all(isinstance(word, exp.Literal) and word.is_string for word in words):
        raise QueryError("`like` needs a pattern in quotes", fix="write it as name like 'A%'")
    pattern, escape = words[0].this, words[-1].this if escaped is not None else ""
    text = like.this.copy()
    if isinstance(like, exp.ILike):
        pattern, escape, text = pattern.lower(), escape.lower(), exp.Lower(this=text)
    regex = (exp.Literal.string(part) for part in (like_regex(pattern, escape), "s"))
    match: exp.Expression = exp.Anonymous(this="regexp_full_match", expressions=[text, *regex])
    (escaped or like).replace(exp.Not(this=match) if like.args.get("negate") else match)


def _meant(literal: exp.Literal, attribute: Attribute, ranked: bool) -> exp.Expression:
    word = literal.this if literal.is_string else label_text(number_of(literal.this))
    if isinstance(attribute.values, Dates):
        try:
            day = dt.date.fromisoformat(word)
        except ValueError:
            raise QueryError(
                f"{attribute.name} is compared with something else than a date", fix="write it as '2020-01-31'"
            ) from None
        return exp.cast(exp.Literal.string(day.isoformat()), "date")
    try:
        code = attribute.code(word)
    except DomainError:
        raise QueryError(
            f"a word is not a value of {attribute.name}", fix=nearest_value(attribute, word), where="condition"
        ) from None
    return exp.Literal.number(code + 1) if ranked else exp.Literal.string(word)
