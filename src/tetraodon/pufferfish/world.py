"""Worlds: the possible datasets, and statements about them that may be secret."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from tetraodon.domain import Domain
from tetraodon.errors import DomainError, Refused
from tetraodon.exact.arrays import Bools, Ints
from tetraodon.exact.rational import Number, decimal_text, rational
from tetraodon.policy.secret_graph import ABSENT

# -- world ------------------------------------------------------------------------------------------

Dataset: TypeAlias = Hashable
"""Usually a tuple with one record for each individual; anything hashable where no secret looks inside."""

WORLD_LIMIT = 1_000_000


@dataclass(frozen=True)
class World:
    """Every dataset an attacker may think possible ([KM12] section 2, the instances I).

    >>> World.product((0, 1), individuals=2).datasets
    ((0, 0), (0, 1), (1, 0), (1, 1))
    """

    datasets: tuple[Dataset, ...]
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.datasets:
            raise DomainError("the world holds no dataset", fix="list at least one possible dataset")
        if len(set(self.datasets)) != len(self.datasets):
            raise DomainError("a dataset is listed twice", fix="list each possible dataset once")

    @classmethod
    def of(cls, datasets: Iterable[Any], names: Sequence[str] = ()) -> World:
        """A world from a list; lists inside become tuples."""
        return cls(tuple(tuple(d) if isinstance(d, list) else d for d in _listed(datasets)), tuple(names))

    @classmethod
    def product(
        cls, values: Iterable[Any], *, individuals: int, absent: bool = False, names: Sequence[str] = ()
    ) -> World:
        """Every way to give each individual a value or, with `absent`, no record at all."""
        options = (*_listed(values), ABSENT) if absent else _listed(values)
        if individuals < 1:
            raise DomainError("a world needs at least one individual", fix="let `individuals` be at least 1")
        if len(options) ** individuals > WORLD_LIMIT:
            raise _too_large()
        return cls(tuple(itertools.product(options, repeat=individuals)), tuple(names))

    @classmethod
    def of_domain(cls, domain: Domain, *, individuals: int, absent: bool = False) -> World:
        """Every dataset over a declared domain; records are tuples with one value for each attribute."""
        if domain.size > WORLD_LIMIT:
            raise Refused("the domain is too large to list its datasets", fix="use fewer or coarser attributes")
        values = [domain.value(cell) for cell in range(domain.size)]
        return cls.product(values, individuals=individuals, absent=absent, names=domain.names)

    def __repr__(self) -> str:
        return f"World({self.size} datasets)"

    def __iter__(self) -> Iterator[Dataset]:
        return iter(self.datasets)

    @property
    def size(self) -> int:
        return len(self.datasets)

    @cached_property
    def index(self) -> dict[Dataset, int]:
        """The position of each dataset."""
        return {dataset: n for n, dataset in enumerate(self.datasets)}

    @cached_property
    def individuals(self) -> int:
        """How many individuals there are. Refuses worlds whose datasets are not tuples of one length."""
        lengths = {len(d) if isinstance(d, tuple) else -1 for d in self.datasets}
        if len(lengths) != 1 or min(lengths) < 1:
            raise DomainError(
                "the datasets are not tuples with one record for each individual",
                fix="write each dataset as a tuple of equal length, ABSENT for no record, or use explicit secrets",
            )
        return lengths.pop()

    @cached_property
    def options(self) -> tuple[tuple[Any, ...], ...]:
        """The records each individual can have, in order of first appearance."""
        return tuple(tuple(dict.fromkeys(d[i] for d in self._tuples)) for i in range(self.individuals))

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """The records that any individual can have, without ABSENT."""
        found = dict.fromkeys(value for options in self.options for value in options)
        return tuple(value for value in found if value is not ABSENT)

    @cached_property
    def codes(self) -> Ints:
        """For each dataset and individual, the position of the record among that individual's options."""
        places = [{value: n for n, value in enumerate(options)} for options in self.options]
        rows = [[place[record] for place, record in zip(places, d, strict=True)] for d in self._tuples]
        return np.array(rows, np.int64)

    @cached_property
    def is_product(self) -> bool:
        """Whether every combination of the individuals' options is possible."""
        return math.prod(map(len, self.options)) == self.size

    def where(self, keep: Iterable[bool]) -> World:
        """The part of the world in which something is known to hold."""
        kept = tuple(d for d, wanted in zip(self.datasets, keep, strict=True) if wanted)
        if not kept:
            raise DomainError("no dataset satisfies the constraint", fix="check the constraint")
        return World(kept, self.names)

    def position(self, attribute: str | int | None) -> int | None:
        """Where an attribute stands inside a record; None means the whole record."""
        if attribute is None or (attribute in (0, *self.names) and self._bare) or (self._bare and not self.names):
            return None
        if isinstance(attribute, int):
            return attribute
        if attribute not in self.names:
            known = ", ".join(self.names) or "no names; give the position as a number"
            raise DomainError(f"the world knows no attribute {attribute!r}", fix=f"it has: {known}")
        return self.names.index(attribute)

    @cached_property
    def _bare(self) -> bool:
        """Whether records are values of one attribute, and not tuples of several."""
        return len(self.names) <= 1 and not any(isinstance(value, tuple) for value in self.values)

    @property
    def _tuples(self) -> tuple[tuple[Any, ...], ...]:
        if self.individuals < 1:
            raise AssertionError
        return self.datasets  # type: ignore[return-value]  # `individuals` has just checked it


