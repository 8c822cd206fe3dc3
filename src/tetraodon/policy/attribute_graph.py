"""Which values of one attribute an observer must not tell apart.

An edge is what IS protected ([HMD14] section 3.1). Vertices are the codes 0..size-1 of the attribute; no
graph here is written out unless it was given pair by pair.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np

from tetraodon.arrays import Bools, Ints
from tetraodon.components import components
from tetraodon.errors import PolicyError

INFINITE = math.inf
"""Distance between values that no chain of edges joins: nothing protects that pair."""
AT_ONCE = 2_000
"""Vertices of a block whose pairs are listed in one piece."""


class Remembering:
    """A value that remembers what it has computed, which is no part of it and is not pickled with it."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @cached_property
    def remembered(self) -> dict[Hashable, Any]:
        """What others worked out about it, under keys of their own: many measurements are certified on one graph."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True)
class Everything:
    """Any two values are a secret."""

    size: int

    @property
    def edge_count(self) -> int:
        return self.size * (self.size - 1) // 2

    def is_edge(self, x: int, y: int) -> bool:
        return x != y

    def adjacent(self, x: Ints, y: Ints) -> Bools:
        return np.asarray(x != y)

    def distance(self, x: int, y: int) -> float:
        return 0 if x == y else 1

    def components(self) -> Ints:
        return np.zeros(self.size, np.int64)

    def edges(self) -> Iterator[tuple[Ints, Ints]]:
        for x in range(self.size - 1):
            others = np.arange(x + 1, self.size)
            yield np.full(len(others), x), others


@dataclass(frozen=True, slots=True)
class Public:
    """No two values are a secret: the attribute may be told apart by anyone."""

    size: int

    @property
    def edge_count(self) -> int:
        return 0

    def is_edge(self, x: int, y: int) -> bool:  # noqa: ARG002
        return False

    def adjacent(self, x: Ints, y: Ints) -> Bools:
        return np.zeros(np.broadcast(x, y).shape, np.bool_)

    def distance(self, x: int, y: int) -> float:
        return 0 if x == y else INFINITE

    def components(self) -> Ints:
        return np.arange(self.size)

    def edges(self) -> Iterator[tuple[Ints, Ints]]:
        return iter(())


@dataclass(frozen=True, slots=True)
class Within:
    """Two values are a secret when they are at most `reach` positions apart ([HMD14] Eq. 7)."""

    size: int
    reach: int

    def __post_init__(self) -> None:
        if self.reach < 1:
            raise PolicyError("`within` reaches no other value", fix="widen it, or write `public`")

    @property
    def edge_count(self) -> int:
        reach = min(self.reach, self.size - 1)
        return reach * self.size - reach * (reach + 1) // 2

    def is_edge(self, x: int, y: int) -> bool:
        return 0 < abs(x - y) <= self.reach

    def adjacent(self, x: Ints, y: Ints) -> Bools:
        return np.asarray((x != y) & (np.abs(x - y) <= self.reach))

    def distance(self, x: int, y: int) -> float:
        return -(-abs(x - y) // self.reach)

    def components(self) -> Ints:
        return np.zeros(self.size, np.int64)

    def edges(self) -> Iterator[tuple[Ints, Ints]]:
        for gap in range(1, min(self.reach, self.size - 1) + 1):
            start = np.arange(self.size - gap)
            yield start, start + gap


@dataclass(frozen=True, slots=True)
class WithinOrMissing:
    """As `Within` among the values that are there; the last one, a missing value, is a secret from every other."""

    size: int
    reach: int

    @property
    def there(self) -> Within:
        """The secrets among the values that are there."""
        return Within(self.size - 1, self.reach)

    @property
    def edge_count(self) -> int:
        return self.there.edge_count + self.size - 1

    def is_edge(self, x: int, y: int) -> bool:
        return x != y and (max(x, y) == self.size - 1 or abs(x - y) <= self.reach)

    def adjacent(self, x: Ints, y: Ints) -> Bools:
        return np.asarray((x != y) & ((np.maximum(x, y) == self.size - 1) | (np.abs(x - y) <= self.reach)))

    def distance(self, x: int, y: int) -> float:
        return 0 if x == y else 1 if self.is_edge(x, y) else 2

    def components(self) -> Ints:
        return np.zeros(self.size, np.int64)

    def edges(self) -> Iterator[tuple[Ints, Ints]]:
        yield from self.there.edges()
        yield np.arange(self.size - 1), np.full(self.size - 1, self.size - 1)


class Partition(Remembering):
    """Two vertices are a secret when they are in the same block of a partition ([HMD14] Eq. 6)."""

    blocks: tuple[int, ...]

    @cached_property
    def sizes(self) -> Ints:
        """How many vertices each block has that has any, in the order of the blocks' numbers."""
        return np.unique(self._array, return_counts=True)[1]

    @cached_property
    def edge_count(self) -> int:
        return sum(math.comb(size, 2) for size in self.sizes.tolist())

    def is_edge(self, x: int, y: int) -> bool:
        return x != y and self.blocks[x] == self.blocks[y]

    def adjacent(self, x: Ints, y: Ints) -> Bools:
        block = self.components()
        return np.asarray((x != y) & (block[x] == block[y]))

    def distance(self, x: int, y: int) -> float:
        if x == y:
            return 0
        return 1 if self.blocks[x] == self.blocks[y] else INFINITE

    def components(self) -> Ints:
        return self._array

    @cached_property
    def _array(self) -> Ints:
        return np.array(self.blocks, np.int64)

    def edges(self) -> Iterator[tuple[Ints, Ints]]:
        order = np.argsort(self._array, kind="stable")
        for members in np.split(order, np.cumsum(self.sizes)[:-1]):
            if 1 < len(members) <= AT_ONCE:
                first, second = np.triu_indices(len(members), 1)
                yield members[first], members[second]
            elif len(members) > AT_ONCE:
                for place in range(len(members) - 1):
                    yield np.full(len(members) - 1 - place, members[place]), members[place + 1 :]


