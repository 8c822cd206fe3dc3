"""The typed parts of a condition: attributes, exact numbers, texts, dates, and comparisons between them."""

from __future__ import annotations

import datetime as dt
import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
    Arithmetic,
    Choice,
    Code,
    Constant,
    Extreme,
    Junction,
    Lookup,
    Negation,
    NumberComparison,
    Operation,
    Reading,
    Sign,
    Sizes,
    Truth,
    Unknown,
    Whole,
    as_number,
    is_one,
    numbers,
)

# -- numbers ----------------------------------------------------------------------------------------
# Exact numbers in conditions: every one is a whole number over another, so that nothing is ever rounded.

FOLDED: Final[dict[Operation, Callable[[int, int], int]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "%": lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1),
}
TURNED: Final[dict[Sign, Sign]] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
ONE: Final = Constant(1)
POWERS = 16
"""The largest exponent."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """`over` / `under`, where `under` is above 0, and unknown only where `over` is."""

    over: Whole
    under: Whole = ONE

    @property
    def sizes(self) -> Sizes:
        return self.over.sizes | self.under.sizes

    @property
    def constant(self) -> Fraction | None:
        """Its value, if it is the same for every record."""
        if isinstance(self.over, Constant) and isinstance(self.under, Constant) and self.over.number is not None:
            return Fraction(self.over.number, self.under.number)
        return None


def number(value: Fraction | int) -> Ratio:
    """A number that is always the same."""
    exact = Fraction(value)
    return Ratio(Constant(exact.numerator), Constant(exact.denominator))


NULL: Final = Ratio(Constant(None))


def whole(operation: Operation, left: Whole, right: Whole) -> Whole:
    """An operation on whole numbers, computed at once where both are known.

    >>> whole("//", Constant(-7), Constant(2)), whole("%", Constant(-7), Constant(2)), whole("%", ONE, Constant(0))
    (Constant(number=-3), Constant(number=-1), Constant(number=None))
    """
    if isinstance(left, Constant) and isinstance(right, Constant):
        if left.number is None or right.number is None or (operation in ("//", "%") and right.number == 0):
            return Constant(None)
        return Constant(FOLDED[operation](left.number, right.number))
    if (operation in ("+", "-") and right == Constant(0)) or (operation in ("*", "//") and right == ONE):
        return left
    if (operation == "+" and left == Constant(0)) or (operation == "*" and left == ONE):
        return right
    return Arithmetic(operation, left, right)


def added(left: Ratio, right: Ratio, operation: Operation = "+") -> Ratio:
    """The sum of two numbers, or with "-" or "%" their difference or what division leaves."""
    (a, b), under = _common([left, right])
    return Ratio(whole(operation, a, b), under)


def multiplied(left: Ratio, right: Ratio) -> Ratio:
    """The product of two numbers."""
    return Ratio(whole("*", left.over, right.over), whole("*", left.under, right.under))


def divided(left: Ratio, right: Ratio) -> Ratio:
    """The exact quotient; unknown where the second number is 0."""
    over, under = whole("*", left.over, right.under), whole("*", right.over, left.under)
    if isinstance(under, Constant):
        if not under.number:
            return NULL
        sign: Whole = Constant(1 if under.number > 0 else -1)
    else:
        zero = Constant(0)
        cases = (NumberComparison("<", under, zero), NumberComparison(">", under, zero))
        sign = Choice(cases, (Constant(-1), ONE, Constant(None)))
    return Ratio(whole("*", over, sign), whole("*", under, sign))


def cut_off(left: Ratio, right: Ratio) -> Ratio:
    """The whole part of a quotient, towards 0."""
    (a, b), _ = _common([left, right])
    return Ratio(whole("//", a, b))


def power(base: Ratio, exponent: Ratio) -> Ratio:
    """A number multiplied with itself."""
    times = exponent.constant
    if times is None or times.denominator != 1 or not 0 <= times <= POWERS:
        raise QueryError("this power is not offered", fix=f"use a whole exponent from 0 to {POWERS}")
    found = number(1)
    for _ in range(int(times)):
        found = multiplied(found, base)
    return found


def floor(one: Ratio) -> Ratio:
    """The largest whole number that is not above."""
    least = whole("//", one.over, one.under)
    below = NumberComparison("<", whole("%", one.over, one.under), Constant(0))
    return Ratio(Choice((below,), (whole("-", least, ONE), least)))


def negative(one: Ratio) -> Ratio:
    """The number with the other sign."""
    return Ratio(whole("-", Constant(0), one.over), one.under)


def absolute(one: Ratio) -> Ratio:
    """The number without its sign."""
    return extreme([one, negative(one)], True)


def rounded(one: Ratio, decimals: Ratio | None = None) -> Ratio:
    """The nearest number with so many decimals; halves go away from 0."""
    places = Fraction(0) if decimals is None else decimals.constant
    if places is None or places.denominator != 1 or not 0 <= places <= POWERS:
        raise QueryError("this rounding is not offered", fix=f"round to a whole number of decimals, 0 to {POWERS}")
    scale = number(10 ** int(places))
    half = chosen([NumberComparison("<", one.over, Constant(0))], [number(Fraction(-1, 2)), number(Fraction(1, 2))])
    return divided(cut_off(added(multiplied(one, scale), half), number(1)), scale)


def extreme(numbers: Sequence[Ratio], largest: bool) -> Ratio:
    """The least of the known numbers, or the largest."""
    overs, under = _common(numbers)
    return Ratio(Extreme(largest, tuple(overs)), under)


def chosen(conditions: Sequence[Truth], numbers: Sequence[Ratio]) -> Ratio:
    """The number of the first condition that is true, or the last number."""
    if all(isinstance(one.under, Constant) for one in numbers):
        overs, under = _common(numbers)
        return Ratio(Choice(tuple(conditions), tuple(overs)), under)
    overs, unders = [one.over for one in numbers], [one.under for one in numbers]
    return Ratio(Choice(tuple(conditions), tuple(overs)), Choice(tuple(conditions), tuple(unders)))


def compared(sign: Sign, left: Ratio, right: Ratio) -> Truth:
    """The comparison of two numbers as one of whole numbers.

    >>> from tetraodon.query.condition.nodes import Code
    >>> compared("<", Ratio(Code(0, 9), Constant(10)), number(Fraction("0.25")))    # tenths: below 2.5
    NumberComparison(sign='<', left=Code(place=0, size=9), right=Constant(number=3))
    """
    if left.constant is not None and right.constant is None:
        return compared(TURNED[sign], right, left)
    if right.constant is not None and isinstance(left.under, Constant):
        return _with_constant(sign, left.over, right.constant * (left.under.number or 1))
    (a, b), _ = _common([left, right])
    return NumberComparison(sign, a, b)


def _with_constant(sign: Sign, left: Whole, right: Fraction) -> Truth:
    """A whole number compared with a fraction: the whole number next to it will do, and none far away is needed."""
    match left:
        case Arithmetic("+", inner, Constant(shift)) if shift is not None:
            return _with_constant(sign, inner, right - shift)
        case _:
            limit = left.bound + 1
            if right.denominator != 1 and sign in ("=", "<>"):
                right = Fraction(limit)  # nothing is equal to it
            near = math.ceil(right) if sign in ("<", ">=") else math.floor(right)
            return NumberComparison(sign, left, Constant(min(max(near, -limit), limit)))


def _common(numbers: Sequence[Ratio]) -> tuple[list[Whole], Whole]:
    """The numbers over one denominator."""
    unders = [one.under for one in numbers]
    if all(isinstance(under, Constant) for under in unders):
        fixed = [under.number or 1 for under in unders if isinstance(under, Constant)]
        common = math.lcm(*fixed)
        shares = [Constant(common // under) for under in fixed]
        return [whole("*", one.over, share) for one, share in zip(numbers, shares, strict=True)], Constant(common)
    if len(numbers) != 2:
        raise QueryError("several quotients are not compared at once", fix="divide by a number, or compare two by two")
    left, right = numbers
    overs = [whole("*", left.over, right.under), whole("*", right.over, left.under)]
    return overs, whole("*", left.under, right.under)


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
TRUTHS: Final = (Always, NumberComparison, Junction, Negation, Unknown, Reading)


@dataclass(frozen=True, slots=True)
class Plain:
    """An attribute that has not met what it is compared with yet."""

    attribute: Attribute
    place: int

    @property
    def code(self) -> Whole:
        """Its code; missing values that stand apart are unknown."""
        if self.attribute.separate:
            return Lookup(self.place, (*range(self.attribute.missing), None))
        return Code(self.place, self.attribute.size)

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

    days: Whole

    @property
    def sizes(self) -> Sizes:
        return self.days.sizes


@dataclass(frozen=True, slots=True)
class Span:
    """A number of days."""

    days: Ratio

    @property
    def sizes(self) -> Sizes:
        return self.days.sizes


@dataclass(frozen=True, slots=True)
class Nothing:
    """NULL, which is unknown whatever it is taken for."""

    sizes: ClassVar[Sizes] = frozenset()


Value: TypeAlias = Plain | Ratio | Words | Day | Span | Nothing | Truth


def number_in(value: Value) -> Ratio:
    """A value as a number."""
    match value:
        case Ratio():
            return value
        case Nothing():
            return NULL
        case Plain(attribute) if attribute.adds_up:
            first, step = attribute.number(0), attribute.step
            under = math.lcm(first.denominator, step.denominator)
            scaled = whole("*", value.code, Constant(int(step * under)))
            return Ratio(whole("+", scaled, Constant(int(first * under))), Constant(under))
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
        case Plain() | Ratio() | Words() | Day() | Span():
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
            return Day(whole("+", value.code, Constant(first.toordinal())))
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
        case Ratio():
            return _tabled_numbers(value, decimal_text)
        case Day(days):
            return _tabled_numbers(Ratio(days), lambda day: date_at(day).isoformat())
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


def _tabled_numbers(one: Ratio, written: Callable[[Fraction], str]) -> Words:
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
        case Plain() | Ratio():
            return compared(sign, number_in(left), _number_or_word(right))
        case Span():
            raise QueryError("a number of days is compared", fix="add it to a date")
        case _:
            return _with_truth(sign, left, right)


def _constant(value: Value) -> Fraction | str | None:
    match value:
        case Words((word,), None):
            return word
        case Ratio():
            return value.constant
        case _:
            return None


def _number_or_word(value: Value) -> Ratio:
    if isinstance(value, Words) and value.place is None and value.words[0] is not None:
        return number(read_number(value.words[0]))
    if isinstance(value, TRUTHS):
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
        case Plain(attribute), Ratio() | Words() | Day() | Span():
            raise QueryError(f"{attribute.name} is not a number", fix=values_of(attribute))
    if sign not in UNORDERED:
        raise QueryError("true and false have no order", fix="use = or <>")
    return NumberComparison(sign, as_number(truth_in(left)), as_number(truth_in(right)))


def _with_day(sign: Sign, left: Value, right: Value) -> Truth:
    name, fix = "a date", "compare it with a date such as '2020-01-31'"
    if isinstance(left, Plain):
        name, fix = left.attribute.name, values_of(left.attribute)
    match right:
        case Ratio():
            raise QueryError(f"{name} is not a number", fix=fix)
        case Plain(attribute) if attribute.numeric:
            raise QueryError(f"{name} is not a number", fix=fix)
        case Plain(attribute) if not isinstance(attribute.values, Dates):
            raise QueryError("two attributes with different values are compared", fix=LIKE_WITH_LIKE)
        case _:
            return compared(sign, Ratio(day_in(left).days), Ratio(day_in(right, name).days))


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
