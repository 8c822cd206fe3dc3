"""Pairs of secrets that attackers must not distinguish: listed, and in families."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tetraodon.errors import DomainError, PolicyError
from tetraodon.exact.arrays import Bools, Ints
from tetraodon.exact.rational import decimal_text, rational
from tetraodon.policy.secret_graph import ABSENT, SecretGraph
from tetraodon.pufferfish.world import Dataset, Metric, Secret, World, value_of

# -- pair -------------------------------------------------------------------------------------------


class Pair(NamedTuple):
    """Two statements that cannot both be true; perhaps neither is ([KM12] section 3)."""

    first: Secret
    second: Secret

    @property
    def text(self) -> str:
        return f"“{self.first.text}” and “{self.second.text}”"

    @property
    def about(self) -> frozenset[int] | None:
        """The only individuals whose records decide either statement; None when anybody's may."""
        one, other = self.first.about, self.second.about
        return None if one is None or other is None else one | other


@dataclass(frozen=True)
class SecretPairs:
    """A collection of pairs; `|` joins two. What it means is decided by the world it is asked about."""

    def on(self, world: World) -> tuple[Pair, ...]:
        """The pairs of this collection in a world."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        """What is protected, in words."""
        raise NotImplementedError

    def __or__(self, other: SecretPairs) -> SecretPairs:
        return Union(self, other)


@dataclass(frozen=True)
class Explicit(SecretPairs):
    """Pairs written out one by one."""

    pairs: tuple[Pair, ...]

    def __repr__(self) -> str:
        return f"Explicit({self.text})"

    def on(self, world: World) -> tuple[Pair, ...]:  # noqa: ARG002 - the same in every world
        return self.pairs

    @property
    def text(self) -> str:
        if len(self.pairs) == 1:
            return self.pairs[0].text
        return f"{len(self.pairs)} listed pairs of secrets"


@dataclass(frozen=True)
class Union(SecretPairs):
    """Everything that either collection protects."""

    one: SecretPairs
    other: SecretPairs

    def on(self, world: World) -> tuple[Pair, ...]:
        return tuple(dict.fromkeys((*self.one.on(world), *self.other.on(world))))

    @property
    def text(self) -> str:
        return f"{self.one.text}; and {self.other.text}"


@dataclass(frozen=True)
class Masks:
    """Pairs spelled out in a world: which datasets satisfy which secret. Numbers refer to `secrets`."""

    pairs: tuple[Pair, ...]
    masks: Bools
    first: Ints
    second: Ints


def masks_of(pairs: Iterable[Pair], world: World) -> Masks:
    """Each secret once, as a row of truth values over the world.

    Raises PolicyError when both secrets of a pair hold of one dataset, which it shows.
    """
    listed = tuple(pairs)
    numbers: dict[Secret, int] = {}
    for pair in listed:
        for secret in pair:
            numbers.setdefault(secret, len(numbers))
    for secret in numbers:
        if secret.about and not (min(secret.about) >= 0 and max(secret.about) < world.individuals):
            raise PolicyError(
                f"“{secret.text}” is about somebody who is not in this world",
                fix=f"number the individuals from 0 to {world.individuals - 1}",
            )
    masks = np.array([secret.mask(world) for secret in numbers], np.bool_).reshape(len(numbers), world.size)
    _check_about(tuple(numbers), masks, world)
    first = np.array([numbers[pair.first] for pair in listed], np.int64)
    second = np.array([numbers[pair.second] for pair in listed], np.int64)
    for pair, one, other in zip(listed, first, second, strict=True):
        both = masks[one] & masks[other]
        if both.any():
            raise PolicyError(
                f"{pair.text} are both true of the dataset {world.datasets[int(both.argmax())]!r}",
                fix="let the two secrets of a pair exclude each other, with half-open intervals for example",
            )
    return Masks(listed, masks, first, second)


def _check_about(secrets: tuple[Secret, ...], masks: Bools, world: World) -> None:
    """Refuse a statement that others decide than those it says it is about: what is proved rests on that."""
    labels: dict[frozenset[int], tuple[Ints, Ints]] = {}
    for secret, mask in zip(secrets, masks, strict=True):
        if secret.about is None:
            continue
        if secret.about not in labels:
            codes = world.codes[:, sorted(secret.about)]
            _, place, sizes = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
            labels[secret.about] = (place.reshape(-1), sizes)
        place, sizes = labels[secret.about]
        true = np.bincount(place[mask], minlength=len(sizes))
        if ((true != 0) & (true != sizes)).any():
            raise PolicyError(
                f"“{secret.text}” is decided by others than the individuals it is said to be about",
                fix="list everybody whose record matters in `about`, or leave it out",
            )


def as_pair(pair: Any) -> Pair:
    """Two secrets, however they were written."""
    if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(map(callable, map(_test, pair))):
        raise PolicyError("a pair does not hold two secrets", fix="write (Secret..., Secret...)")
    one, other = (s if isinstance(s, Secret) else Secret.that(getattr(s, "__name__", "a condition"), s) for s in pair)
    return Pair(one, other)


def _test(secret: Any) -> Any:
    return secret.test if isinstance(secret, Secret) else secret


# -- pair families ----------------------------------------------------------------------------------
# Families of pairs for all individuals and values ([KM12] Eq. 4, 6, 8-9, 12-13, 16; [HMD14] section 3.1).


@dataclass(frozen=True)
class Presence(SecretPairs):
    """Individual i is in the data with value t, or is not in the data: all i and t ([KM12] Eq. 6)."""

    def on(self, world: World) -> tuple[Pair, ...]:
        return tuple(
            Pair(Secret.value(i, value), Secret.absent(i))
            for i, options in enumerate(world.options)
            if ABSENT in options
            for value in options
            if value is not ABSENT
        )

    @property
    def text(self) -> str:
        return "whether an individual is in the data, with any value, or is not"


@dataclass(frozen=True)
class Membership(SecretPairs):
    """Individual i is in the data, or is not, whatever the value: all i ([KM12] Eq. 4, second line)."""

    def on(self, world: World) -> tuple[Pair, ...]:
        return tuple(
            Pair(Secret.present(i), Secret.absent(i))
            for i, options in enumerate(world.options)
            if ABSENT in options and len(options) > 1
        )

    @property
    def text(self) -> str:
        return "whether an individual is in the data"


@dataclass(frozen=True)
class Values(SecretPairs):
    """Which of two values individual i has: all i, t and t' ([KM12] Eq. 16, second line)."""

    def on(self, world: World) -> tuple[Pair, ...]:
        return tuple(
            Pair(Secret.value(i, x), Secret.value(i, y))
            for i, options in enumerate(world.options)
            for x, y in itertools.combinations([v for v in options if v is not ABSENT], 2)
        )

    @property
    def text(self) -> str:
        return "which of two values an individual has"