def _listed(items: Iterable[Any]) -> tuple[Any, ...]:
    """What an iterable holds; refused where it does not end in time, such as every whole number."""
    found = tuple(itertools.islice(items, WORLD_LIMIT + 1))
    if len(found) > WORLD_LIMIT:
        raise _too_large()
    return found


def _too_large() -> Refused:
    return Refused(
        f"this world has more than {WORLD_LIMIT:,} datasets",
        fix="take fewer individuals, or bound the values; the worst attacker is usually visible in a tiny world",
    )


def classes_of(world: World, group: frozenset[int] | None) -> Ints:
    """A label for each dataset that two share exactly when they agree outside the group."""
    if group is None:
        return np.zeros(world.size, np.int64)
    outside = [i for i in range(world.individuals) if i not in group]
    if not outside:
        return np.zeros(world.size, np.int64)
    label: Ints = np.unique(world.codes[:, outside], axis=0, return_inverse=True)[1].reshape(-1)
    return label


# -- secret -----------------------------------------------------------------------------------------
# Statements about a dataset that an attacker may want to decide ([KM12] section 3, potential secrets).
#
# Their tests are small frozen functions of a dataset, so that equal secrets compare equal.

Statement: TypeAlias = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class HalfOpen:
    """Numbers from `low`, included, to `high`, excluded: neighbours share no number."""

    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        if self.low >= self.high:
            raise DomainError("an interval is empty", fix="write the smaller end first")

    def __contains__(self, value: Any) -> bool:
        return value is not ABSENT and self.low <= rational(value, name="a record's value") < self.high

    @property
    def text(self) -> str:
        return f"[{decimal_text(self.low)}, {decimal_text(self.high)})"


def value_of(record: Any, attribute: int | None) -> Any:
    """A record, or one attribute of it; an absent record is ABSENT in every attribute."""
    return record if attribute is None or record is ABSENT else record[attribute]


@dataclass(frozen=True, slots=True)
class In:
    """The individual's record, or one attribute of it, lies in a set or an interval."""

    individual: int
    values: frozenset[Any] | HalfOpen
    attribute: int | None = None

    def __call__(self, dataset: Any) -> bool:
        return value_of(dataset[self.individual], self.attribute) in self.values


