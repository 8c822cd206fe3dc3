"""The functions that a condition may call: of numbers, of words, of dates, and those that choose."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, TypeAlias

from sqlglot import exp

from tetraodon.domain import Categories
from tetraodon.errors import QueryError
from tetraodon.query.condition import values as exact
from tetraodon.query.condition.nodes import Constant, Lookup, Negation, Truth, Whole, is_one
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
