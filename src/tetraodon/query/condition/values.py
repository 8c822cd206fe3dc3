"""The typed parts of a condition: attributes, exact numbers, texts, dates, and comparisons between them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from typing import ClassVar, Final, TypeAlias, assert_never

import numpy as np

from tetraodon.domain import Attribute, Booleans, Categories, Dates
from tetraodon.domain.values import label_text, number_of
from tetraodon.errors import DomainError, QueryError, did_you_mean
from tetraodon.exact.arrays import Bools
from tetraodon.exact.rational import decimal_text
from tetraodon.query.condition.nodes import (
    Always,
    Choice,
    Code,
    Constant,
    Logical,
    Lookup,
    Number,
    NumberComparison,
    Numeric,
    Sign,
    Sizes,
    Truth,
    Unknown,
    as_number,
    call,
    is_one,
    listed,
    numbers,
)

# -- numbers ----------------------------------------------------------------------------------------

TURNED: Final[dict[Sign, Sign]] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
POWERS = 16
"""The largest exponent."""


STEPS: Final = {"power": "power", "round": "rounding"}


def step(name: str, one: Number, times: Number) -> Number:
    """A number raised to a power, or rounded to some decimals: `times` is a constant, and not a large one."""
    count = Fraction(times.number) if isinstance(times, Constant) and times.number is not None else None
    if count is None or count.denominator != 1 or not 0 <= count <= POWERS:
        raise QueryError(f"this {STEPS[name]} is not offered", fix=f"use a whole number from 0 to {POWERS} there")
    return call(name, one, Constant(count))


def compared(sign: Sign, left: Number, right: Number) -> Truth:
    """The comparison of two numbers, with what is the same for every record on the right."""
    if isinstance(left, Constant) and not isinstance(right, Constant):
        return NumberComparison(TURNED[sign], right, left)
    return NumberComparison(sign, left, right)


# -- like -------------------------------------------------------------------------------------------
# Patterns of SQL's `like` as regular expressions, which RE2 matches in a time that grows with the text alone.

LONGEST = 1000
"""The letters of the longest pattern."""


def like_regex(pattern: str, escape: str = "") -> str:
    """A `like` pattern as a regular expression in which `.` is any letter: `%` is anything, `_` one letter.

    Why   backtracking takes a time exponential in the number of `%`, in Python's `re` and in DuckDB's `like`. RE2 does
          not backtrack. Of a run of wildcards only how many `_` and whether a `%` is in it matters.

    >>> like_regex("a%_%_b.")
    'a...*b\\\\.'
    >>> like_regex("50!%", "!")
    '50%'
    """
    if len(pattern) > LONGEST or len(escape) > 1:
        raise QueryError("the pattern of `like` is too long", fix=f"write at most {LONGEST:,} letters")
    letters, rest = [], iter(pattern)
    for letter in rest:
        escaped = escape and letter == escape
        letters.append((next(rest, letter), False) if escaped else (letter, letter in "%_"))
    parts = []
    for wild, run in groupby(letters, key=lambda pair: pair[1]):
        text = "".join(letter for letter, _ in run)
        parts.append("." * text.count("_") + ".*" * ("%" in text) if wild else re.escape(text))
    return "".join(parts)


def like(texts: Sequence[str], pattern: str, escape: str = "") -> Bools:
    """Which of some texts are like a pattern.

    >>> like(["Bonn", "Berlin"], "B%n_").tolist()
    [True, False]
    """
    import pyarrow
    from pyarrow import compute

    regex = rf"(?s)\A(?:{like_regex(pattern, escape)})\z"
    found = compute.match_substring_regex(pyarrow.array(texts, pyarrow.string()), regex)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.bool_)


# -- values -----------------------------------------------------------------------------------------

LIKE_WITH_LIKE = "compare numbers with numbers and words with words"


@dataclass(frozen=True, slots=True)
class Plain:
    """An attribute that has not met what it is compared with yet."""

    attribute: Attribute
    place: int

    @property
    def code(self) -> Code:
        """Its code; missing values that stand apart are unknown."""
        return Code(self.place, self.attribute.size, missing=self.attribute.separate)

    @property
    def sizes(self) -> Sizes:
        return self.code.sizes


@dataclass(frozen=True, slots=True)
class Words:
    """A text for each value of the attribute at a place; one text for all where there is no attribute."""

    words: tuple[str | None, ...]
    place: int | None = None

    @property
    def sizes(self) -> Sizes:
        return frozenset() if self.place is None else frozenset(((self.place, len(self.words)),))


@dataclass(frozen=True, slots=True)
class Day:
    """A date, as the number of days since the first of January of the year 1, which is 1."""

    days: Number

    @property
    def sizes(self) -> Sizes:
        return self.days.sizes


@dataclass(frozen=True, slots=True)
class Span:
    """A number of days."""

    days: Number

    @property
    def sizes(self) -> Sizes:
        return self.days.sizes


@dataclass(frozen=True, slots=True)
class Nothing:
    """NULL, which is unknown whatever it is taken for."""

    sizes: ClassVar[Sizes] = frozenset()


Value: TypeAlias = Plain | Number | Words | Day | Span | Nothing | Truth


def number_in(value: Value) -> Number:
    """A value as a number."""
    match value:
        case Numeric():
            return value
        case Nothing():
            return Constant(None)
        case Plain(attribute) if attribute.adds_up:
            return replace(value.code, first=attribute.number(0), step=attribute.step)
        case Plain(attribute):
            raise QueryError(f"{attribute.name} is not a number", fix=values_of(attribute))
        case Day():
            raise QueryError("a date is not a number", fix="compare it with a date such as '2020-01-31'")
        case _:
            raise QueryError("a number is needed here", fix=LIKE_WITH_LIKE)


def truth_in(value: Value) -> Truth:
    """A value as something true or false."""
    match value:
        case Plain(Attribute(values=Booleans())):
            return is_one(value.code)
        case Nothing():
            return Always(None)
        case Words((word,), None) if word in ("true", "false"):
            return Always(word == "true")
        case Plain() | Words() | Day() | Span() | Numeric():
            raise QueryError("the condition is not true or false", fix="compare something, as in `age > 30`")
        case _:
            return value


def day_in(value: Value, name: str = "a date") -> Day:
    """A value as a date."""
    match value:
        case Day():
            return value
        case Nothing():
            return Day(Constant(None))
        case Plain(Attribute(values=Dates(first))):
            return Day(replace(value.code, first=Fraction(first.toordinal())))
        case Words((word,), None):
            try:
                return Day(Constant(dt.date.fromisoformat(word or "").toordinal()))
            except ValueError:
                fix = "write a date as '2020-01-31'"
                raise QueryError(f"a word is not a value of {name}", fix=fix, where="condition") from None
        case Plain(attribute):
            raise QueryError(f"{attribute.name} is not a date", fix=values_of(attribute))
        case _:
            raise QueryError("a date is needed here", fix="write it as '2020-01-31'")


def read_number(text: str) -> Fraction:
    """The number that was written."""
    try:
        return number_of(text)
    except DomainError:
        raise QueryError("a number cannot be read", fix="write a finite number such as 3, 0.1 or 1e-6") from None


def values_of(attribute: Attribute, word: str = "") -> str:
    """A clause for `Fix:` that says what an attribute is compared with; its values are public, the word may not be."""
    match attribute.values:
        case Categories(labels):
            return did_you_mean(word, labels)
        case Booleans():
            return "compare it with true or false"
        case Dates(first, last):
            return f"compare it with a date from '{first}' to '{last}', in quotes"
        case _:
            return f"compare it with a number from {attribute.text(0)} to {attribute.text(attribute.values.size - 1)}"


# -- texts ------------------------------------------------------------------------------------------
# Text in conditions, worked out for every value of the one attribute that it comes from.
#
# So a condition on text is a condition on codes. Text from several attributes at once is not offered.

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
        case Numeric():
            return _tabled_numbers(value, decimal_text)
        case Day(days):
            return _tabled_numbers(days, lambda day: date_at(day).isoformat())
        case _:
            raise QueryError("a text is needed here", fix=LIKE_WITH_LIKE)


def tabled(sizes: Sizes, texts: Callable[[int | None, int], Texts]) -> Words:
    """The texts of something for each value of the one attribute that it comes from."""
    if len(sizes) > 1:
        raise QueryError("a text comes from several attributes", fix="use text functions on one attribute at a time")
    place, size = next(iter(sizes), (None, 1))
    _require_few(size)
    return Words(texts(place, size), place)


def _tabled_numbers(one: Number, written: Callable[[Fraction], str]) -> Words:
    def texts(place: int | None, size: int) -> Texts:
        return tuple(None if value is None else written(value) for value in listed(one, place, size))

    return tabled(one.sizes, texts)


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


def measured(words: Words, of: Callable[[str], Fraction | int | None]) -> Number:
    """A number for each text."""
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
        case Numeric():
            return Unknown(value)
        case Day(days) | Span(days):
            return Unknown(days)
        case Words():
            return Unknown(measured(value, len))
        case Logical():
            return Unknown(as_number(value))
        case _:
            assert_never(value)


def choose(conditions: Sequence[Truth], values: Sequence[Value]) -> Value:
    """The value of the first condition that is true, or the last; all of one kind, or NULL."""
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
        case Plain() | Numeric():
            return Choice(tuple(conditions), tuple(number_in(value) for value in values))
        case Span():
            raise QueryError("a number of days is chosen", fix="add it to a date")
        case _:
            return is_one(Choice(tuple(conditions), tuple(as_number(truth_in(value)) for value in values)))


def _chosen_words(conditions: Sequence[Truth], words: Sequence[Words]) -> Words:
    which = Choice(tuple(conditions), tuple(Constant(place) for place in range(len(words))))

    def texts(place: int | None, size: int) -> Texts:
        picked = np.broadcast_to(numbers(which, {} if place is None else {place: np.arange(size)}).over, (size,))
        return tuple(words[one].words[code if words[one].place is not None else 0] for code, one in enumerate(picked))

    return tabled(which.sizes.union(*(one.sizes for one in words)), texts)


# -- comparing --------------------------------------------------------------------------------------
# Two parts of a condition compared as what they are: numbers with numbers, dates with dates, words with words.

UNORDERED: Final = ("=", "<>")


def compare(sign: Sign, left: Value, right: Value) -> Truth:
    """Two values compared as what they are. A quoted word is what the other side makes of it."""
    if isinstance(left, Nothing) or isinstance(right, Nothing):
        return Always(None)
    if _constant(left) is not None and _constant(right) is None:
        return compare(TURNED[sign], right, left)
    if isinstance(right, Plain) and not isinstance(left, Plain):
        return compare(TURNED[sign], right, left)
    match left:
        case Plain(Attribute(values=Categories())) if not isinstance(right, Words) or right.place is None:
            return _with_category(sign, left, right)
        case Plain(Attribute(values=Booleans())):
            return _with_truth(sign, left, right)
        case Plain(Attribute(values=Dates())) | Day():
            return _with_day(sign, left, right)
        case Plain(Attribute(values=Categories())) | Words():
            return _with_words(sign, left, right)
        case Plain() | Numeric():
            return compared(sign, number_in(left), _number_or_word(right))
        case Span():
            raise QueryError("a number of days is compared", fix="add it to a date")
        case _:
            return _with_truth(sign, left, right)


def _constant(value: Value) -> Fraction | str | None:
    match value:
        case Words((word,), None):
            return word
        case Constant(number) if number is not None:
            return Fraction(number)
        case _:
            return None


def _number_or_word(value: Value) -> Number:
    if isinstance(value, Words) and value.place is None and value.words[0] is not None:
        return Constant(read_number(value.words[0]))
    if isinstance(value, Logical):
        raise QueryError("a number is compared with what is not true or false", fix=LIKE_WITH_LIKE)
    return number_in(value)


def _with_category(sign: Sign, left: Plain, right: Value) -> Truth:
    attribute = left.attribute
    if isinstance(right, Plain):
        if right.attribute.values == attribute.values:
            _require_order(sign, attribute)
            return NumberComparison(sign, left.code, right.code)
        if not right.attribute.adds_up:
            raise QueryError(
                "two attributes with different values are compared",
                fix="compare like with like, or their texts: `lower(one) = lower(other)`",
            )
    word = _constant(right)
    if word is None:
        raise QueryError(f"{attribute.name} is not a number", fix=values_of(attribute))
    _require_order(sign, attribute)
    try:
        code = attribute.code(word if isinstance(word, str) else label_text(word))
    except DomainError:
        fix = values_of(attribute, str(word))
        raise QueryError(f"a word is not a value of {attribute.name}", fix=fix, where="condition") from None
    if attribute.separate and code == attribute.missing:
        raise QueryError(f"a missing {attribute.name} equals nothing", fix=f"write `{attribute.name} is missing`")
    return NumberComparison(sign, left.code, Constant(code))


def _with_truth(sign: Sign, left: Value, right: Value) -> Truth:
    for side in (left, right):
        if isinstance(side, Plain) and isinstance(side.attribute.values, Booleans):
            _require_order(sign, side.attribute)
    match left, right:
        case Plain(attribute), Plain(other) if other.adds_up or isinstance(other.values, Booleans):
            if other.adds_up:
                raise QueryError(f"{attribute.name} is not a number", fix=values_of(attribute))
        case Plain(attribute), Plain(other):
            raise QueryError("two attributes with different values are compared", fix=LIKE_WITH_LIKE)
        case Plain(attribute), Words((_,), None):
            words = right.words if isinstance(right, Words) else ()
            if words[0] is None or words[0].lower() not in ("true", "false"):
                fix = values_of(attribute)
                raise QueryError(f"a word is not a value of {attribute.name}", fix=fix, where="condition")
            right = Always(words[0].lower() == "true")
        case Plain(attribute), Words() | Day() | Span() | Numeric():
            raise QueryError(f"{attribute.name} is not a number", fix=values_of(attribute))
    if sign not in UNORDERED:
        raise QueryError("true and false have no order", fix="use = or <>")
    return NumberComparison(sign, as_number(truth_in(left)), as_number(truth_in(right)))


def _with_day(sign: Sign, left: Value, right: Value) -> Truth:
    name, fix = "a date", "compare it with a date such as '2020-01-31'"
    if isinstance(left, Plain):
        name, fix = left.attribute.name, values_of(left.attribute)
    match right:
        case Numeric():
            raise QueryError(f"{name} is not a number", fix=fix)
        case Plain(attribute) if attribute.numeric:
            raise QueryError(f"{name} is not a number", fix=fix)
        case Plain(attribute) if not isinstance(attribute.values, Dates):
            raise QueryError("two attributes with different values are compared", fix=LIKE_WITH_LIKE)
        case _:
            return compared(sign, day_in(left).days, day_in(right, name).days)


def _with_words(sign: Sign, left: Value, right: Value) -> Truth:
    if isinstance(right, Plain) and not isinstance(right.attribute.values, Categories):
        raise QueryError(f"{right.attribute.name} is compared with a text", fix=values_of(right.attribute))
    if not isinstance(right, Words | Plain):
        raise QueryError("a text is compared with something else", fix="put the word in quotes")
    a, b = words_in(left), words_in(right)
    if a.place is None and b.place is None:
        raise QueryError("two words are compared with each other", fix="compare an attribute with a word")
    if sign not in UNORDERED:
        raise QueryError("texts have no order", fix="compare with = or in")
    numbered = {word: place for place, word in enumerate(dict.fromkeys((*a.words, *b.words))) if word is not None}
    one, other = (measured(side, numbered.__getitem__) for side in (a, b))
    return NumberComparison(sign, one, other)


def _require_order(sign: Sign, attribute: Attribute) -> None:
    if sign not in UNORDERED and not attribute.values.ordered:
        raise QueryError(f"the values of {attribute.name} have no order", fix="compare with = or in")
