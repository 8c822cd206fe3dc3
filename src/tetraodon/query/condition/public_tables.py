"""Joins with public tables and subqueries over them, turned into conditions on the record alone.

Every part of a subquery's syntax tree is on a list, or it is refused; then it is written out anew. In it, attributes
are columns of the tuple at hand, and no table but a public one is read. What is outside the subquery is a condition
like any other.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from sqlglot import exp

from tetraodon.domain import Attribute, Categories, Dates, Domain
from tetraodon.domain.values import label_text, number_of
from tetraodon.errors import DomainError, QueryError, did_you_mean
from tetraodon.query.condition.nodes import OWN, ROW, Logical, Numeric, Outside, Reading
from tetraodon.query.condition.syntax import CASTS, CONDITION_PARTS, NO_CAST, ONE, SIGN_OF, Names, require_offered
from tetraodon.query.condition.values import Day, Plain, Value, Words, like_regex, measured, values_of

# -- joining ----------------------------------------------------------------------------------------
# Joins with public tables: what is asked of their columns, as conditions on the record alone.
#
# A record that meets at most one row of a public table is counted once by a join, or not at all. So the join is the
# same as `exists (select 1 from regions where ...)`, which is a condition like any other.


@dataclass(frozen=True)
class Joined:
    """A public table that must have each combination of values in some columns at most once.

    The columns are equal to the attributes at `places`; a question calls the table by its `alias`.
    """

    table: str
    columns: tuple[str, ...]
    places: tuple[int, ...]
    alias: str


@dataclass(frozen=True)
class PublicColumn:
    """A column of a joined table: it says something of a record by the attributes that the table is joined on."""

    join: Joined
    column: str

    @property
    def name(self) -> str:
        return f"{self.join.alias}.{self.column}"


def public_column(column: exp.Column, joins: Sequence[Joined], names: Names) -> PublicColumn | None:
    """The column of a joined table that a question names; None where it may be an attribute."""
    for join in joins:
        columns = names.public[join.table]
        if _theirs(column, join.alias, columns, names):
            near = [one for one in columns if one.lower() == column.name.lower()]
            if len(near) != 1:
                raise QueryError(f"{join.table} has no column {column.name}", fix=did_you_mean(column.name, columns))
            return PublicColumn(join, near[0])
    return None


def joined(
    select: exp.Select, where: exp.Expression | None, names: Names
) -> tuple[list[exp.Expression], tuple[Joined, ...]]:
    """The conditions of a question, those of its joins among them, and what these need of the public tables."""
    parts = [] if where is None else [one.copy() for one in _conjuncts(where)]
    found: list[exp.Expression] = []
    needed = []
    aliases: set[str] = {names.table.lower()}
    for join in select.args.get("joins") or ():
        table, columns = _source(join, names)
        alias = table.alias or table.name
        if alias.lower() in aliases:
            raise QueryError("two tables have one name", fix="write `as` and another name")
        aliases.add(alias.lower())
        on = [one.copy() for one in _conjuncts(join.args["on"])]
        keys = [_key(one, alias, columns, names) for one in on]
        needed.append(Joined(table.name, tuple(key for key, _ in keys), tuple(place for _, place in keys), alias))
        inside = [
            part
            for part in parts
            if any(_theirs(column, alias, columns, names) for column in part.find_all(exp.Column))
        ]
        parts = [part for part in parts if part not in inside]
        inner = exp.select("1").from_(table.copy()).where(*(exp.paren(part) for part in [*on, *inside]))
        found.append(exp.Exists(this=inner))
    return [*parts, *found], tuple(needed)


def _source(join: Any, names: Names) -> tuple[exp.Table, tuple[str, ...]]:
    table = join.this
    given = {key for key, value in join.args.items() if value} - {"this", "on"}
    if join.args.get("kind") == "INNER":
        given -= {"kind"}
    if given or join.args.get("on") is None or not isinstance(table, exp.Table):
        raise QueryError(
            "this kind of join is not offered", fix="write `join regions on regions.country = nationality`"
        )
    if table.name not in names.public:
        fix = did_you_mean(table.name, names.public) if names.public else "declare it as `public` of a view"
        raise QueryError(f"{table.name} is not a public table", fix=fix)
    return table, names.public[table.name]


def _conjuncts(tree: exp.Expression) -> list[Any]:
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return list(tree.flatten()) if isinstance(tree, exp.And) else [tree]


def _theirs(column: exp.Column, alias: str, columns: tuple[str, ...], names: Names) -> bool:
    """Whether a column is one of the public table's; refused where it could be an attribute as well."""
    if column.table:
        return column.table.lower() == alias.lower()
    theirs = column.name.lower() in map(str.lower, columns)
    if theirs and column.name.lower() in map(str.lower, names.domain.names):
        raise QueryError(
            f"{column.name} is in two tables", fix=f"write {names.table}.{column.name} or {alias}.{column.name}"
        )
    return theirs


