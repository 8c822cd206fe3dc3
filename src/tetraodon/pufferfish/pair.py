"""Pairs of secrets that attackers must not distinguish, and which datasets of a world satisfy them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tetraodon.errors import PolicyError
from tetraodon.exact.arrays import Bools, Ints
from tetraodon.pufferfish.world import Secret, World


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
