"""A query in place of a table: `select age, sex from 'people.parquet' where age >= 18`.

The policy speaks of the table after FROM, so columns are selected as they are: a computed or renamed column could put
a secret under a public name, or one person under two keys. The condition is not for the engine. It becomes `where` of
every item (`releasing/selection.py`), which the kernel prices, and the table is read whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from tetraodon.errors import TableError

BEGINS = re.compile(r"\s*(select|with|from)\s", re.IGNORECASE)
LONGEST = 10_000


@dataclass(frozen=True, slots=True)
class RowQuery:
    """A query that was read: the columns it selects (None for all), its condition as text, and the table it reads."""

    columns: frozenset[str] | None
    condition: str
    origin: str


def is_query(source: object) -> bool:
    """Whether a text is meant as a query rather than a path.

    >>> is_query("select age from 'people.csv'"), is_query("select.csv")
    (True, False)
    """
    return isinstance(source, str) and BEGINS.match(source) is not None


def read_query(text: str) -> RowQuery:
    """The query in a text. Raises TableError for anything but one plain SELECT of the rows of one table.

    >>> read_query("select * from 'people.csv' where sex = 'f'")
    RowQuery(columns=None, condition="sex = 'f'", origin='people.csv')
    """
    try:
        statements = sqlglot.parse(text, read="duckdb") if len(text) <= LONGEST else []
    except (sqlglot.errors.SqlglotError, RecursionError):
        statements = []
    found = [statement for statement in statements if statement is not None]
    if not found:
        raise _refused("the query cannot be read")
    if len(found) != 1:
        raise _refused("there is more than one statement")
    [query] = found
    if not isinstance(query, exp.Select):
        raise _refused("this is no SELECT of the rows of a table")
    if {key for key, value in query.args.items() if value} - {"expressions", "from_", "where"}:
        raise _refused("the query has more than columns, one table and a condition")
    where = query.args.get("where")
    return RowQuery(_columns(query), "" if where is None else where.this.sql(dialect="duckdb"), _origin(query))


def _columns(query: exp.Select) -> frozenset[str] | None:
    """The names of the columns that are selected; None for `*`."""
    if not query.expressions:
        raise _refused("the query selects no column")
    for part in query.expressions:
        given = {key for key, value in part.args.items() if value}
        star, column = isinstance(part, exp.Star) and not given, isinstance(part, exp.Column) and given == {"this"}
        if not star and not (column and isinstance(part.this, exp.Identifier)):
            raise TableError(
                "the query renames or computes a column, and the policy speaks of the columns of the table",
                fix="select columns as they are, or make a view with the computed column and name that as the table",
            )
    if any(isinstance(part, exp.Star) for part in query.expressions):
        return None
    return frozenset(part.name for part in query.expressions)


def _origin(query: exp.Select) -> str:
    found = query.args.get("from_")
    table: exp.Expression = exp.Null() if found is None else found.this
    plain = isinstance(table, exp.Table) and {key for key, value in table.args.items() if value} == {"this"}
    if not plain or not isinstance(table.this, exp.Identifier) or not table.this.args.get("quoted"):
        raise TableError("the query does not name its table in quotes", fix="write FROM 'people.parquet'")
    origin = str(table.this.this)
    if is_query(origin):
        raise _refused("the query reads another query")
    return origin


def _refused(what: str) -> TableError:
    return TableError(
        what,
        fix="write SELECT columns FROM 'table' WHERE condition; make a table of anything else first, and name that",
    )