@dataclass(frozen=True)
class Blocks(Partition):
    """Values of one attribute in the same block are secrets."""

    blocks: tuple[int, ...]

    @property
    def size(self) -> int:
        return len(self.blocks)


@dataclass(frozen=True)
class Pairs(Remembering):
    """The pairs of values that were listed are secrets, and no others."""

    size: int
    pairs: frozenset[tuple[int, int]]

    def __post_init__(self) -> None:
        if any(not 0 <= end < self.size for pair in self.pairs for end in pair):
            raise PolicyError("a pair names a value outside the attribute", fix="use listed values")
        if any(x == y for x, y in self.pairs):
            raise PolicyError("a pair joins a value to itself", fix="list two different values")

    @property
    def edge_count(self) -> int:
        return len(self._edges[0])

    def is_edge(self, x: int, y: int) -> bool:
        return (x, y) in self.pairs or (y, x) in self.pairs

    def adjacent(self, x: Ints, y: Ints) -> Bools:
        starts, ends = self._edges
        known = starts * self.size + ends
        return np.isin(np.minimum(x, y) * self.size + np.maximum(x, y), known)

    def distance(self, x: int, y: int) -> float:
        """Length of the shortest chain of listed pairs, by breadth-first search."""
        frontier, seen, steps = {x}, {x}, 0
        while frontier and y not in frontier:
            frontier = {end for start in frontier for end in self._next.get(start, ())} - seen
            seen |= frontier
            steps += 1
        return steps if frontier else INFINITE

    def components(self) -> Ints:
        return np.array(components(self.size, self.pairs), np.int64)

    @cached_property
    def _next(self) -> dict[int, list[int]]:
        links: dict[int, list[int]] = {}
        for x, y in self.pairs:
            links.setdefault(x, []).append(y)
            links.setdefault(y, []).append(x)
        return links

    @cached_property
    def _edges(self) -> tuple[Ints, Ints]:
        ends = sorted({(min(pair), max(pair)) for pair in self.pairs})
        return np.array([x for x, _ in ends], np.int64), np.array([y for _, y in ends], np.int64)

    def edges(self) -> Iterator[tuple[Ints, Ints]]:
        if self.pairs:
            yield self._edges


AttributeGraph: TypeAlias = Everything | Public | Within | WithinOrMissing | Blocks | Pairs
