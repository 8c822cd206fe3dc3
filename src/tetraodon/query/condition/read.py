"""Conditions on a record, written as SQL expressions: parsed, checked part by part, and never pasted into a database.

Every part of a syntax tree is on a list, with what it may hold, or it is refused. What comes out is a tree of few nodes
(`nodes.py`) that means the same wherever it is computed.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from sqlglot import exp

from tetraodon.domain import Categories, Dates, Domain
from tetraodon.domain.domain import MISSING
from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Bools
from tetraodon.query.condition import values
from tetraodon.query.condition.nodes import (
    Always,
    Constant,
    Lookup,
    Negation,
    Number,
    Truth,
    call,
    cells_where,
    denominator,
    is_one,
    listed,
    together,
)
from tetraodon.query.condition.syntax import (
    CASTS,
    CONDITION_PARTS,
    NO_CAST,
    SIGN_OF,
    Names,
    bare,
    parse_condition,
    quoted,
    require_offered,
)
from tetraodon.query.condition.values import Day, Nothing, Plain, Span, Value, Words, number_in, words_in

CELL_LIMIT = 20_000_000
FUNCTION_OF: Final[dict[type[exp.Expression], str]] = {
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "//",
    exp.Mod: "%",
    exp.Neg: "negative",
    exp.Abs: "abs",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
    exp.Least: "least",
    exp.Greatest: "greatest",
}
CASED: Final[dict[type[exp.Expression], Callable[[str], str]]] = {exp.Lower: str.lower, exp.Upper: str.upper}
DATE_PARTS: Final[dict[str, Callable[[dt.date], int]]] = {
    "year": lambda day: day.year,
    "quarter": lambda day: (day.month + 2) // 3,
    "month": lambda day: day.month,
    "week": lambda day: day.isocalendar().week,
    "day": lambda day: day.day,
    "dow": lambda day: day.isoweekday() % 7,
    "isodow": lambda day: day.isoweekday(),
    "doy": lambda day: day.timetuple().tm_yday,
}
FIX: Final = (
    "use comparisons, between, in, like, is null, case, and, or, not, + - * / // % over the policy's attributes"
)


def read_condition(text: str, names: Names) -> Truth:
    """What a condition says of a record; a QueryError if any part of it is not offered.

    >>> from tetraodon.domain import Attribute, Integers
    >>> read_condition("Age % 2 = 0", Names(Domain((Attribute("age", Integers(0, 9)),)))).places
    (0,)
    """
    return checked(parse_condition(text, names.unread(text)), names)


def checked(tree: exp.Expression, names: Names) -> Truth:
    """What a syntax tree says of a record."""
    try:
        return _Checker(names).truth(tree)
    except RecursionError:
        raise QueryError("the condition is nested too deeply", fix="split it, or use `in` and `between`") from None


def read_value(tree: exp.Expression, names: Names) -> Value:
    """The value of a syntax tree for a record: a number, say."""
    try:
        return _Checker(names).value(tree)
    except RecursionError:
        raise QueryError("the question is nested too deeply", fix="ask something simpler") from None


def truth_table(condition: str | Truth, domain: Domain) -> tuple[tuple[str, ...], Bools]:
    """The attributes a condition names, in the domain's order, and whether it holds in each of their cells.

    >>> from tetraodon.domain import Attribute, Integers
    >>> domain = Domain((Attribute("age", Integers(0, 3)),))
    >>> truth_table("age between 1 and 2", domain)[1].tolist()
    [False, True, True, False]
    """
    truth = read_condition(condition, Names(domain)) if isinstance(condition, str) else condition
    if not truth.places:
        raise QueryError(
            "the condition names no attribute",
            fix="compare an attribute; to count all records leave the condition out, or ask a release for `true`",
        )
    sizes = [domain.shape[place] for place in truth.places]
    if math.prod(sizes) > CELL_LIMIT:
        raise QueryError("the condition looks at too many cells", fix="name fewer or coarser attributes in it")
    return tuple(domain.names[place] for place in truth.places), cells_where(truth, truth.places, sizes).ravel()


@dataclass(frozen=True)
class _Checker:
    """Checks syntax trees and reads them as values, with names resolved."""

    names: Names

    def truth(self, node: Any) -> Truth:
        if isinstance(node, exp.And | exp.Or):
            kind = exp.And if isinstance(node, exp.And) else exp.Or
            return together(kind is exp.And, [self.truth(part) for part in node.flatten(unnest=False)])
        return values.truth_in(self.value(node))

    def number(self, node: Any) -> Number:
        return number_in(self.value(node))

    def words(self, node: Any) -> Words:
        return words_in(self.value(node))

    def value(self, node: Any) -> Value:
        self._require_offered(node)
        kind = type(node)
        if kind in FUNCTION_OF:
            more = [node.expression] if isinstance(node, exp.Binary) else node.expressions
            return call(FUNCTION_OF[kind], *map(self.number, (node.this, *more)))
        if kind in CASED:
            return values.mapped(self.words(node.this), CASED[kind])
        if (
            kind in SIGN_OF
            and not isinstance(node.this, exp.Subquery)
            and not isinstance(node.expression, exp.Subquery)
        ):
            return values.compare(SIGN_OF[kind], self.value(node.this), self.value(node.expression))
        if kind in SIGN_OF or kind is exp.Exists or (kind is exp.In and node.args.get("query") is not None):
            if self.names.subqueries is None:
                raise QueryError(
                    "a subquery is not offered here: what it reads is not a public table",
                    fix="compare attributes, or declare the table as `public` of a view",
                )
            found: Value = self.names.subqueries(node, self.names, self.value)
            return found
        match node:
            case exp.Paren():
                return self.value(node.this)
            case exp.And() | exp.Or():
                return self.truth(node)
            case exp.Not():
                return Negation(self.truth(node.this))
            case exp.Add() | exp.Sub():
                return self._sum(node)
            case exp.Between():
                middle = self.value(node.this)
                low, high = self.value(node.args["low"]), self.value(node.args["high"])
                return together(True, [values.compare(">=", middle, low), values.compare("<=", middle, high)])
            case exp.In() if node.expressions:
                left = self.value(node.this)
                return together(False, [values.compare("=", left, self.value(option)) for option in node.expressions])
            case exp.Is():
                return self._is(node)
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                same = _same(self.value(node.this), self.value(node.expression))
                return same if isinstance(node, exp.NullSafeEQ) else Negation(same)
            case exp.Boolean():
                return Always(bool(node.this))
            case exp.Null():
                return Nothing()
            case exp.Literal():
                return Words((node.this,)) if node.is_string else Constant(values.read_number(node.this))
            case exp.Column():
                place = self.names.column(node)
                return Plain(self.names.domain.attributes[place], place)
            case _:
                return self._called(node)

    def _called(self, node: Any) -> Value:
        """The value of a function."""
        match node:
            case exp.Pow():
                return values.step("power", self.number(node.this), self.number(node.expression))
            case exp.Round():
                decimals = node.args.get("decimals")
                times = Constant(0) if decimals is None else self.number(decimals)
                return values.step("round", self.number(node.this), times)
            case exp.Length():
                return values.measured(self.words(node.this), len)
            case exp.Substring():
                return self._substring(node)
            case exp.DPipe():
                return values.joined(self.words(node.this), self.words(node.expression))
            case exp.StartsWith():
                start = self._literal(node.expression, "starts_with")
                return is_one(values.measured(self.words(node.this), lambda word: int(word.startswith(start))))
            case exp.Like() | exp.ILike() | exp.Escape():
                return self._like(node)
            case exp.Coalesce():
                options = [self.value(part) for part in (node.this, *node.expressions)]
                return values.choose([Negation(values.unknown(option)) for option in options[:-1]], options)
            case exp.Nullif():
                kept = self.value(node.this)
                return values.choose([values.compare("=", kept, self.value(node.expression))], [Nothing(), kept])
            case exp.Case():
                return self._case(node)
            case exp.If():
                options = [self.value(node.args["true"]), self._default(node, "false")]
                return values.choose([self.truth(node.this)], options)
            case exp.Year() | exp.Month() | exp.Day():
                return _date_part(node.key, self.value(node.this))
            case exp.Extract():
                return _date_part(node.this.name.lower(), self.value(node.expression))
            case exp.Cast() | exp.TryCast():
                return _cast(node.args["to"], self.value(node.this), isinstance(node, exp.TryCast))
            case exp.Interval():
                return _interval(node)
            case _:
                raise QueryError(f"`{node.key}` is not offered in a condition", fix=FIX)

    def _require_offered(self, node: Any) -> None:
        if not isinstance(node, exp.Expression):  # a function without what it is a function of
            raise QueryError("a part of the condition is missing", fix=FIX)
        said = node.sql("duckdb").lower()
        same = (name for name in self.names.domain.names if name.lower() == said and not bare(name))
        name = None if type(node) in CONDITION_PARTS else next(same, None)
        fix = FIX if name is None else f"write {quoted(name)}, in double quotes, for the attribute"
        require_offered(node, CONDITION_PARTS, fix)

    def _sum(self, node: Any) -> Value:
        left, right = self.value(node.this), self.value(node.expression)
        sign = "+" if isinstance(node, exp.Add) else "-"
        if sign == "+" and isinstance(left, Span):
            left, right = right, left
        if not _is_date(left):
            return call(sign, number_in(left), number_in(right))
        days = values.day_in(left).days
        if _is_date(right):
            if sign == "+":
                raise QueryError("two dates are added up", fix="add a number of days to a date")
            return call("-", days, values.day_in(right).days)
        more = right.days if isinstance(right, Span) else number_in(right)
        if denominator(more) != 1:
            raise QueryError("a date is moved by a part of a day", fix="add a whole number of days")
        return Day(call(sign, days, more))

    def _is(self, node: Any) -> Truth:
        attributes = [name.lower() for name in self.names.domain.names]
        match node.expression:
            case exp.Null():
                return values.unknown(self.value(node.this))
            case exp.Column(table="", name=word) if word.lower() == MISSING and MISSING not in attributes:
                return values.unknown(self.value(node.this))
            case exp.Boolean():
                return _same(self.truth(node.this), Always(bool(node.expression.this)))
            case _:
                raise QueryError("`is` of this is not offered", fix="use `is missing`, `is true` or `is false`")

    def _like(self, node: Any) -> Truth:
        escape = ""
        if isinstance(node, exp.Escape):
            escape, node = self._literal(node.expression, "like"), node.this
        if not isinstance(node, exp.Like | exp.ILike):
            raise QueryError("`escape` belongs to `like`", fix="write it as name like 'A!%' escape '!'")
        pattern, text = self._literal(node.expression, "like"), self.value(node.this)
        if isinstance(text, Words) and text.place is None:
            raise QueryError("`like` needs an attribute and a pattern", fix="write it as name like 'A%'")
        words = words_in(text)
        if isinstance(node, exp.ILike):
            words, pattern, escape = values.mapped(words, str.lower), pattern.lower(), escape.lower()
        alike = values.like([word or "" for word in words.words], pattern, escape)
        found = tuple(None if word is None else int(yes) for word, yes in zip(words.words, alike, strict=True))
        match = is_one(Constant(found[0]) if words.place is None else Lookup(words.place, found))
        return Negation(match) if node.args.get("negate") else match

    def _literal(self, node: Any, function: str) -> str:
        value = self.value(node)
        if isinstance(value, Words) and value.place is None and value.words[0] is not None:
            return value.words[0]
        raise QueryError(f"`{function}` needs a pattern in quotes", fix="write it as name like 'A%'")

    def _default(self, node: Any, part: str) -> Value:
        return Nothing() if node.args.get(part) is None else self.value(node.args[part])

    def _case(self, node: Any) -> Value:
        subject = None if node.this is None else self.value(node.this)
        conditions, options = [], []
        for branch in node.args["ifs"]:
            test = self.value(branch.this)
            conditions.append(values.truth_in(test) if subject is None else values.compare("=", subject, test))
            options.append(self.value(branch.args["true"]))
        return values.choose(conditions, [*options, self._default(node, "default")])

    def _substring(self, node: Any) -> Value:
        given = [node.args[part] for part in ("start", "length") if node.args.get(part) is not None]
        ends = [self.number(part) for part in given]
        known = [Fraction(end.number) for end in ends if isinstance(end, Constant) and end.number is not None]
        whole = [int(end) for end in known if end.denominator == 1 and end >= 0]
        if not whole or len(whole) != len(ends) or whole[0] < 1:
            fix = "write it as substring(name, 1, 3), with whole numbers"
            raise QueryError("this substring is not offered", fix=fix)
        first = whole[0] - 1
        last = first + whole[1] if len(whole) > 1 else None
        return values.mapped(self.words(node.this), lambda word: word[first:last])


def _is_date(value: Value) -> bool:
    return isinstance(value, Day) or (isinstance(value, Plain) and isinstance(value.attribute.values, Dates))


def _same(left: Value, right: Value) -> Truth:
    """True or false: whether both are NULL, or neither is and they are equal."""
    missing = [values.unknown(left), values.unknown(right)]
    if isinstance(left, Nothing) or isinstance(right, Nothing):
        return together(True, missing)
    equal = together(True, [*(Negation(one) for one in missing), values.compare("=", left, right)])
    return together(False, [together(True, missing), equal])


def _date_part(part: str, value: Value) -> Number:
    if part not in DATE_PARTS:
        raise QueryError(f"`{part}` of a date is not offered", fix=f"use one of: {', '.join(DATE_PARTS)}")
    days, of = values.day_in(value).days, DATE_PARTS[part]
    if len(days.sizes) > 1:
        raise QueryError("a date comes from several attributes", fix="take parts of one attribute's dates")
    place, size = next(iter(days.sizes), (None, 1))
    found = tuple(None if day is None else of(values.date_at(day)) for day in listed(days, place, size))
    return Constant(found[0]) if place is None else Lookup(place, found)


def _interval(node: Any) -> Span:
    unit = node.args["unit"].name.lower().rstrip("s") if node.args.get("unit") is not None else ""
    if unit not in ("day", "week") or not isinstance(node.this, exp.Literal):
        raise QueryError("this interval is not offered", fix="write it as interval 3 day")
    return Span(Constant(values.read_number(node.this.this) * (7 if unit == "week" else 1)))


def _cast(to: Any, value: Value, careful: bool) -> Value:
    if isinstance(value, Nothing):
        return value
    labels = isinstance(value, Plain) and isinstance(value.attribute.values, Categories)
    said = labels or isinstance(value, Words)
    match "" if to.expressions else to.this.name:
        case "VARCHAR" | "TEXT":
            return words_in(value)
        case "DATE":
            if not said:
                return values.day_in(value)
            return Day(_said(words_in(value), _day, careful))
        case "BOOLEAN":
            return values.truth_in(value)
        case "INT" | "BIGINT" | "DOUBLE" | "FLOAT" | "DECIMAL" as kind:
            found = _said(words_in(value), values.read_number, careful) if said else number_in(value)
            return call("round", found, Constant(0)) if kind in ("INT", "BIGINT") else found
        case _:
            raise QueryError(NO_CAST, fix=CASTS)


def _day(word: str) -> Fraction:
    day = values.day_in(Words((word,))).days
    assert isinstance(day, Constant)
    return Fraction(day.number or 0)


def _said(words: Words, read: Callable[[str], Fraction], careful: bool) -> Number:
    """The numbers that texts say; where one says none, NULL if that is allowed."""

    def number(word: str) -> Fraction | None:
        try:
            return read(word)
        except QueryError:
            if careful:
                return None
            raise QueryError("a value cannot be converted", fix="use try_cast, or compare the words") from None

    return values.measured(words, number)