def _key(part: Any, alias: str, columns: tuple[str, ...], names: Names) -> tuple[str, int]:
    """The column of the public table in `regions.country = nationality`, and the place of the attribute."""
    sides = [part.this, part.expression] if isinstance(part, exp.EQ) else []
    if all(isinstance(side, exp.Column) for side in sides):
        theirs = [side for side in sides if _theirs(side, alias, columns, names)]
        if len(theirs) == 1:
            (other,) = (side for side in sides if side is not theirs[0])
            return str(theirs[0].name), names.column(other)
    raise QueryError(
        "a join is not `on` columns that are equal", fix=f"write `on {alias}.{columns[0]} = ` and an attribute"
    )


# -- subquery ---------------------------------------------------------------------------------------

SUBQUERY_PARTS: Final[dict[type[exp.Expression], frozenset[str]]] = {
    **CONDITION_PARTS,
    **dict.fromkeys((exp.Var, exp.Where, exp.Having, exp.From, exp.TableAlias, exp.DataTypeParam), ONE),
    **dict.fromkeys((exp.Min, exp.Max, exp.Sum, exp.Avg), ONE),
    **dict.fromkeys((exp.Distinct, exp.Tuple, exp.Group), frozenset({"expressions"})),
    exp.Star: frozenset(),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.DataType: frozenset({"this", "expressions", "nested"}),
    exp.Select: frozenset({"expressions", "from_", "where", "joins", "group", "having", "distinct"}),
    exp.Join: frozenset({"this", "on", "side", "kind"}),
    exp.Table: frozenset({"this", "alias"}),
    exp.Alias: frozenset({"this", "alias"}),
    exp.Count: frozenset({"this", "big_int"}),
}
"""The same for a subquery."""
ORDERS: Final = (exp.LT, exp.LTE, exp.GT, exp.GTE)
TYPES: Final = frozenset({"INT", "BIGINT", "DOUBLE", "FLOAT", "DECIMAL", "VARCHAR", "TEXT", "DATE", "BOOLEAN"})
FIX: Final = "use a plain select from public tables with where, join, group by and having"
Scope: TypeAlias = dict[str, tuple[str, ...]]
"""The tables that a subquery reads, under the names they have there, with their columns."""


def beside(domain: Domain, table: str, public: Mapping[str, tuple[str, ...]]) -> Names:
    """What the names in a question may stand for, where subqueries may read public tables."""
    return Names(domain, table, public, reading if public else None)


def reading(node: Any, names: Names, value: Callable[[Any], Value]) -> Reading:
    """A comparison, an `in` or an `exists` with a subquery, as SQL; `value` reads what is outside."""
    places: set[int] = set()
    sides: list[Outside] = []

    def side(part: Any) -> str:
        if isinstance(part, exp.Subquery):
            return f"({_written(part.this, names, places)})"
        found = value(part)
        places.update(place for place, _ in found.sizes)
        if isinstance(found, Plain):
            return f"{ROW}.a{found.place}"
        sides.append(_outside(found))
        return f"{ROW}.v{len(sides) - 1}"

    match node:
        case exp.Exists():
            select = node.this.this if isinstance(node.this, exp.Subquery) else node.this
            sql = f"EXISTS ({_written(select, names, places)})"
        case exp.In():
            sql = f"{side(node.this)} IN {side(node.args['query'])}"
        case _:
            sql = f"{side(node.this)} {SIGN_OF[type(node)]} {side(node.expression)}"
    shape = names.domain.shape
    return Reading(sql, tuple((place, shape[place]) for place in sorted(places)), tuple(sides))


def _outside(value: Value) -> Outside:
    """A part of a condition that is compared with what a public table holds."""
    match value:
        case Numeric():
            return Outside("number", value)
        case Words(words):
            texts = tuple(dict.fromkeys(word for word in words if word is not None))
            return Outside("text", measured(value, texts.index), texts)
        case Day(days):
            return Outside("day", days)
        case Logical():
            return Outside("truth", value)
        case _:
            raise QueryError("this is not compared with a subquery", fix="compare an attribute with it")


