"""The tests behind secrets: small frozen functions of a dataset, so that equal secrets compare equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from tetraodon.errors import DomainError
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.rational import decimal_text, rational

Statement: TypeAlias = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Interval:
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
    interval: Interval
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
    interval: Interval

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
