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
from typing import Any, Final, TypeAlias

from sqlglot import exp

from tetraodon.domain import Categories, Dates, Domain
from tetraodon.domain.domain import MISSING
from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Bools
from tetraodon.query.condition import values as exact
from tetraodon.query.condition.nodes import (
    Always,
    Constant,
    Lookup,
    Negation,
    Sign,
    Truth,
    Whole,
    cells_where,
    is_one,
    together,
)
from tetraodon.query.condition.public_tables import reading
from tetraodon.query.condition.syntax import CONDITION_PARTS, Names, bare, parse_condition, quoted, require_offered
from tetraodon.query.condition.values import (
    Day,
    Nothing,
    Plain,
    Ratio,
    Span,
    Value,
    Words,
    choose,
    compare,
    date_at,
    day_in,
    joined,
    like,
    listed,
    mapped,
    measured,
    number,
    number_in,
    read_number,
    truth_in,
    unknown,
    words_in,
)

CELL_LIMIT = 20_000_000
SIGNS: Final[dict[type[exp.Expression], Sign]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
OPERATIONS: Final[dict[type[exp.Expression], Callable[[Ratio, Ratio], Ratio]]] = {
    exp.Mul: exact.multiplied,
    exp.Div: exact.divided,
    exp.IntDiv: exact.cut_off,
    exp.Mod: lambda left, right: exact.added(left, right, "%"),
    exp.Pow: exact.power,
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
    """What a syntax tree stands for in a record: a number, say."""
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
    """Syntax trees as what they stand for, with names resolved."""

    names: Names

    def truth(self, node: Any) -> Truth:
        if isinstance(node, exp.And | exp.Or):
            kind = exp.And if isinstance(node, exp.And) else exp.Or
            return together(kind is exp.And, [self.truth(part) for part in node.flatten(unnest=False)])
        return truth_in(self.value(node))

    def number(self, node: Any) -> Ratio:
        return number_in(self.value(node))

    def value(self, node: Any) -> Value:
        self._require_offered(node)
        kind = type(node)
        if kind in SIGNS:
            if isinstance(node.this, exp.Subquery) or isinstance(node.expression, exp.Subquery):
                return reading(node, self.names, self.value)
            return compare(SIGNS[kind], self.value(node.this), self.value(node.expression))
        if kind in OPERATIONS:
            return OPERATIONS[kind](self.number(node.this), self.number(node.expression))
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
                return together(True, [compare(">=", middle, low), compare("<=", middle, high)])
            case exp.In() if node.args.get("query") is not None:
                return reading(node, self.names, self.value)
            case exp.In() if node.expressions:
                left = self.value(node.this)
                return together(False, [compare("=", left, self.value(option)) for option in node.expressions])
            case exp.Exists():
                return reading(node, self.names, self.value)
            case exp.Is():
                return self._is(node)
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                same = self._same(self.value(node.this), self.value(node.expression))
                return same if isinstance(node, exp.NullSafeEQ) else Negation(same)
            case exp.Boolean():
                return Always(bool(node.this))
            case exp.Null():
                return Nothing()
            case exp.Literal():
                return Words((node.this,)) if node.is_string else number(read_number(node.this))
            case exp.Column():
                place = self.names.column(node)
                return Plain(self.names.domain.attributes[place], place)
            case _:
                found = called(node, self.value)
                if found is None:
                    raise QueryError(f"`{node.key}` is not offered in a condition", fix=FIX)
                return found

    def _says_missing(self, node: Any) -> bool:
        there = isinstance(node, exp.Column) and not node.table and node.name.lower() == MISSING
        return there and MISSING not in map(str.lower, self.names.domain.names)

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
        if not (isinstance(left, Day) or (isinstance(left, Plain) and isinstance(left.attribute.values, Dates))):
            return exact.added(number_in(left), number_in(right), "+" if sign == "+" else "-")
        days = Ratio(day_in(left).days)
        if isinstance(right, Day) or (isinstance(right, Plain) and isinstance(right.attribute.values, Dates)):
            if sign == "+":
                raise QueryError("two dates are added up", fix="add a number of days to a date")
            return exact.added(days, Ratio(day_in(right).days), "-")
        more = right.days if isinstance(right, Span) else number_in(right)
        if more.under != Constant(1):
            raise QueryError("a date is moved by a part of a day", fix="add a whole number of days")
        return Day(exact.added(days, more, "+" if sign == "+" else "-").over)

    def _is(self, node: Any) -> Truth:
        match node.expression:
            case exp.Null():
                return unknown(self.value(node.this))
            case exp.Column() if self._says_missing(node.expression):  # reads better than `is null`
                return unknown(self.value(node.this))
            case exp.Boolean():
                return self._same(self.truth(node.this), Always(bool(node.expression.this)))
            case _:
                raise QueryError("`is` of this is not offered", fix="use `is missing`, `is true` or `is false`")

    def _same(self, left: Value, right: Value) -> Truth:
        """True or false: whether both are NULL, or neither is and they are equal."""
        missing = [unknown(left), unknown(right)]
        if isinstance(left, Nothing) or isinstance(right, Nothing):
            return together(True, missing)
        equal = together(True, [*(Negation(one) for one in missing), compare("=", left, right)])
        return together(False, [together(True, missing), equal])


# -- functions --------------------------------------------------------------------------------------
# The functions that a condition may call: of numbers, of words, of dates, and those that choose.

Read: TypeAlias = Callable[[Any], Value]
"""What a part of the syntax tree stands for."""
CASED: Final[dict[type[exp.Expression], Callable[[str], str]]] = {exp.Lower: str.lower, exp.Upper: str.upper}
NUMERIC: Final[dict[type[exp.Expression], Callable[[Ratio], Ratio]]] = {
    exp.Neg: exact.negative,
    exp.Abs: exact.absolute,
    exp.Floor: exact.floor,
    exp.Ceil: lambda one: exact.negative(exact.floor(exact.negative(one))),
}
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
SUBSTRING = "write it as substring(name, 1, 3), with whole numbers"


def called(node: Any, read: Read) -> Value | None:
    """What a function stands for; None if it is not offered."""
    if type(node) in NUMERIC:
        return NUMERIC[type(node)](number_in(read(node.this)))
    if type(node) in CASED:
        return mapped(words_in(read(node.this)), CASED[type(node)])
    match node:
        case exp.Least() | exp.Greatest():
            parts = [number_in(read(part)) for part in (node.this, *node.expressions)]
            return exact.extreme(parts, isinstance(node, exp.Greatest))
        case exp.Round():
            decimals = node.args.get("decimals")
            return exact.rounded(number_in(read(node.this)), None if decimals is None else number_in(read(decimals)))
        case exp.Length():
            return Ratio(measured(words_in(read(node.this)), len))
        case exp.Substring():
            return _substring(node, read)
        case exp.DPipe():
            return joined(words_in(read(node.this)), words_in(read(node.expression)))
        case exp.StartsWith():
            start = _literal(read(node.expression), "starts_with")
            return is_one(measured(words_in(read(node.this)), lambda word: int(word.startswith(start))))
        case exp.Like() | exp.ILike() | exp.Escape():
            return _like(node, read)
        case exp.Coalesce():
            values = [read(part) for part in (node.this, *node.expressions)]
            return choose([Negation(unknown(value)) for value in values[:-1]], values)
        case exp.Nullif():
            kept = read(node.this)
            return choose([compare("=", kept, read(node.expression))], [Nothing(), kept])
        case exp.Case():
            return _case(node, read)
        case exp.If():
            return choose([truth_in(read(node.this))], [read(node.args["true"]), _default(node, "false", read)])
        case exp.Year() | exp.Month() | exp.Day():
            return _date_part(node.key, read(node.this))
        case exp.Extract():
            return _date_part(node.this.name.lower(), read(node.expression))
        case exp.Cast() | exp.TryCast():
            return _cast(node.args["to"], read(node.this), isinstance(node, exp.TryCast))
        case exp.Interval():
            return _interval(node)
        case _:
            return None


def _like(node: Any, read: Read) -> Truth:
    escape = ""
    if isinstance(node, exp.Escape):
        escape, node = _literal(read(node.expression), "like"), node.this
    if not isinstance(node, exp.Like | exp.ILike):
        raise QueryError("`escape` belongs to `like`", fix="write it as name like 'A!%' escape '!'")
    pattern, text = _literal(read(node.expression), "like"), read(node.this)
    if isinstance(text, Words) and text.place is None:
        raise QueryError("`like` needs an attribute and a pattern", fix="write it as name like 'A%'")
    words = words_in(text)
    if isinstance(node, exp.ILike):
        words, pattern, escape = mapped(words, str.lower), pattern.lower(), escape.lower()
    alike = like([word or "" for word in words.words], pattern, escape)
    found = tuple(None if word is None else int(yes) for word, yes in zip(words.words, alike, strict=True))
    match = is_one(_for_each(found, words.place))
    return Negation(match) if node.args.get("negate") else match


def _literal(value: Value, function: str) -> str:
    if isinstance(value, Words) and value.place is None and value.words[0] is not None:
        return value.words[0]
    raise QueryError(f"`{function}` needs a pattern in quotes", fix="write it as name like 'A%'")


def _default(node: Any, part: str, read: Read) -> Value:
    return Nothing() if node.args.get(part) is None else read(node.args[part])


def _case(node: Any, read: Read) -> Value:
    subject = None if node.this is None else read(node.this)
    conditions, values = [], []
    for branch in node.args["ifs"]:
        test = read(branch.this)
        conditions.append(truth_in(test) if subject is None else compare("=", subject, test))
        values.append(read(branch.args["true"]))
    return choose(conditions, [*values, _default(node, "default", read)])


def _substring(node: Any, read: Read) -> Value:
    given = [node.args[part] for part in ("start", "length") if node.args.get(part) is not None]
    ends = [number_in(read(part)).constant for part in given]
    whole = [int(end) for end in ends if end is not None and end.denominator == 1 and end >= 0]
    if not whole or len(whole) != len(ends) or whole[0] < 1:
        raise QueryError("this substring is not offered", fix=SUBSTRING)
    first = whole[0] - 1
    last = first + whole[1] if len(whole) > 1 else None
    return mapped(words_in(read(node.this)), lambda word: word[first:last])


def _date_part(part: str, value: Value) -> Ratio:
    if part not in DATE_PARTS:
        raise QueryError(f"`{part}` of a date is not offered", fix=f"use one of: {', '.join(DATE_PARTS)}")
    days, of = day_in(value).days, DATE_PARTS[part]
    if len(days.sizes) > 1:
        raise QueryError("a date comes from several attributes", fix="take parts of one attribute's dates")
    place, size = next(iter(days.sizes), (None, 1))
    found = (None if day is None else of(date_at(day)) for day in listed(Ratio(days), place, size))
    return Ratio(_for_each(tuple(found), place))


def _interval(node: Any) -> Span:
    unit = node.args["unit"].name.lower().rstrip("s") if node.args.get("unit") is not None else ""
    if unit not in ("day", "week") or not isinstance(node.this, exp.Literal):
        raise QueryError("this interval is not offered", fix="write it as interval 3 day")
    return Span(number(read_number(node.this.this) * (7 if unit == "week" else 1)))


def _cast(to: Any, value: Value, careful: bool) -> Value:
    if isinstance(value, Nothing):
        return value
    labels = isinstance(value, Plain) and isinstance(value.attribute.values, Categories)
    match "" if to.expressions else to.this.name:
        case "VARCHAR" | "TEXT":
            return words_in(value)
        case "DATE":
            said = labels or isinstance(value, Words)
            return Day(_said(words_in(value), _days, careful).over) if said else day_in(value)
        case "BOOLEAN":
            return truth_in(value)
        case "INT" | "BIGINT" | "DOUBLE" | "FLOAT" | "DECIMAL" as kind:
            said = labels or isinstance(value, Words)
            found = _said(words_in(value), read_number, careful) if said else number_in(value)
            return exact.rounded(found) if kind in ("INT", "BIGINT") else found
        case _:
            raise QueryError(
                "a cast to this type is not offered", fix="cast to integer, double, varchar, date or boolean"
            )


def _days(word: str) -> Fraction:
    return Fraction(day_in(Words((word,))).days.bound)


def _said(words: Words, read: Callable[[str], Fraction], careful: bool) -> Ratio:
    """The numbers that texts say; where one says none, NULL if that is allowed."""
    found: list[Fraction | None] = []
    for word in words.words:
        try:
            found.append(None if word is None else read(word))
        except QueryError:
            if not careful:
                raise QueryError("a value cannot be converted", fix="use try_cast, or compare the words") from None
            found.append(None)
    under = exact.common_denominator([one for one in found if one is not None])
    return Ratio(
        _for_each(tuple(None if one is None else int(one * under) for one in found), words.place), Constant(under)
    )


def _for_each(numbers: tuple[int | None, ...], place: int | None) -> Whole:
    return Constant(numbers[0]) if place is None else Lookup(place, numbers)