@dataclass(frozen=True)
class Edges(SecretPairs):
    """Which end of an edge an individual's record is: all individuals and edges ([HMD14] Def. 3.1)."""

    graph: SecretGraph

    def on(self, world: World) -> tuple[Pair, ...]:
        def edge(x: Any, y: Any) -> bool:
            if x is ABSENT or y is ABSENT:
                return self.graph.absent
            return self.graph.is_edge(x, y)

        return tuple(
            Pair(Secret.value(i, x), Secret.value(i, y))
            for i, options in enumerate(world.options)
            for x, y in itertools.combinations(options, 2)
            if edge(x, y)
        )

    @property
    def text(self) -> str:
        return "which end of an edge of the secret graph an individual's record is"


Shift: TypeAlias = Callable[[Fraction, int], Fraction]
"""A number moved by so many steps of the protected error, which are added or multiplied."""


@dataclass(frozen=True)
class Intervals(SecretPairs):
    """Neighbouring intervals [x-k, x+k) and [x+k, x+3k) of one attribute: all individuals and x ([KM12] Eq. 8-9)."""

    attribute: str | int | None
    k: Fraction

    def __post_init__(self) -> None:
        _check_error(self.k)

    def on(self, world: World) -> tuple[Pair, ...]:
        return _neighbouring_intervals(world, self.attribute, _adding(self.k))

    @property
    def text(self) -> str:
        return f"an individual's {self.attribute or 'value'} to within {decimal_text(self.k)}"


@dataclass(frozen=True)
class Relative(SecretPairs):
    """Neighbouring intervals [cy, y/c) and [y/c, y/c^3) of a positive attribute ([KM12] section 7.1.2).

    "Within 10%" is c = 0.9 or so, not 0.1 (docs/errata.md).
    """

    attribute: str | int | None
    c: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.c < 1:
            raise PolicyError("the relative error c is not between 0 and 1", fix="within 10% is c = 0.9")

    def on(self, world: World) -> tuple[Pair, ...]:
        def shift(number: Fraction, steps: int) -> Fraction:
            if number <= 0:
                raise DomainError("a relative error needs positive values", fix="shift them by a public constant")
            return number / self.c**steps

        return _neighbouring_intervals(world, self.attribute, shift)

    @property
    def text(self) -> str:
        return f"an individual's {self.attribute or 'value'} to within a factor {decimal_text(self.c)}"


