"""What the parts of a condition stand for: an attribute, a number, words, a date, or something true or false."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, TypeAlias

from tetraodon.domain import Attribute, Booleans, Categories, Dates
from tetraodon.domain.values import number_of
from tetraodon.errors import DomainError, QueryError, did_you_mean
from tetraodon.workload.condition.nodes import (
    Always,
    Code,
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
    is_one,
)
from tetraodon.workload.condition.numbers import NULL, Ratio, whole

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
