"""SQL as trees of sqlglot, and the few things in which engines differ.

Every expression built here is closed: operators bring their own brackets. Names and labels enter as identifiers
and literals, so the generator quotes them, and nothing that a policy or a record holds becomes SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, TypeAlias
from uuid import uuid4

from sqlglot import exp

from tetraodon.engine.column import REALS, Column, Kind
from tetraodon.errors import TableError
from tetraodon.exact.arrays import Ints

Sql: TypeAlias = exp.Expr
BIG, TEXT, DOUBLE, DATE = "BIGINT", "TEXT", "DOUBLE", "DATE"


MOST_WRITTEN = 256
_WRITTEN: dict[Hashable, str] = {}
_ORIGIN = f"origin_{uuid4().hex}"
"""The placeholder of a table in cached queries; no policy can contain it."""


class CountableTable(Protocol):
    """A table that can be counted: all that an engine brings with it.

    `columns` are its columns by name, and `decimal` the decimal marks in its text: `.`, `,` or `.,` for either.
    """

    @property
    def dialect(self) -> Dialect: ...

    @property
    def columns(self) -> Mapping[str, Column]: ...

    @property
    def decimal(self) -> str: ...

    def fetch(self, query: Callable[[str], str]) -> dict[str, Ints]:
        """The columns of a query's answer; `query` is given the FROM clause that reads the table.

        Raises DataRefusal if the records may be the cause, else TableError; with nothing of the driver's in it.
        """
        ...

    def close(self) -> None:
        """Let go of the table. Nothing of it stays behind on disk."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Door:
    """The way to an engine's tables: how their names begin, the package of their Python objects, and how to open one.

    Every file of this room whose name ends in `_source` has one, as `DOOR`. `open` raises TableError, which tells
    nothing of the address or the table.
    """

    addresses: tuple[str, ...] = ()
    objects: str = ""
    open: Callable[[Any], CountableTable]

    def leads_to(self, source: object) -> bool:
        """Whether a source is of this engine."""
        if isinstance(source, str):
            return source.startswith(self.addresses)
        return bool(self.objects) and type(source).__module__.startswith(self.objects)


def plain(string: str) -> str:
    """SQL has no way to write a NUL, and UTF-8 none for half a surrogate pair."""
    if "\0" in string or any("\ud800" <= letter <= "\udfff" for letter in string):
        raise TableError("a name or label holds a character that no database can store", fix="remove the character")
    return string


def name(title: str) -> Sql:
    """A name, whatever is in it."""
    return exp.to_identifier(plain(title), quoted=True)


def string(value: str) -> Sql:
    """A text, whatever is in it."""
    return exp.Literal.string(plain(value))


def number(value: int) -> Sql:
    """A whole number of any length."""
    return exp.Literal.number(value) if value >= 0 else exp.Paren(this=exp.Neg(this=exp.Literal.number(-value)))


def real(value: str) -> Sql:
    """A double from its digits: in some dialects a number with an exponent is a decimal."""
    return cast(exp.Literal.string(value), DOUBLE)


def call(function: str, *values: Sql) -> Sql:
    """A function that all dialects name alike."""
    return exp.Anonymous(this=function, expressions=list(values))


def cast(value: Sql, kind: str) -> Sql:
    """A cast that the value is known to survive."""
    return exp.Cast(this=value, to=_type(kind).copy())


def try_cast(value: Sql, kind: str) -> Sql:
    """A cast, or NULL. Not for Postgres, which has none."""
    return exp.TryCast(this=value, to=_type(kind).copy(), safe=True)


@cache
def _type(kind: str) -> exp.DataType:
    """A type by its name, which takes a while to parse."""
    return exp.DataType.build(kind)


def when(*branches: tuple[Sql, Sql], otherwise: Sql | None = None) -> Sql:
    """The value of the first condition that holds. Engines look at no value before its condition."""
    return exp.Case(ifs=[exp.If(this=condition, true=value) for condition, value in branches], default=otherwise)


def op(operator: type[exp.Binary], *values: Sql) -> Sql:
    """Values joined by an operator from left to right, in brackets."""
    joined = values[0]
    for value in values[1:]:
        joined = operator(this=joined, expression=value)
    return exp.Paren(this=joined)


def missing(value: Sql) -> Sql:
    return op(exp.Is, value, exp.null())


def negated(condition: Sql) -> Sql:
    return exp.Paren(this=exp.Not(this=condition))


def among(value: Sql, words: Sequence[str]) -> Sql:
    return exp.Paren(this=exp.In(this=value, expressions=[string(word) for word in words]))


def trimmed(text: Sql, letter: str) -> Sql:
    """A text without a letter at its end, however often it is repeated there."""
    return exp.Trim(this=text, expression=string(letter), position="TRAILING")


def clamped(value: Sql, least: Sql, most: Sql) -> Sql:
    """Pre: the value is not NULL, of which engines make different things."""
    return call("LEAST", call("GREATEST", value, least), most)


def selected(columns: Mapping[str, Sql], source: Sql) -> exp.Select:
    """A SELECT of named columns; of none, it is as many rows."""
    listed: list[Sql] = [exp.Alias(this=value, alias=name(title)) for title, value in columns.items()]
    return exp.select(*(listed or [number(1)]), copy=False).from_(source, copy=False)


