"""The datasets that are possible: a finite list, asked for its size before it is written out."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.domain import Domain
from tetraodon.errors import DomainError, Refused
from tetraodon.policy.secret_graph import ABSENT

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
            raise DomainError("a world needs somebody in it", fix="let `individuals` be at least 1")
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
                fix="write each dataset as a tuple of equal length, ABSENT for nobody, or use explicit secrets",
            )
        return lengths.pop()

    @cached_property
    def options(self) -> tuple[tuple[Any, ...], ...]:
        """The records each individual can have, in order of first appearance."""
        return tuple(tuple(dict.fromkeys(d[i] for d in self._tuples)) for i in range(self.individuals))

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """The records anybody can have, without ABSENT."""
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
        total = 1
        for options in self.options:
            total *= len(options)
        return total == self.size

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