@dataclass(frozen=True, slots=True)
class Agree:
    first: int
    second: int
    attribute: int | None = None

    def __call__(self, dataset: Any) -> bool:
        one, other = (value_of(dataset[individual], self.attribute) for individual in (self.first, self.second))
        return one is not ABSENT and other is not ABSENT and bool(one == other)


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


def shown(value: Any) -> str:
    """A dataset, record or output for reading: exact numbers as people write them.

    >>> shown((Fraction(1, 2), "cancer", (Fraction(2),)))
    "(0.5, 'cancer', (2,))"
    """
    if isinstance(value, Fraction):
        return decimal_text(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))}{',' if len(value) == 1 else ''})"
    return repr(value)


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
        test = Not(In(individual, frozenset({ABSENT})))
        return Secret(f"individual {individual} is in the data", test, frozenset({individual}))

    @staticmethod
    def absent(individual: int) -> Secret:
        """The individual has no record in the data."""
        test = In(individual, frozenset({ABSENT}))
        return Secret(f"individual {individual} is not in the data", test, frozenset({individual}))

    @staticmethod
    def value(individual: int, value: Any) -> Secret:
        """The individual is in the data and has this record; ABSENT means not in the data."""
        if value is ABSENT:
            return Secret.absent(individual)
        test = In(individual, frozenset({value}))
        return Secret(f"individual {individual} has {value!r}", test, frozenset({individual}))

    @staticmethod
    def one_of(individual: int, values: Iterable[Any], *, attribute: int | None = None) -> Secret:
        """The individual's record, or one attribute of it, lies in a set."""
        kept = frozenset(values)
        shown = ", ".join(sorted(repr(v) for v in kept))
        what = "has one of" if attribute is None else f"has attribute {attribute} in"
        test = In(individual, kept, attribute)
        return Secret(f"individual {individual} {what} {{{shown}}}", test, frozenset({individual}))

    @staticmethod
    def between(individual: int, low: Number, high: Number, *, attribute: int | None = None) -> Secret:
        """The individual's number lies in [low, high): the upper end is not included."""
        interval = HalfOpen(rational(low, name="low"), rational(high, name="high"))
        which = "" if attribute is None else f" in attribute {attribute}"
        text = f"individual {individual} lies in {interval.text}{which}"
        return Secret(text, In(individual, interval, attribute), frozenset({individual}))

    @staticmethod
    def agree(first: int, second: int, *, attribute: int | None = None) -> Secret:
        """Two individuals are both in the data and have the same record, or the same attribute."""
        which = "" if attribute is None else f" on attribute {attribute}"
        text = f"individuals {first} and {second} agree{which}"
        return Secret(text, Agree(first, second, attribute), frozenset({first, second}))

    @staticmethod
    def aggregate(name: str, function: Callable[[Any], Any], low: Number, high: Number) -> Secret:
        """An aggregate of the whole dataset lies in [low, high): the upper end is not included."""
        interval = HalfOpen(rational(low, name="low"), rational(high, name="high"))
        return Secret(f"the {name} lies in {interval.text}", Aggregate(function, interval))

    @staticmethod
    def near(centre: Dataset, delta: Number, metric: Metric, *, beyond: Number = -1) -> Secret:
        """The dataset is within `delta` of `centre`, and farther away than `beyond` ([KM12] Eq. 12)."""
        reach, hole = rational(delta, name="delta"), rational(beyond, name="beyond")
        over = f"more than {decimal_text(hole)} and " if hole >= 0 else ""
        text = f"the data is {over}at most {decimal_text(reach)} away from {centre!r}"
        return Secret(text, Near(centre, metric, hole, reach))

    @staticmethod
    def that(text: str, predicate: Callable[[Any], bool], *, about: Iterable[int] | None = None) -> Secret:
        """Any statement, in words and as a function of the dataset."""
        return Secret(text, predicate, None if about is None else frozenset(about))