def inner(query: exp.Select) -> Sql:
    return query.subquery("inside", copy=False)


def in_days(day: Sql) -> Sql:
    """Days from 1970 to a date; an infinite one is none."""
    return when((call("ISFINITE", day), since_1970(day)))


def since_1970(day: Sql) -> Sql:
    """Days from 1970 to a finite date."""
    return cast(op(exp.Sub, day, cast(string("1970-01-01"), DATE)), BIG)


def in_utc(instant: Sql) -> Sql:
    """Days from 1970 to the date that an instant has in UTC."""
    zoned = exp.Paren(this=exp.AtTimeZone(this=instant, zone=string("UTC")))
    return in_days(cast(zoned, DATE))


def position(value: Sql, labels: Sequence[str]) -> Sql:
    """The position of a text among labels, from 0; NULL if it is not one."""
    ifs = [exp.If(this=string(label), true=number(place)) for place, label in enumerate(labels)]
    return exp.Case(this=value, ifs=ifs)


@dataclass(frozen=True, kw_only=True, slots=True)
class Dialect:
    """The differences of one engine, each stated once.

    Attributes
    ----------
    name:        the engine's SQL, as sqlglot calls it.
    end:         the end of a text in its regular expressions. In Java's, `$` also matches before a last line break.
    collation:   the collation that compares texts byte by byte.
    value:       a column's value in a form in which equal values read alike and no later step fails.
    longest:     a type that holds every whole number of 38 digits.
    wide:        whether numbers of that type are multiplied and divided exactly.
    nan_kinds:   the kinds of columns that can hold NaN, and `is_nan` whether a value of theirs is.
    double:      a text that looks like a number as a double, infinite or 0 where it is beyond.
    whole:       a number of a WIDE column as one of `longest`, or one nearer to 0 that is still out of any range.
    day:         a text that matches `text_patterns.DATE` as days since 1970; NULL if its month is shorter.
    days:        a date as days since 1970, and `utc_days` an instant's.
    quotient:    of whole numbers from 0 upwards, rounded down.
    position:    the position of a text among labels, from 0; NULL if it is not one.
    sums_apart:  whether a sum is cheaper in a scan of its own, because only its columns are read.
    """

    name: str
    end: str
    collation: str
    value: Callable[[Column, Sql], Sql] = lambda _, place: place
    longest: str
    wide: bool = False
    nan_kinds: frozenset[Kind] = REALS
    is_nan: Callable[[Sql], Sql]
    double: Callable[[Sql], Sql]
    whole: Callable[[Sql], Sql]
    day: Callable[[Sql], Sql]
    days: Callable[[Sql], Sql] = in_days
    utc_days: Callable[[Sql], Sql] = in_utc
    quotient: Callable[[Sql, Sql], Sql]
    position: Callable[[Sql, Sequence[str]], Sql] = position
    sums_apart: bool = False

    def held(self, column: Column) -> Sql:
        """The value in a column, to be grouped, compared and read."""
        value = self.value(column, name(column.place))
        return self.spelt(value) if column.kind is Kind.TEXT else value

    def spelt(self, value: Sql) -> Sql:
        """A value as text that is compared byte by byte, whatever the collation of its column or session."""
        return exp.Paren(this=exp.Collate(this=cast(value, TEXT), expression=name(self.collation)))

    def matches(self, text: Sql, pattern: str) -> Sql:
        """Whether the whole of a text matches."""
        return exp.Paren(this=exp.RegexpLike(this=text, expression=string(f"^({pattern}){self.end}")))

    def text(self, query: Sql) -> str:
        """The query as SQL."""
        return query.sql(dialect=self.name, copy=False)

    def written(self, key: Hashable, query: Callable[[Sql], Sql], origin: str) -> str:
        """The query of an origin as SQL; written once for every key, which is all that it depends on."""
        found = _WRITTEN.get((self.name, key))
        if found is None:
            while len(_WRITTEN) >= MOST_WRITTEN:
                _WRITTEN.pop(next(iter(_WRITTEN)), None)
            found = _WRITTEN[self.name, key] = self.text(query(exp.Table(this=exp.Var(this=_ORIGIN))))
        return found.replace(_ORIGIN, origin)


def grouped(rows: exp.Select, sets: list[list[str]], sums: list[str]) -> exp.Select:
    """Cells of each set of columns; with several sets, `g<position>` is 1 where a column is not in the set."""
    columns = list(dict.fromkeys(title for titles in sets for title in titles))
    listed = {title: name(title) for title in columns}
    if len(sets) > 1:
        listed |= {f"g{title[1:]}": call("GROUPING", name(title)) for title in columns}
    listed |= {"n": exp.Count(this=exp.Star()), **{title: total(name(title)) for title in sums}}
    cells = selected(listed, inner(rows))
    if len(sets) > 1:
        shown = [exp.Tuple(expressions=[name(title) for title in titles]) for titles in sets]
        return cells.group_by(exp.GroupingSets(expressions=shown), copy=False)
    return cells.group_by(*map(name, columns), copy=False) if columns else cells


def rows_where(condition: Sql) -> Sql:
    return exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=condition))


def total(value: Sql) -> Sql:
    """A sum as a BIGINT; of nothing it is 0."""
    return call("COALESCE", cast(exp.Sum(this=value), BIG), number(0))
