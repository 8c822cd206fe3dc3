"""Pairs of secrets that attackers must not distinguish: `td.pufferfish.pairs`, one function for each family.

[KM12] Eq. 4, 6, 8-9, 12-13, 16; [HMD14] section 3.1.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tetraodon.errors import DomainError, PolicyError
from tetraodon.exact.arrays import Bools, Ints
from tetraodon.exact.rational import Number, decimal_text, rational
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import ABSENT, SecretGraph
from tetraodon.pufferfish.world import Dataset, Metric, Secret, World, value_of

__all__ = [
    "Pair",
    "SecretPairs",
    "aggregate",
    "all_values",
    "balls",
    "explicit",
    "graph",
    "hamming",
    "intervals",
    "l1",
    "membership",
    "presence",
    "relative",
    "values",
]


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
    """A collection of pairs, spelled out by each world; `|` joins two.

    `text` says what is protected. `spell_out(world, *arguments)` gives the pairs.
    """

    text: str
    spell_out: Callable[..., Iterable[Pair]] = field(repr=False)
    arguments: tuple[Any, ...] = field(default=(), repr=False)

    def on(self, world: World) -> tuple[Pair, ...]:
        """The pairs of this collection in a world."""
        return tuple(self.spell_out(world, *self.arguments))

    def __or__(self, other: SecretPairs) -> SecretPairs:
        return SecretPairs(f"{self.text}; and {other.text}", _union, (self, other))


def _union(world: World, one: SecretPairs, other: SecretPairs) -> Iterable[Pair]:
    return dict.fromkeys((*one.on(world), *other.on(world)))


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


# -- families ---------------------------------------------------------------------------------------


def presence() -> SecretPairs:
    """In the data with value t, or not in the data, for every individual and t ([KM12] Eq. 6)."""
    return SecretPairs("whether an individual is in the data, with any value, or is not", _present_with_value)


def _present_with_value(world: World) -> Iterator[Pair]:
    for i, options in enumerate(world.options):
        if ABSENT in options:
            yield from (Pair(Secret.value(i, value), Secret.absent(i)) for value in options if value is not ABSENT)


def membership() -> SecretPairs:
    """In the data or not, for every individual ([KM12] Eq. 4, second line)."""
    return SecretPairs("whether an individual is in the data", _present_or_absent)


def _present_or_absent(world: World) -> Iterator[Pair]:
    for i, options in enumerate(world.options):
        if ABSENT in options and len(options) > 1:
            yield Pair(Secret.present(i), Secret.absent(i))


def all_values() -> SecretPairs:
    """Value t or value t', for every individual; presence is not protected ([HMD14] the full domain)."""
    return SecretPairs("which of two values an individual has", _two_values, (_both_present,))


def values() -> SecretPairs:
    """Value t or value t', and presence where the world allows absence ([KM12] Eq. 16)."""
    return presence() | all_values()


def graph(secrets: Policy | SecretGraph) -> SecretPairs:
    """The edges of a Blowfish secret graph, for every individual ([HMD14] Def. 3.1)."""
    if isinstance(secrets, Policy):
        secrets = secrets.graph
    if not isinstance(secrets, SecretGraph):
        raise PolicyError("there is no secret graph here", fix="give a Policy or a SecretGraph")
    text = "which end of an edge of the secret graph an individual's record is"
    return SecretPairs(text, _edges, (secrets,))


def _edges(world: World, secrets: SecretGraph) -> Iterator[Pair]:
    def edge(x: Any, y: Any) -> bool:
        return secrets.is_edge(x, y) if _both_present(x, y) else secrets.absent

    return _two_values(world, edge)


def _both_present(x: Any, y: Any) -> bool:
    return x is not ABSENT and y is not ABSENT


def _two_values(world: World, apart: Callable[[Any, Any], bool]) -> Iterator[Pair]:
    for i, options in enumerate(world.options):
        for x, y in itertools.combinations(options, 2):
            if apart(x, y):
                yield Pair(Secret.value(i, x), Secret.value(i, y))


def explicit(listed: Iterable[tuple[Secret, Secret]]) -> SecretPairs:
    """Pairs written out one by one."""
    pairs = tuple(as_pair(pair) for pair in listed)
    if not pairs:
        raise PolicyError("no pair is listed, so nothing would be protected", fix="list at least one pair")
    return listed_pairs(pairs)


def listed_pairs(pairs: tuple[Pair, ...]) -> SecretPairs:
    """The same for pairs that were checked; perhaps none."""
    return SecretPairs(pairs[0].text if len(pairs) == 1 else f"{len(pairs)} listed pairs of secrets", _listed, pairs)


def _listed(world: World, *pairs: Pair) -> tuple[Pair, ...]:  # noqa: ARG001 - the same in every world
    return pairs


# -- intervals --------------------------------------------------------------------------------------

Shift: TypeAlias = Callable[[Fraction, int], Fraction]
"""A number moved by so many steps of the protected error, which are added or multiplied."""


def intervals(attribute: str | int | None = None, *, k: Number) -> SecretPairs:
    """Neighbouring intervals [x-k, x+k) and [x+k, x+3k): no number is inferred to within k ([KM12] Eq. 8-9)."""
    error = _positive_error(k)
    text = f"an individual's {attribute or 'value'} to within {decimal_text(error)}"
    return SecretPairs(text, _neighbouring_intervals, (attribute, _adding, error))


