"""The values of an attribute, as an ordered list that is never written out.

Every kind of value is a finite sequence; a *code* is a position in it. Nothing here costs more for a
million values than for two.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise, product
from typing import TypeAlias

from tetraodon.errors import DomainError, PolicyError
from tetraodon.exact.rational import decimal_text, rational

# -- date format ------------------------------------------------------------------------------------
# How days are written in a column of text: `DD.MM.YYYY`, `M/D/YYYY` and the like.

_TOKENS = {"YYYY": (4,), "MM": (2,), "DD": (2,), "M": (1, 2), "D": (1, 2)}
_SPLIT = re.compile("YYYY|MM|DD|M|D|[./ -]")
EXAMPLES = "DD.MM.YYYY, D.M.YYYY, DD/MM/YYYY, MM/DD/YYYY or YYYYMMDD"


@dataclass(frozen=True, slots=True)
class WrittenDay:
    """One way a day can look: how wide each part is, and where year, month and day stand, from 1, and how long."""

    pattern: str
    year: tuple[int, int]
    month: tuple[int, int]
    day: tuple[int, int]


def written_days(form: str) -> tuple[WrittenDay, ...]:
    """Every way a day can look in a format; `D` and `M` stand for one digit or two, `DD` and `MM` for two.

    Raises DomainError for what is no format. Years have four digits: two digits leave the century open.

    >>> [way.pattern for way in written_days("DD.MM.YYYY")]
    ['[0-9]{2}[.][0-9]{2}[.][0-9]{4}']
    >>> len(written_days("D/M/YYYY"))
    4
    """
    parts = _SPLIT.findall(form)
    letters = [part[0] for part in parts if part in _TOKENS]
    if "".join(parts) != form or sorted(letters) != ["D", "M", "Y"]:
        raise DomainError("the format of a date is not understood", fix=f"write {EXAMPLES}")
    joined = any(one in _TOKENS and two in _TOKENS for one, two in pairwise(parts))
    if joined and {"D", "M"} & set(parts):
        raise DomainError(
            "nothing separates parts of the date that may have one digit or two",
            fix="write DD and MM, or separate them",
        )
    return tuple(_ways(parts))


def _ways(parts: list[str]) -> Iterator[WrittenDay]:
    for widths in product(*(_TOKENS.get(part, (1,)) for part in parts)):
        places: dict[str, tuple[int, int]] = {}
        pattern, start = "", 1
        for part, width in zip(parts, widths, strict=True):
            pattern += f"[0-9]{{{width}}}" if part in _TOKENS else f"[{part}]"
            places[part[0]] = (start, width)
            start += width
        yield WrittenDay(pattern, places["Y"], places["M"], places["D"])


# -- values -----------------------------------------------------------------------------------------

Value: TypeAlias = str | int | bool | Fraction | dt.date
"""One value of one attribute."""


@dataclass(frozen=True, slots=True)
class TreeLevel:
    """A level of a tree of categories: `of` names the branch that each of them belongs to."""

    name: str
    of: tuple[str, ...]

    @property
    def branches(self) -> tuple[str, ...]:
        """Their names, in the order in which they come."""
        return tuple(dict.fromkeys(self.of))

    @property
    def places(self) -> tuple[int, ...]:
        """For every category the place of its branch among `branches`."""
        place = {name: number for number, name in enumerate(self.branches)}
        return tuple(place[name] for name in self.of)


class Kind:
    """A kind of values. What it does not say is that of ranked values: numbers from 0, one apart."""

    __slots__ = ()

    @property
    def step(self) -> Fraction:
        """The distance between one value and the next."""
        return Fraction(1)

    def value(self, code: int) -> Value:
        """The value at a position."""
        raise NotImplementedError

    def number(self, code: int) -> Fraction:
        """The value at a position as a number."""
        return Fraction(code)

    def text(self, code: int) -> str:
        """The value at a position, as a person writes it."""
        return str(self.value(code))


@dataclass(frozen=True, slots=True)
class Categories(Kind):
    """Named values; with `ordered`, their order means something (`low < middle < high`).

    With `levels`, they are the leaves of a tree; the coarsest level comes first.
    """

    labels: tuple[str, ...]
    ordered: bool = False
    levels: tuple[TreeLevel, ...] = ()
    codes: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.labels:
            raise DomainError("a list of categories is empty", fix="list at least one category")
        object.__setattr__(self, "codes", {label: code for code, label in enumerate(self.labels)})
        if len(self.codes) != len(self.labels):
            twice = min(label for label, times in Counter(self.labels).items() if times > 1)
            raise DomainError(f"category {twice!r} is listed twice", fix="list each one once")

    @property
    def size(self) -> int:
        return len(self.labels)

    def code(self, value: object) -> int:
        try:
            return self.codes[value if isinstance(value, str) else label_text(value)]
        except (KeyError, ValueError):
            raise _outside() from None

    def value(self, code: int) -> Value:
        return self.labels[code]


@dataclass(frozen=True, slots=True)
class Booleans(Kind):
    """False, then True."""

    size: int = 2
    ordered: bool = False

    def code(self, value: object) -> int:
        if isinstance(value, bool):
            return int(value)
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return int(value.lower() == "true")
        raise _outside()

    def value(self, code: int) -> Value:
        return bool(code)

    def text(self, code: int) -> str:
        return "true" if code else "false"


@dataclass(frozen=True, slots=True)
class Integers(Kind):
    """Every integer from `low` to `high`, both included."""

    low: int
    high: int
    ordered: bool = True

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise DomainError(f"the range [{self.low}, {self.high}] is empty", fix="write the smaller end first")

    @property
    def size(self) -> int:
        return self.high - self.low + 1

    def code(self, value: object) -> int:
        number = value if type(value) is int else number_of(value)
        if number.denominator != 1 or not self.low <= number <= self.high:
            raise _outside()
        return int(number) - self.low

    def value(self, code: int) -> Value:
        return self.low + code

    def number(self, code: int) -> Fraction:
        return Fraction(self.low + code)


@dataclass(frozen=True, slots=True)
class Grid:
    """Real numbers rounded to `low`, `low + step`, ... up to `high`. They are exact: a float means its decimal form.

    >>> Grid(0, "0.3", 0.1) == Grid(Fraction(0), Fraction(3, 10), Fraction(1, 10))
    True
    """

    low: Fraction
    high: Fraction
    step: Fraction
    ordered: bool = True
    size: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("low", "high", "step"):
            object.__setattr__(self, name, rational(getattr(self, name), name=name))
        if self.step <= 0:
            raise DomainError("the step of a grid is not positive", fix="write a step above zero")
        if self.low > self.high:
            raise DomainError("the real range is empty", fix="write the smaller end first")
        if (self.high - self.low) % self.step:
            raise DomainError(
                "the range is not a whole number of steps",
                fix="choose a step that divides the distance between the two ends",
            )
        object.__setattr__(self, "size", int((self.high - self.low) / self.step) + 1)

    def code(self, value: object) -> int:
        number = number_of(value)
        if not self.low <= number <= self.high:
            raise _outside()
        return math.floor((number - self.low) / self.step + Fraction(1, 2))

    def value(self, code: int) -> Value:
        return self.low + code * self.step

    def number(self, code: int) -> Fraction:
        return self.low + code * self.step

    def text(self, code: int) -> str:
        return decimal_text(self.number(code))


@dataclass(frozen=True, slots=True)
class Dates(Kind):
    """Every day from `first` to `last`, both included."""

    first: dt.date
    last: dt.date
    ordered: bool = True

    def __post_init__(self) -> None:
        if self.first > self.last:
            raise DomainError("the range of dates is empty", fix="write the earlier day first")

    @property
    def size(self) -> int:
        return (self.last - self.first).days + 1

    def code(self, value: object) -> int:
        if isinstance(value, dt.datetime):
            value = value.date()
        if isinstance(value, str):
            try:
                value = dt.date.fromisoformat(value)
            except ValueError:
                raise _outside() from None
        if not isinstance(value, dt.date) or not self.first <= value <= self.last:
            raise _outside()
        return (value - self.first).days

    def value(self, code: int) -> Value:
        return self.first + dt.timedelta(days=code)


Values: TypeAlias = Categories | Booleans | Integers | Grid | Dates


def label_text(value: object) -> str:
    """How a category is spelt: the text of what the curator typed."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Fraction):
        return decimal_text(value)
    return str(value)


def number_of(value: object) -> Fraction:
    """The number that was given or written."""
    try:
        return rational(value)  # type: ignore[arg-type]  # refusing the other types is its task
    except PolicyError:
        raise _outside() from None


def _outside() -> DomainError:
    return DomainError(
        "a value is not in the domain of its attribute", fix="use a value that the policy's `attributes` list"
    )
