"""Text parsed as SQL, and what the names in it may stand for."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sqlglot import exp, parse, parse_one
from sqlglot.errors import SqlglotError

from tetraodon.domain import Categories, Domain
from tetraodon.errors import DomainError, QueryError
from tetraodon.query.condition.nodes import Sign

# -- syntax -----------------------------------------------------------------------------------------

TWO: Final = frozenset({"this", "expression"})
ONE: Final = frozenset({"this"})
CONDITION_PARTS: Final[dict[type[exp.Expression], frozenset[str]]] = {
    **dict.fromkeys(
        (exp.And, exp.Or, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Is, exp.Add, exp.Sub), TWO
    ),
    **dict.fromkeys((exp.NullSafeEQ, exp.NullSafeNEQ, exp.Mul, exp.IntDiv, exp.Mod, exp.Pow, exp.Escape), TWO),
    **dict.fromkeys((exp.StartsWith, exp.Nullif, exp.Extract), TWO),
    **dict.fromkeys((exp.Not, exp.Paren, exp.Neg, exp.Boolean, exp.Abs, exp.Floor, exp.Ceil, exp.Lower), ONE),
    **dict.fromkeys((exp.Upper, exp.Length, exp.Year, exp.Month, exp.Day, exp.Subquery, exp.Exists), ONE),
    **dict.fromkeys((exp.Coalesce, exp.Least, exp.Greatest), frozenset({"this", "expressions", "ignore_nulls"})),
    exp.Null: frozenset(),
    exp.Div: TWO | {"typed", "safe"},
    exp.DPipe: TWO | {"safe"},
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
    exp.Cast: frozenset({"this", "to"}),
    exp.TryCast: frozenset({"this", "to", "safe", "requires_string"}),
    exp.Interval: frozenset({"this", "unit"}),
}
"""The parts of a condition that are offered, and what each may hold."""
SIGN_OF: Final[dict[type[exp.Expression], Sign]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
NO_CAST: Final = "a cast to this type is not offered"
CASTS: Final = "cast to integer, double, varchar, date or boolean"
LONGEST = 1_000_000
"""The letters of the longest question."""


def parsed(text: str, *, what: str, fix: str) -> list[Any]:
    """The statements of a text, without its comments.

    Why   a comment is written out again with the tree it hangs on, and what a comment may hold is for no list of
          allowed parts to say.

    >>> [tree.sql() for tree in parsed("select 1 /* one */ -- two", what="it", fix="")]
    ['SELECT 1']
    """
    if len(text) > LONGEST:
        raise QueryError(f"{what} is too long", fix=f"write at most {LONGEST:,} letters")
    try:
        trees = parse(text, read="duckdb")
    except (SqlglotError, RecursionError):
        raise QueryError(f"{what} cannot be read", fix=fix) from None
    for tree in trees:
        for node in tree.walk() if tree is not None else ():
            node.comments = None
    return trees


def parse_condition(condition: str, fix: str = "") -> exp.Expression:
    """The syntax tree of a condition, or a QueryError, with a fix if a better one is known."""
    written = "write it like `age > 30 and sex = 'Male'`"
    statements = parsed(f"select 1 where {condition}", what="the condition", fix=fix or written)
    select = statements[0] if len(statements) == 1 else None
    where = select.args.get("where") if isinstance(select, exp.Select) else None
    held = {key for key, value in select.args.items() if value} if select is not None else set()
    if where is None or held - {"expressions", "where", "kind"}:
        raise QueryError("the condition is more than a condition", fix=fix or written)
    tree = where.this
    assert isinstance(tree, exp.Expression)
    return tree


def require_offered(node: exp.Expression, parts: dict[type[exp.Expression], frozenset[str]], fix: str) -> None:
    """Refuse a part of a syntax tree that is not on a list, or holds what no code looks at: it would be dropped."""
    allowed = parts.get(type(node))
    if allowed is None:
        raise QueryError(f"`{node.key}` is not offered in a condition", fix=fix)
    extra = {part for part, given in node.args.items() if given and not part.startswith("_")} - allowed
    if extra:
        raise QueryError(f"`{node.key}` with `{min(extra)}` is not offered in a condition", fix=fix)


# -- names ------------------------------------------------------------------------------------------
# What the names in a condition may stand for.


@dataclass(frozen=True)
class Names:
    """The attributes of a table, under its name if it has one, and the columns of public tables.

    `subqueries` reads what asks these tables: a syntax tree, with what reads the parts that are outside.
    """

    domain: Domain
    table: str = ""
    public: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    subqueries: Callable[[Any, Names, Callable[[Any], Any]], Any] | None = None

    def place(self, name: str) -> int:
        """Which attribute a name means: exactly, or else the only one that differs in case."""
        near = [place for place, other in enumerate(self.domain.names) if other.lower() == name.lower()]
        if name not in self.domain.names and len(near) == 1:
            return near[0]
        try:
            return self.domain.position(name)
        except DomainError as error:
            raise QueryError(error.what, fix=self._meant(name) or error.fix, where="condition") from None

    def column(self, column: exp.Column) -> int:
        """Which attribute a column means."""
        if column.args.get("db") or column.args.get("catalog"):
            raise QueryError("a question names a table of another database", fix="use attribute names alone")
        if column.table and column.table.lower() != self.table.lower():
            known = (
                f"write {self.table}.{column.name}, or the name alone" if self.table else "use attribute names alone"
            )
            raise QueryError(f"a condition names a table, {column.table}, that is not read here", fix=known)
        return self.place(column.name)

    def _meant(self, name: str) -> str:
        """How to write what an unknown name may be: a word without quotes, or an attribute that is no single word."""
        for attribute in self.domain:
            if isinstance(attribute.values, Categories) and name in attribute.values.codes:
                return f"put words in single quotes: {attribute.name} = {exp.Literal.string(name).sql()}"
        for near in difflib.get_close_matches(name, self.domain.names, n=1, cutoff=0.4):
            if not bare(near):
                return f"did you mean {quoted(near)}? Write it in double quotes"
        return ""

    def unread(self, text: str) -> str:
        """How to write a text that cannot be read, if a word of SQL is the name of an attribute in it."""
        for name in self.domain.names:
            if re.search(rf"(?<![\w\"'.]){re.escape(name)}(?![\w\"'])", text, re.IGNORECASE) and not bare(name):
                return f"{name} is also a word or a sign of SQL: write {quoted(name)}, in double quotes"
        return ""


def bare(name: str) -> bool:
    """Whether a name is read as a name without quotes.

    >>> bare("age"), bare("case"), bare("hours-per-week")
    (True, False, False)
    """
    try:
        found = parse_one(f"select 1 where {name} = 1", read="duckdb").args["where"].this.this
    except (SqlglotError, AttributeError, KeyError):
        return False
    return isinstance(found, exp.Column) and found.sql() == name


def quoted(name: str) -> str:
    """A name in double quotes."""
    return exp.to_identifier(name, quoted=True).sql()