@dataclass(frozen=True)
class Balls(SecretPairs):
    """The data is within delta of D, or between delta and 2 delta away: all D ([KM12] Eq. 12-13)."""

    metric: Metric
    delta: Fraction
    name: str = "the data"

    def __post_init__(self) -> None:
        if self.delta <= 0:
            raise PolicyError("delta is not positive", fix="write a distance above zero")

    def on(self, world: World) -> tuple[Pair, ...]:
        return _distinct(world, map(self._pair, world.datasets))

    def _pair(self, centre: Dataset) -> Pair:
        near = Secret.near(centre, self.delta, self.metric)
        return Pair(near, Secret.near(centre, 2 * self.delta, self.metric, beyond=self.delta))

    @property
    def text(self) -> str:
        return f"{self.name} to within {decimal_text(self.delta)}"


@dataclass(frozen=True)
class AggregateIntervals(SecretPairs):
    """Neighbouring intervals [x-k, x+k) and [x+k, x+3k) of an aggregate of the dataset ([KM12] section 7.2)."""

    function: Callable[[Any], Any]
    k: Fraction
    name: str

    def __post_init__(self) -> None:
        _check_error(self.k)

    def on(self, world: World) -> tuple[Pair, ...]:
        numbers = {rational(self.function(d), name="the aggregate") for d in world.datasets}
        cuts = _cuts(numbers, _adding(self.k))
        return _distinct(world, (self._pair(*cut) for cut in cuts))

    def _pair(self, low: Fraction, middle: Fraction, high: Fraction) -> Pair:
        below = Secret.aggregate(self.name, self.function, low, middle)
        return Pair(below, Secret.aggregate(self.name, self.function, middle, high))

    @property
    def text(self) -> str:
        return f"the {self.name} to within {decimal_text(self.k)}"


def _check_error(k: Fraction) -> None:
    if k <= 0:
        raise PolicyError("the absolute error k is not positive", fix="write k above zero")


def _adding(k: Fraction) -> Shift:
    return lambda number, steps: number + steps * k


def _cuts(numbers: Iterable[Fraction], shift: Shift) -> Iterator[tuple[Fraction, Fraction, Fraction]]:
    """The ends of neighbouring intervals, one step below x to three above, for every x that makes a difference.

    Why   as x moves, which of finitely many numbers fall in the two intervals changes only where a number is an end.
    """
    for x in sorted({shift(number, -steps) for number in numbers for steps in (3, 1, -1)}):
        yield shift(x, -1), shift(x, 1), shift(x, 3)


def _neighbouring_intervals(world: World, attribute: str | int | None, shift: Shift) -> tuple[Pair, ...]:
    """Every pair of neighbouring intervals that holds a value on either side, for every individual."""
    place = world.position(attribute)
    pairs = []
    for i, options in enumerate(world.options):
        values = [value_of(record, place) for record in options if record is not ABSENT]
        numbers = [rational(value, name="a record's value") for value in values]
        seen = set()
        for low, middle, high in _cuts(numbers, shift):
            below = frozenset(n for n in numbers if low <= n < middle)
            above = frozenset(n for n in numbers if middle <= n < high)
            if below and above and (below, above) not in seen:
                seen.add((below, above))
                one = Secret.between(i, low, middle, attribute=place)
                pairs.append(Pair(one, Secret.between(i, middle, high, attribute=place)))
    return tuple(pairs)


def _distinct(world: World, pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    """One pair for each way to split the world, and none with an impossible side."""
    found: dict[tuple[bytes, bytes], Pair] = {}
    for pair in pairs:
        one, other = (secret.mask(world) for secret in pair)
        if one.any() and other.any():
            found.setdefault((one.tobytes(), other.tobytes()), pair)
    return tuple(found.values())


def hamming(one: Dataset, other: Dataset) -> int:
    """How many individuals' records differ."""
    return sum(a != b for a, b in zip(one, other, strict=True))  # type: ignore[call-overload]


def l1(one: Any, other: Any) -> Fraction:
    """The sum of the differences of the individuals' numbers; a bare number is its own dataset."""
    if not isinstance(one, tuple):
        return abs(rational(one) - rational(other))
    return sum((abs(rational(a) - rational(b)) for a, b in zip(one, other, strict=True)), Fraction(0))
