"""Text in conditions, worked out for every value of the one attribute that it comes from.

So a condition on text is a condition on codes. Text from several attributes at once is not offered.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias, assert_never

import numpy as np

from tetraodon.domain import Attribute, Booleans, Categories, Dates
from tetraodon.errors import QueryError
from tetraodon.rational import decimal_text
from tetraodon.workload.condition.nodes import (
    Always,
    Choice,
    Constant,
    Junction,
    Lookup,
    Negation,
    NumberComparison,
    Reading,
    Sizes,
    Truth,
    Unknown,
    Whole,
    as_number,
    is_one,
)
from tetraodon.workload.condition.numbers import Ratio, chosen
from tetraodon.workload.condition.truth import numbers
from tetraodon.workload.condition.values import (
    LIKE_WITH_LIKE,
    Day,
    Nothing,
    Plain,
    Span,
    Value,
    Words,
    day_in,
    number_in,
    truth_in,
)

LISTED = 1_000_000
"""The most values of an attribute whose texts or days are worked out one by one."""
Texts: TypeAlias = tuple[str | None, ...]


def words_in(value: Value) -> Words:
    """A value as text: labels as they are declared, numbers as they are written, dates as YYYY-MM-DD."""
    match value:
        case Words():
            return value
        case Nothing():
            return Words((None,))
        case Plain(attribute):
            _require_few(attribute.size)
            words = attribute.labels
            return Words((*words[:-1], None) if attribute.separate else words, value.place)
        case Ratio():
            return tabled(value.sizes, lambda place, size: _written(value, place, size))
        case Day(days):
            return tabled(days.sizes, lambda place, size: _dates(days, place, size))
        case _:
            raise QueryError("a text is needed here", fix=LIKE_WITH_LIKE)


def tabled(sizes: Sizes, texts: Callable[[int | None, int], Texts]) -> Words:
    """The texts of something for each value of the one attribute that it comes from."""
    if len(sizes) > 1:
        raise QueryError("a text comes from several attributes", fix="use text functions on one attribute at a time")
    place, size = next(iter(sizes), (None, 1))
    _require_few(size)
    return Words(texts(place, size), place)


def listed(one: Ratio, place: int | None, size: int) -> list[Fraction | None]:
    """A number for every value of the attribute that it comes from; None where it is unknown."""
    codes = {} if place is None else {place: np.arange(size)}
    over, known = numbers(one.over, codes)
    under, _ = numbers(one.under, codes)
    columns = (np.broadcast_to(column, (size,)).tolist() for column in (over, known, under))
    return [Fraction(top, below) if sure else None for top, sure, below in zip(*columns, strict=True)]


def _written(one: Ratio, place: int | None, size: int) -> Texts:
    return tuple(None if value is None else decimal_text(value) for value in listed(one, place, size))


def _dates(days: Whole, place: int | None, size: int) -> Texts:
    return tuple(None if value is None else date_at(value).isoformat() for value in listed(Ratio(days), place, size))


def date_at(days: Fraction) -> dt.date:
    """The date of a number of days."""
    if not 1 <= days <= dt.date.max.toordinal():
        raise QueryError("a date of the condition is out of reach", fix="use dates of the years 1 to 9999")
    return dt.date.fromordinal(int(days))


def _require_few(size: int) -> None:
    if size > LISTED:
        raise QueryError("a text function looks at too many values", fix="compare the attribute itself")


def mapped(words: Words, of: Callable[[str], str | None]) -> Words:
    """Each text changed."""
    return Words(tuple(None if word is None else of(word) for word in words.words), words.place)


def measured(words: Words, of: Callable[[str], int | None]) -> Whole:
    """A whole number for each text."""
    found = tuple(None if word is None else of(word) for word in words.words)
    return Constant(found[0]) if words.place is None else Lookup(words.place, found)


def joined(left: Words, right: Words) -> Words:
    """Two texts, one after the other."""

    def texts(place: int | None, size: int) -> Texts:  # noqa: ARG001
        a, b = (side.words * (size // len(side.words)) for side in (left, right))
        return tuple(None if x is None or y is None else x + y for x, y in zip(a, b, strict=True))

    return tabled(left.sizes | right.sizes, texts)


def unknown(value: Value) -> Truth:
    """Whether a value is NULL."""
    match value:
        case Nothing():
            return Always(True)
        case Plain():
            return Unknown(value.code)
        case Ratio(over):
            return Unknown(over)
        case Day(days):
            return Unknown(days)
        case Span(days):
            return Unknown(days.over)
        case Words():
            return Unknown(measured(value, len))
        case Always() | NumberComparison() | Junction() | Negation() | Unknown() | Reading():
            return Unknown(as_number(value))
        case _:
            assert_never(value)


def choose(conditions: Sequence[Truth], values: Sequence[Value]) -> Value:
    """The value beside the first condition that is true, or the last; all of one kind, or NULL."""
    kinds = [value for value in values if not isinstance(value, Nothing)]
    if not kinds:
        return Nothing()
    first = next((value for value in kinds if not isinstance(value, Words) or value.place is not None), kinds[0])
    match first:
        case Plain(Attribute(values=Booleans())):
            return is_one(Choice(tuple(conditions), tuple(as_number(truth_in(value)) for value in values)))
        case Plain(Attribute(values=Dates())) | Day():
            return Day(Choice(tuple(conditions), tuple(day_in(value).days for value in values)))
        case Plain(Attribute(values=Categories())) | Words():
            return _chosen_words(conditions, [words_in(value) for value in values])
        case Plain() | Ratio():
            return chosen(conditions, [number_in(value) for value in values])
        case Span():
            raise QueryError("a number of days is chosen", fix="add it to a date")
        case _:
            return is_one(Choice(tuple(conditions), tuple(as_number(truth_in(value)) for value in values)))


def _chosen_words(conditions: Sequence[Truth], words: Sequence[Words]) -> Words:
    which = Choice(tuple(conditions), tuple(Constant(place) for place in range(len(words))))

    def texts(place: int | None, size: int) -> Texts:
        picked = np.broadcast_to(numbers(which, {} if place is None else {place: np.arange(size)})[0], (size,))
        return tuple(words[one].words[code if words[one].place is not None else 0] for code, one in enumerate(picked))

    return tabled(which.sizes.union(*(one.sizes for one in words)), texts)
