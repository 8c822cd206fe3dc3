"""What the names in a condition may stand for."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from tetraodon.domain import Categories, Domain
from tetraodon.errors import DomainError, QueryError


@dataclass(frozen=True)
class Names:
    """The attributes of a table, under its name if it has one, and the columns of public tables."""

    domain: Domain
    table: str = ""
    public: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

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
