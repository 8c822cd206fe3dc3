"""A query in place of a table: `select age, sex from 'people.parquet' where age >= 18`.

Every row of its result comes from one row of one table, and from nothing else: a promise about people holds for the
result as it holds for the table. So one SELECT is read, with the columns that it names and one condition. Whatever
looks at other rows (joins, groups, DISTINCT, LIMIT, windows, subqueries) or draws lots is refused, and so is every
function that is not listed here. Only what was read is written out again, in the SQL of the engine with the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from tetraodon.arrays import Ints
from tetraodon.engine.column import NUMBERS, Column, Kind
from tetraodon.engine.dialect import CountableTable, Dialect, Sql, name
from tetraodon.errors import TableError

BEGINS = re.compile(r"\s*(select|with|from)\s", re.IGNORECASE)
LONGEST = 10_000
VALUES = (exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul)
TRUTHS = (exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In, exp.Is)
CHOICES = (exp.Like, exp.Case, exp.If, exp.Coalesce, exp.Lower, exp.Upper, exp.Trim, exp.Substring)
KINDS = (exp.Cast, exp.TryCast, exp.DataType, exp.DataTypeParam)
ALLOWED = frozenset((*VALUES, *TRUTHS, *CHOICES, *KINDS))
"""What means the same on every engine and looks at one row."""
COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In)
Type = exp.DataType.Type
CAST_KINDS = {
    **dict.fromkeys((Type.TINYINT, Type.SMALLINT, Type.INT, Type.BIGINT), Kind.INTEGER),
    **dict.fromkeys((Type.TEXT, Type.VARCHAR), Kind.TEXT),
    Type.DOUBLE: Kind.DOUBLE,
    Type.BOOLEAN: Kind.BOOLEAN,
    Type.DATE: Kind.DATE,
}


@dataclass(frozen=True)
class RowQuery:
    """A query that was read: what it selects, its condition, and the table it reads, as somebody would name it."""

    selected: tuple[Sql, ...]
    condition: Sql | None
    origin: str

    @property
    def asked_of(self) -> set[str]:
        """The columns that decide which rows are selected."""
        return set() if self.condition is None else {found.name for found in self.condition.find_all(exp.Column)}

    def kept(self, names: Collection[str]) -> set[str]:
        """Those of some columns that are selected as they are, under their own names."""
        if any(isinstance(part, exp.Star) for part in self.selected):
            return set(names)
        return {part.name for part in self.selected if isinstance(part, exp.Column)} & set(names)


def is_query(source: object) -> bool:
    """Whether a text is meant as a query rather than a path.

    >>> is_query("select age from 'people.csv'"), is_query("select.csv")
    (True, False)
    """
    return isinstance(source, str) and BEGINS.match(source) is not None


def read_query(text: str) -> RowQuery:
    """The query in a text. Raises TableError for anything but one plain SELECT of the rows of one table."""
    found = None
    try:
        statements = sqlglot.parse(text, read="duckdb") if len(text) <= LONGEST else []
        found = [statement for statement in statements if statement is not None]
    except sqlglot.errors.SqlglotError:
        found = None
    if not found:
        raise _refused("the query cannot be read")
    if len(found) != 1:
        raise _refused("there is more than one statement")
    [query] = found
    if not isinstance(query, exp.Select):
        raise _refused("this is no SELECT of the rows of a table")
    used = {key for key, value in query.args.items() if value}
    if used - {"expressions", "from_", "where"}:
        raise _refused("the query has more than columns, one table and a condition")
    origin = _origin(query)
    where = query.args.get("where")
    condition = None if where is None else where.this
    for part in (*query.expressions, *(() if condition is None else (condition,))):
        _check(part)
    return RowQuery(tuple(query.expressions), condition, origin)


def _origin(query: exp.Select) -> str:
    found = query.args.get("from_")
    table: Sql = exp.Null() if found is None else found.this
    plain = isinstance(table, exp.Table) and {key for key, value in table.args.items() if value} == {"this"}
    if not plain or not isinstance(table.this, exp.Identifier) or not table.this.args.get("quoted"):
        raise TableError("the query does not name its table in quotes", fix="write FROM 'people.parquet'")
    origin = str(table.this.this)
    if is_query(origin):
        raise _refused("the query reads another query")
    return origin


def _check(part: Sql) -> None:
    """Refuse whatever does not stand on the list."""
    inside = part.this if isinstance(part, exp.Alias) else part
    if isinstance(inside, exp.Star) and not any(inside.args.values()):
        return
    for node in inside.walk():
        if type(node) not in ALLOWED or isinstance(node.args.get("this"), exp.Star):
            raise _refused("the query uses what is not known to look at one row alone")
        if isinstance(node, exp.Column) and {key for key, value in node.args.items() if value} != {"this"}:
            raise TableError("a column of the query has more than one name", fix="write the names of columns alone")


def _refused(what: str) -> TableError:
    return TableError(
        what,
        fix="write SELECT columns FROM 'table' WHERE condition; make a table of anything else first, and name that",
    )


class QueriedTable:
    """The rows that a query selects of a table, counted where the table is."""

    def __init__(self, table: CountableTable, query: RowQuery) -> None:
        self._table, self._query = table, query
        self._chosen = [each for part in query.selected for each in self._columns_of(part)]
        named = [column.name for column, _ in self._chosen]
        for title in named:
            if named.count(title) > 1:
                raise TableError("two columns of the query have the same name", fix="name each with AS", where=title)
        self._condition = None if query.condition is None else self._placed(query.condition)

    @property
    def dialect(self) -> Dialect:
        return self._table.dialect

    @property
    def decimal(self) -> str:
        return self._table.decimal

    @property
    def columns(self) -> Mapping[str, Column]:
        return {column.name: column for column, _ in self._chosen}

    def fetch(self, query: Callable[[str], str]) -> dict[str, Ints]:
        """As the table's own, of the rows that are selected."""
        return self._table.fetch(lambda origin: query(self._selection(origin)))

    def close(self) -> None:
        self._table.close()

    def _selection(self, origin: str) -> str:
        text = self.dialect.text
        chosen = ", ".join(f"{text(value.copy())} AS {text(name(column.place))}" for column, value in self._chosen)
        where = "" if self._condition is None else f" WHERE {text(self._condition.copy())}"
        return f"(SELECT {chosen} FROM {origin}{where}) AS chosen"

    def _columns_of(self, part: Sql) -> list[tuple[Column, Sql]]:
        """Columns of the result, each with the place that it has there and what stands there."""
        if isinstance(part, exp.Star):
            return [(column, name(column.place)) for column in self._table.columns.values()]
        title, value = (part.alias, part.this) if isinstance(part, exp.Alias) else (part.name, part)
        place = title or "value"
        if isinstance(value, exp.Column):
            found = self._column(value)
            return [(Column(place, place, found.kind, found.shown, found.width, found.scale), name(found.place))]
        if not isinstance(value, exp.Cast | exp.TryCast) or not isinstance(part, exp.Alias):
            fix = "write CAST(... AS integer) AS name, with bigint, double, text, boolean or date for integer"
            raise TableError("a column of the query does not say its type and its name", fix=fix, where=title)
        kind = CAST_KINDS.get(value.to.this)
        if kind is None or value.to.expressions:
            raise TableError("a type of the query is not known", fix="use integer, double, text, boolean or date")
        return [(Column(place, place, kind, kind.value), self._placed(value))]

    def _column(self, named: exp.Column) -> Column:
        if (
            named.name not in self._table.columns
        ):  # its names are not told: a CSV file without a header has a record there
            raise TableError(f"the table has no column {named.name!r}", fix="spell it as in the table")
        return self._table.columns[named.name]

    def _placed(self, value: Sql) -> Sql:
        """The same expression, its columns by the names that the engine knows them by."""
        for node in value.walk():
            if isinstance(node, COMPARED) and self._mixed(node):
                fix = "write CAST(column AS integer), or TRY_CAST where some texts are no numbers"
                raise TableError("a condition compares a text with a number", fix=fix)

        def place(node: Sql) -> Sql:
            return name(self._column(node).place) if isinstance(node, exp.Column) else node

        return value.copy().transform(place)

    def _mixed(self, node: Sql) -> bool:
        """Whether a column of text meets a number, or one of numbers a text: engines differ in what they make of it."""
        parts = [part for part in node.iter_expressions() if isinstance(part, exp.Column | exp.Literal)]
        kinds = {self._column(part).kind for part in parts if isinstance(part, exp.Column)}
        strings = {part.is_string for part in parts if isinstance(part, exp.Literal)}
        return (Kind.TEXT in kinds and False in strings) or (bool(kinds & NUMBERS) and True in strings)
