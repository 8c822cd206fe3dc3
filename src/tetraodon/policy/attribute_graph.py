"""Secret graphs of one attribute: which of its values an observer must not tell apart.

An edge is what IS protected ([HMD14] section 3.1). Vertices are the codes 0..size-1 of the attribute; no
graph here is written out unless it was given pair by pair.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from tetraodon.errors import PolicyError
from tetraodon.exact.arrays import LARGEST, Bools, Ints, components

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


class OneGraph:
    """What graphs share that join all values by chains of edges."""

    __slots__ = ()
    size: int
    if TYPE_CHECKING:

        @property
        def edge_count(self) -> int: ...

    @property
    def has_edges(self) -> bool:
        """Whether any two values are a secret, without counting those that are."""
        return self.edge_count > 0

    def adjacent(self, x: Ints, y: Ints) -> Bools:
        """Whether pairs of values are secrets."""
        raise NotImplementedError

    def is_edge(self, x: int, y: int) -> bool:
        return bool(self.adjacent(np.asarray(x), np.asarray(y)))

    def components(self) -> Ints:
        return np.zeros(self.size, np.int64)


@dataclass(frozen=True, slots=True)
class Everything(OneGraph):
    """Any two values are a secret."""

    size: int

    @property
    def edge_count(self) -> int:
        return self.size * (self.size - 1) // 2

    def adjacent(self, x: Ints, y: Ints) -> Bools:
        return np.asarray(x != y)

    def distance(self, x: int, y: int) -> float:
        return 0 if x == y else 1

    def edges(self) -> Iterator[tuple[Ints, Ints]]:
        for x in range(self.size - 1):
            others = np.arange(x + 1, self.size)
            yield np.full(len(others), x), others


@dataclass(frozen=True, slots=True)
class Public(OneGraph):
    """No two values are a secret: anyone may learn the attribute."""

    size: int

    @property
    def edge_count(self) -> int:
        return 0

    def adjacent(self, x: Ints, y: Ints) -> Bools:
        return np.zeros(np.broadcast(x, y).shape, np.bool_)

    def distance(self, x: int, y: int) -> float:
        return 0 if x == y else INFINITE

    def components(self) -> Ints:
        return np.arange(self.size)

    def edges(self) -> Iterator[tuple[Ints, Ints]]:
        return iter(())


@dataclass(frozen=True, slots=True)
class Within(OneGraph):
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

    def adjacent(self, x: Ints, y: Ints) -> Bools:
        return np.asarray((x != y) & (np.abs(x - y) <= self.reach))

    def distance(self, x: int, y: int) -> float:
        return -(-abs(x - y) // self.reach)

    def edges(self) -> Iterator[tuple[Ints, Ints]]:
        for gap in range(1, min(self.reach, self.size - 1) + 1):
            start = np.arange(self.size - gap)
            yield start, start + gap


@dataclass(frozen=True, slots=True)
class WithinOrMissing(OneGraph):
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

    def adjacent(self, x: Ints, y: Ints) -> Bools:
        return np.asarray((x != y) & ((np.maximum(x, y) == self.size - 1) | (np.abs(x - y) <= self.reach)))

    def distance(self, x: int, y: int) -> float:
        return 0 if x == y else 1 if self.is_edge(x, y) else 2

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

    @property
    def has_edges(self) -> bool:
        return len(self.sizes) < len(self.blocks)

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

    @property
    def has_edges(self) -> bool:
        return bool(self.pairs)

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


def induced(graph: AttributeGraph, codes: Ints) -> AttributeGraph:
    """The graph among some of the values, rising, numbered anew: that of lines with all of their edges, and more where
    values between are left out."""
    match graph:
        case Everything():
            return Everything(len(codes))
        case Public():
            return Public(len(codes))
        case Within():
            return Within(len(codes), graph.reach)
        case WithinOrMissing():
            kind = WithinOrMissing if codes[-1] == graph.size - 1 and len(codes) > 1 else Within
            return kind(len(codes), graph.reach)
        case Blocks():
            return Blocks(tuple(np.unique(graph.components()[codes], return_inverse=True)[1].tolist()))
        case Pairs():
            place = {int(code): number for number, code in enumerate(codes)}
            there = frozenset((place[x], place[y]) for x, y in graph.pairs if x in place and y in place)
            return Pairs(len(codes), there)


# -- relative graph ---------------------------------------------------------------------------------
# Secrets to within a share of the value itself: two wages at most 10% apart must stay indistinguishable.
#
# [KM12] section 7.1.2 compares neighbouring intervals, whose values are farther apart: docs/relative.md.


@dataclass(frozen=True, slots=True)
class WithinShare(Within):
    """Two numbers above zero are a secret when the larger is at most `share` more than the smaller: "within 10%".

    Code c stands for the number `first` + c * `stride`, in units that make both whole. `reach` is the most positions
    that any two such numbers are apart: the graph `Within` with that reach has all of these edges and more, and stands
    for it wherever no one looks closer. What is certified there is a bound, and the kernel says if it is attained.

    >>> wages = WithinShare.of(91, Fraction(1, 10), first=10, stride=1)
    >>> wages.reach, wages.is_edge(0, 1), wages.is_edge(0, 2), wages.is_edge(80, 89), wages.distance(0, 90)
    (9, True, False, True, 29)
    """

    share: Fraction
    first: int
    stride: int

    @classmethod
    def of(cls, size: int, share: Fraction, *, first: int, stride: int) -> WithinShare:
        """Pre: `first` and `stride` are above zero, and so is the share, which leads from the first number to another.

        Why   what a number may grow by grows with it, so that no two secrets are further apart than the last number and
              the least that is a secret from it.
        """
        if first < 1 or share * first < stride:
            raise PolicyError("`within` reaches no other value", fix="declare larger values, or a finer step")
        last = first + stride * (size - 1)
        least = -(-(math.ceil(last / (1 + share)) - first) // stride)
        return cls(size, max(1, size - 1 - max(0, least)), share, first, stride)

    def number(self, code: int) -> int:
        """The number that a code stands for, in units."""
        return self.first + self.stride * code

    def adjacent(self, x: Ints, y: Ints) -> Bools:
        parts, grown = self.share.denominator, self.share.denominator + self.share.numerator
        exact = np.int64 if self.number(self.size - 1) * grown <= LARGEST else object
        a, b = (self.first + self.stride * np.asarray(codes).astype(exact) for codes in (x, y))
        low, high = np.minimum(a, b), np.maximum(a, b)
        return np.asarray((low < high) & (high * parts <= low * grown)).astype(np.bool_)

    def distance(self, x: int, y: int) -> float:
        return int(self.steps(x, np.array([y]))[0])

    def steps(self, chosen: int, codes: Ints) -> Ints:
        """How many steps each of some values is away from a chosen one: steps as long as can be are the fewest."""
        up, down = [chosen], [chosen]
        while up[-1] < self.size - 1 and up[-1] < int(np.max(codes)):
            most = math.floor((1 + self.share) * self.number(up[-1]))
            up.append(min(self.size - 1, (most - self.first) // self.stride))
        while down[-1] > 0 and down[-1] > int(np.min(codes)):
            least = math.ceil(self.number(down[-1]) / (1 + self.share))
            down.append(max(0, -(-(least - self.first) // self.stride)))
        above, below = np.searchsorted(up, codes), np.searchsorted(-np.array(down), -np.asarray(codes))
        return np.where(np.asarray(codes) >= chosen, above, below)

    def telling_pairs(self) -> Iterator[tuple[int, int]]:
        """Pairs that show what is promised: of a round number in the middle, with what is as far as a secret goes, just
        beyond it, and twice as large.
        """
        middle = math.isqrt(self.first * self.number(self.size - 1))
        round_number = middle // 10 ** (len(str(middle)) - 1) * 10 ** (len(str(middle)) - 1)
        chosen = min(max(0, (round_number - self.first) // self.stride), self.size - 2)
        far = (math.floor((1 + self.share) * self.number(chosen)) - self.first) // self.stride
        twice = (2 * self.number(chosen) - self.first) // self.stride
        yield from ((chosen, other) for other in dict.fromkeys((far, far + 1, twice)) if chosen < other < self.size)

    def ladder(self, most: int) -> Ints:
        """At most so many values to show: about evenly spread by their logarithms, from the first to the last."""
        numbers = np.geomspace(float(self.first), float(self.number(self.size - 1)), most)
        return np.unique(np.clip(np.rint((numbers - self.first) / self.stride), 0, self.size - 1).astype(np.int64))

    def edges(self) -> Iterator[tuple[Ints, Ints]]:
        for gap in range(1, min(self.reach, self.size - 1) + 1):
            start = np.arange(self.size - gap)
            start = start[self.adjacent(start, start + gap)]
            yield start, start + gap