def _written(select: Any, names: Names, places: set[int]) -> str:
    """A subquery with its names resolved, written out; the attributes that it looks at are added to `places`."""
    tree = select.copy()
    for part in tree.walk():
        _require_part(part)
    holder = exp.Paren(this=tree)
    _resolve(holder, names)
    for part in list(holder.find_all(*SIGN_OF, exp.In, exp.Between)):
        _like_with_like(part, names)
    for part in list(holder.find_all(exp.Like, exp.ILike)):
        _without_backtracking(part)
    places.update(_place(column) for column in holder.find_all(exp.Column) if _is_attribute(column))
    return str(holder.this.sql(dialect="duckdb"))


def _require_part(node: Any) -> None:
    require_offered(node, SUBQUERY_PARTS, FIX)
    if isinstance(node, exp.DataType) and node.this.name not in TYPES:
        raise QueryError(NO_CAST, fix=CASTS)
    if isinstance(node, exp.Join) and (node.args.get("side") or node.args.get("kind") or "INNER") not in (
        "INNER",
        "LEFT",
    ):
        raise QueryError("this kind of join is not offered", fix="use an inner or a left join")


def _resolve(holder: exp.Expression, names: Names) -> None:
    """Replace every name of an attribute by its column, going into subqueries with the tables they read."""
    waiting: list[tuple[exp.Expression, tuple[Scope, ...]]] = [(holder, ())]
    while waiting:
        node, scopes = waiting.pop()
        if isinstance(node, exp.Select):
            scopes = (*scopes, _tables(node, names))
        for child in list(node.iter_expressions()):
            if isinstance(child, exp.Column):
                _resolve_column(child, names, scopes)
            else:
                waiting.append((child, scopes))


def _tables(select: exp.Select, names: Names) -> Scope:
    sources = [part.this for part in (select.args.get("from_"), *(select.args.get("joins") or ())) if part is not None]
    if not sources:
        raise QueryError("a subquery reads no table", fix="read a public table in it")
    found = {}
    for table in sources:
        if not isinstance(table, exp.Table):
            raise QueryError("a subquery reads something that is no table", fix="read a public table in it")
        if table.name not in names.public:
            fix = did_you_mean(table.name, names.public) if names.public else "declare it as public, or leave it out"
            raise QueryError(f"{table.name} is not a public table", fix=fix)
        if table.alias.lower().startswith(OWN):
            raise QueryError(f"a table is called {table.alias}", fix=f"use a name that does not start with {OWN}")
        found[table.alias or table.name] = names.public[table.name]
    return found


def _resolve_column(column: exp.Column, names: Names, scopes: tuple[Scope, ...]) -> None:
    name, table = column.name, column.table
    for scope in reversed(scopes):
        for alias, columns in scope.items():
            if table.lower() not in ("", alias.lower()):
                continue
            if name.lower() in map(str.lower, columns):
                return
            if table:
                raise QueryError(f"{table} has no column {name!r}", fix=did_you_mean(name, columns))
    column.replace(exp.column(f"a{names.column(column)}", table=ROW))


def _is_attribute(node: exp.Expression | None) -> bool:
    return isinstance(node, exp.Column) and node.table == ROW


def _place(column: exp.Expression) -> int:
    return int(column.name[1:])


def _like_with_like(node: Any, names: Names) -> None:
    """Compare an attribute with words and dates as its values are meant."""
    sides = [node.this, *node.expressions, *(node.args.get(key) for key in ("expression", "low", "high"))]
    attributes = [names.domain.attributes[_place(side)] for side in sides if _is_attribute(side)]
    special = [attribute for attribute in attributes if isinstance(attribute.values, Categories | Dates)]
    if special and isinstance(special[0].values, Categories) and isinstance(node, (*ORDERS, exp.Between)):
        fix = "compare it outside the subquery"
        raise QueryError(f"the values of {special[0].name} have no order in a subquery", fix=fix)
    for side in sides:
        if special and isinstance(side, exp.Literal):
            side.replace(_meant(side, special[0]))


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


def _meant(literal: exp.Literal, attribute: Attribute) -> exp.Expression:
    word = literal.this if literal.is_string else label_text(number_of(literal.this))
    try:
        if isinstance(attribute.values, Dates):
            return exp.cast(exp.Literal.string(dt.date.fromisoformat(word).isoformat()), "date")
        attribute.code(word)
    except (DomainError, ValueError):
        fix = values_of(attribute, word)
        raise QueryError(f"a word is not a value of {attribute.name}", fix=fix, where="condition") from None
    return exp.Literal.string(word)