def relative(attribute: str | int | None = None, *, c: Number) -> SecretPairs:
    """Neighbouring intervals [cy, y/c) and [y/c, y/c^3) of positive numbers ([KM12] section 7.1.2).

    Within 10% is c = 0.9 or so, not 0.1 (docs/errata.md).
    """
    factor = rational(c, name="c")
    if not 0 < factor < 1:
        raise PolicyError("the relative error c is not between 0 and 1", fix="within 10% is c = 0.9")
    text = f"an individual's {attribute or 'value'} to within a factor {decimal_text(factor)}"
    return SecretPairs(text, _neighbouring_intervals, (attribute, _multiplying, factor))


def balls(metric: Metric | None = None, *, delta: Number) -> SecretPairs:
    """Within delta of D, or between delta and 2 delta away, for every dataset D ([KM12] Eq. 12-13)."""
    reach = rational(delta, name="delta")
    if reach <= 0:
        raise PolicyError("delta is not positive", fix="write a distance above zero")
    return SecretPairs(f"the data to within {decimal_text(reach)}", _near_or_farther, (metric or l1, reach))


def aggregate(function: Callable[[Any], Any] = sum, *, k: Number, name: str = "total") -> SecretPairs:
    """Neighbouring intervals of width 2k of an aggregate of the whole dataset ([KM12] section 7.2)."""
    error = _positive_error(k)
    return SecretPairs(f"the {name} to within {decimal_text(error)}", _aggregate_intervals, (function, error, name))


def _positive_error(k: Number) -> Fraction:
    error = rational(k, name="k")
    if error <= 0:
        raise PolicyError("the absolute error k is not positive", fix="write k above zero")
    return error


def _adding(error: Fraction) -> Shift:
    return lambda number, steps: number + steps * error


def _multiplying(factor: Fraction) -> Shift:
    def shift(number: Fraction, steps: int) -> Fraction:
        if number <= 0:
            raise DomainError("a relative error needs positive values", fix="shift them by a public constant")
        return number / factor**steps

    return shift


def _cuts(numbers: Iterable[Fraction], shift: Shift) -> Iterator[tuple[Fraction, Fraction, Fraction]]:
    """The ends of neighbouring intervals, one step below x to three above, for every x that makes a difference.

    Why   as x moves, which of finitely many numbers fall in the two intervals changes only where a number is an end.
    """
    for x in sorted({shift(number, -steps) for number in numbers for steps in (3, 1, -1)}):
        yield shift(x, -1), shift(x, 1), shift(x, 3)


def _neighbouring_intervals(
    world: World, attribute: str | int | None, shift_by: Callable[[Fraction], Shift], error: Fraction
) -> Iterator[Pair]:
    """Every pair of neighbouring intervals that holds a value on either side, for every individual."""
    place = world.position(attribute)
    for i, options in enumerate(world.options):
        records = [value_of(record, place) for record in options if record is not ABSENT]
        numbers = [rational(value, name="a record's value") for value in records]
        seen = set()
        for low, middle, high in _cuts(numbers, shift_by(error)):
            below = frozenset(n for n in numbers if low <= n < middle)
            above = frozenset(n for n in numbers if middle <= n < high)
            if below and above and (below, above) not in seen:
                seen.add((below, above))
                one = Secret.between(i, low, middle, attribute=place)
                yield Pair(one, Secret.between(i, middle, high, attribute=place))


def _near_or_farther(world: World, metric: Metric, delta: Fraction) -> Iterable[Pair]:
    balls = (
        Pair(Secret.near(centre, delta, metric), Secret.near(centre, 2 * delta, metric, beyond=delta))
        for centre in world.datasets
    )
    return _distinct(world, balls)


def _aggregate_intervals(world: World, function: Callable[[Any], Any], error: Fraction, name: str) -> Iterable[Pair]:
    numbers = {rational(function(dataset), name="the aggregate") for dataset in world.datasets}
    neighbouring = (
        Pair(Secret.aggregate(name, function, low, middle), Secret.aggregate(name, function, middle, high))
        for low, middle, high in _cuts(numbers, _adding(error))
    )
    return _distinct(world, neighbouring)


def _distinct(world: World, pairs: Iterable[Pair]) -> Iterable[Pair]:
    """One pair for each way to split the world, and none with an impossible side."""
    found: dict[tuple[bytes, bytes], Pair] = {}
    for pair in pairs:
        one, other = (secret.mask(world) for secret in pair)
        if one.any() and other.any():
            found.setdefault((one.tobytes(), other.tobytes()), pair)
    return found.values()


def hamming(one: Dataset, other: Dataset) -> int:
    """How many individuals' records differ."""
    return sum(a != b for a, b in zip(one, other, strict=True))  # type: ignore[call-overload]


def l1(one: Any, other: Any) -> Fraction:
    """The sum of the differences of the individuals' numbers; a bare number is its own dataset."""
    if not isinstance(one, tuple):
        return abs(rational(one) - rational(other))
    return sum((abs(rational(a) - rational(b)) for a, b in zip(one, other, strict=True)), Fraction(0))
