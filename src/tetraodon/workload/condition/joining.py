"""Joins with public tables: what is asked of their columns, as conditions on the record alone.

A record that meets at most one row of a public table is counted once by a join, or not at all. So the join is the same
as `exists (select 1 from regions where ...)`, which is a condition like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from tetraodon.errors import QueryError, did_you_mean
from tetraodon.workload.condition.names import Names


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
        inside = [part for part in parts if any(_theirs(column, alias, columns, names) for column in _columns(part))]
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


def _columns(tree: exp.Expression) -> list[exp.Column]:
    return list(tree.find_all(exp.Column))


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
