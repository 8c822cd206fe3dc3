"""Statements about a dataset that an attacker may want to decide ([KM12] section 3, potential secrets).

Their tests are small frozen functions of a dataset, so that equal secrets compare equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from tetraodon.arrays import Bools
from tetraodon.errors import DomainError
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.pufferfish.world import Dataset, World
from tetraodon.rational import Number, decimal_text, rational

Statement: TypeAlias = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class HalfOpen:
    """Numbers from `low`, included, to `high`, excluded: neighbours share no number."""

    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        if self.low >= self.high:
            raise DomainError("an interval is empty", fix="write the smaller end first")

    def __contains__(self, number: Fraction) -> bool:
        return self.low <= number < self.high

    @property
    def text(self) -> str:
        return f"[{number_text(self.low)}, {number_text(self.high)})"


@dataclass(frozen=True, slots=True)
class Present:
    individual: int

    def __call__(self, dataset: Any) -> bool:
        return dataset[self.individual] is not ABSENT


@dataclass(frozen=True, slots=True)
class OneOf:
    individual: int
    values: frozenset[Any]
    attribute: int | None = None

    def __call__(self, dataset: Any) -> bool:
        record = dataset[self.individual]
        return (record if self.attribute is None or record is ABSENT else record[self.attribute]) in self.values


@dataclass(frozen=True, slots=True)
class WithinInterval:
    individual: int
    interval: HalfOpen
    attribute: int | None = None

    def __call__(self, dataset: Any) -> bool:
        number = number_of(dataset[self.individual], self.attribute)
        return number is not None and number in self.interval


@dataclass(frozen=True, slots=True)
class Agree:
    first: int
    second: int
    attribute: int | None = None

    def __call__(self, dataset: Any) -> bool:
        one, other = dataset[self.first], dataset[self.second]
        if one is ABSENT or other is ABSENT:
            return False
        return bool(one == other if self.attribute is None else one[self.attribute] == other[self.attribute])


@dataclass(frozen=True, slots=True)
class Aggregate:
    function: Callable[[Any], Any]
    interval: HalfOpen

    def __call__(self, dataset: Any) -> bool:
        return rational(self.function(dataset), name="the aggregate") in self.interval


@dataclass(frozen=True, slots=True)
class Near:
    """beyond < metric(dataset, centre) <= reach."""

    centre: Any
    metric: Callable[[Any, Any], Any]
    beyond: Fraction
    reach: Fraction

    def __call__(self, dataset: Any) -> bool:
        return self.beyond < rational(self.metric(dataset, self.centre), name="the distance") <= self.reach


@dataclass(frozen=True, slots=True)
class Is:
    dataset: Any

    def __call__(self, dataset: Any) -> bool:
        return bool(dataset == self.dataset)


@dataclass(frozen=True, slots=True)
class Not:
    test: Statement

    def __call__(self, dataset: Any) -> bool:
        return not self.test(dataset)


@dataclass(frozen=True, slots=True)
class And:
    first: Statement
    second: Statement

    def __call__(self, dataset: Any) -> bool:
        return self.first(dataset) and self.second(dataset)


def number_of(record: Any, attribute: int | None) -> Fraction | None:
    """The number in a record; nobody has none."""
    if record is ABSENT:
        return None
    return rational(record if attribute is None else record[attribute], name="a record's value")


def shown(value: Any) -> str:
    """A dataset, record or output for reading: exact numbers as people write them.

    >>> shown((Fraction(1, 2), "cancer", (Fraction(2),)))
    "(0.5, 'cancer', (2,))"
    """
    if isinstance(value, Fraction):
        return number_text(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))}{',' if len(value) == 1 else ''})"
    return repr(value)


def number_text(number: Fraction) -> str:
    """A number for reading."""
    return decimal_text(number)


Metric = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Secret:
    """A statement that is true of some datasets and false of others. It need not be true of the real one.

    `about` lists the only individuals whose records decide it; None means that anything may.

    >>> bob = Secret.value(0, "cancer")
    >>> bob.text, bob.holds(("cancer", "flu")), (~bob).text
    ("individual 0 has 'cancer'", True, "not (individual 0 has 'cancer')")
    """

    text: str
    test: Statement
    about: frozenset[int] | None = None

    def holds(self, dataset: Dataset) -> bool:
        """Whether the statement is true of a dataset."""
        return bool(self.test(dataset))

    def mask(self, world: World) -> Bools:
        """For each dataset of a world, whether the statement holds."""
        return np.array(list(map(self.test, world.datasets)), np.bool_)

    def __invert__(self) -> Secret:
        return Secret(f"not ({self.text})", Not(self.test), self.about)

    def __and__(self, other: Secret) -> Secret:
        about = None if self.about is None or other.about is None else self.about | other.about
        return Secret(f"{self.text} and {other.text}", And(self.test, other.test), about)

    @staticmethod
    def present(individual: int) -> Secret:
        """The individual's record is in the data."""
        return Secret(f"individual {individual} is in the data", Present(individual), frozenset({individual}))

    @staticmethod
    def absent(individual: int) -> Secret:
        """The individual has no record in the data."""
        test = OneOf(individual, frozenset({ABSENT}))
        return Secret(f"individual {individual} is not in the data", test, frozenset({individual}))

    @staticmethod
    def value(individual: int, value: Any) -> Secret:
        """The individual is in the data and has this record; ABSENT means not in the data."""
        if value is ABSENT:
            return Secret.absent(individual)
        test = OneOf(individual, frozenset({value}))
        return Secret(f"individual {individual} has {value!r}", test, frozenset({individual}))

    @staticmethod
    def one_of(individual: int, values: Iterable[Any], *, attribute: int | None = None) -> Secret:
        """The individual's record, or one attribute of it, lies in a set."""
        kept = frozenset(values)
        shown = ", ".join(sorted(repr(v) for v in kept))
        what = "has one of" if attribute is None else f"has attribute {attribute} in"
        return Secret(
            f"individual {individual} {what} {{{shown}}}", OneOf(individual, kept, attribute), frozenset({individual})
        )

    @staticmethod
    def between(individual: int, low: Number, high: Number, *, attribute: int | None = None) -> Secret:
        """The individual's number lies in [low, high): the upper end is not included."""
        interval = HalfOpen(rational(low, name="low"), rational(high, name="high"))
        which = "" if attribute is None else f" in attribute {attribute}"
        return Secret(
            f"individual {individual} lies in {interval.text}{which}",
            WithinInterval(individual, interval, attribute),
            frozenset({individual}),
        )

    @staticmethod
    def agree(first: int, second: int, *, attribute: int | None = None) -> Secret:
        """Two individuals are both in the data and have the same record, or the same attribute."""
        which = "" if attribute is None else f" on attribute {attribute}"
        return Secret(
            f"individuals {first} and {second} agree{which}",
            Agree(first, second, attribute),
            frozenset({first, second}),
        )

    @staticmethod
    def aggregate(name: str, function: Callable[[Any], Any], low: Number, high: Number) -> Secret:
        """An aggregate of the whole dataset lies in [low, high): the upper end is not included."""
        interval = HalfOpen(rational(low, name="low"), rational(high, name="high"))
        return Secret(f"the {name} lies in {interval.text}", Aggregate(function, interval))

    @staticmethod
    def near(centre: Dataset, delta: Number, metric: Metric, *, beyond: Number = -1) -> Secret:
        """The dataset is within `delta` of `centre`, and farther away than `beyond` ([KM12] Eq. 12)."""
        reach, hole = rational(delta, name="delta"), rational(beyond, name="beyond")
        over = f"more than {number_text(hole)} and " if hole >= 0 else ""
        return Secret(
            f"the data is {over}at most {number_text(reach)} away from {centre!r}", Near(centre, metric, hole, reach)
        )

    @staticmethod
    def that(text: str, predicate: Callable[[Any], bool], *, about: Iterable[int] | None = None) -> Secret:
        """Any statement, in words and as a function of the dataset."""
        return Secret(text, predicate, None if about is None else frozenset(about))
