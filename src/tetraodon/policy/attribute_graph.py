"""Secret graphs of one attribute: which of its values an observer must not tell apart.

An edge is what IS protected ([HMD14] section 3.1). Vertices are the codes 0..size-1 of the attribute; no
graph here is written out unless it was given pair by pair.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import groupby
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
from pydantic import PlainValidator, WithJsonSchema

from tetraodon.domain import Attribute, Categories
from tetraodon.domain.values import TreeLevel
from tetraodon.errors import PolicyError, Refused, did_you_mean
from tetraodon.exact.arrays import LARGEST, Bools, Ints, components
from tetraodon.policy.section import refuse

# -- category tree ----------------------------------------------------------------------------------
# Categories in a named hierarchy, as a policy file writes them: `{East: [ON, QC], West: {Coast: [BC], ...}}`.
#
# In normal form maps are lists of pairs, `[[East, [ON, QC]], ...]`: their order survives wherever keys are sorted.

FIX = "write {East: [ON, QC], West: [BC, AB]}, deeper where you need it, and every list of values as deep as the others"
Path = tuple[str, ...]


def read_tree(value: object) -> tuple[Path, ...]:
    """The values of a tree in their order, each below the names of its branches.

    >>> read_tree({"East": ["ON", "QC"], "West": ["BC"]})
    (('East', 'ON'), ('East', 'QC'), ('West', 'BC'))
    """
    found = tuple(_leaves(value, ()))
    if len({len(path) for path in found}) != 1 or len(found[0]) < 2:
        refuse("the branches of this tree are not equally deep, or there are none", FIX)
    return found


def _leaves(value: object, above: Path) -> Iterator[Path]:
    if len(above) > 10:
        refuse("this tree is too deep", "write at most ten levels")
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        yield from ((*above, label) for label in value)
        return
    pairs = list(value.items()) if isinstance(value, dict) else value
    if not isinstance(pairs, list) or not pairs:
        refuse("this is no tree of categories", FIX)
    names = [pair[0] for pair in pairs if isinstance(pair, list | tuple) and pair]
    if len({str(name) for name in names}) < len(names):
        refuse("two branches share a name", "give each branch of a level a name of its own")
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not isinstance(pair[0], str) or not pair[0].strip():
            refuse("this is no tree of categories", FIX)
        yield from _leaves(pair[1], (*above, pair[0]))


_SCHEMA = {"anyOf": [{"type": "object", "minProperties": 1}, {"type": "array", "minItems": 1}]}
Tree = Annotated[tuple[Path, ...], PlainValidator(read_tree), WithJsonSchema(_SCHEMA)]


def categories_of(paths: Sequence[Path], names: Sequence[str]) -> Categories:
    """The categories of a tree, with its levels, the coarsest first; without names they are `level 1` and so on."""
    depth = len(paths[0]) - 1
    called = tuple(names) or tuple(f"level {number + 1}" for number in range(depth))
    if len(called) != depth or len(set(called)) < depth:
        raise PolicyError(
            f"this tree has {depth} levels above its values, and `levels` does not name each of them once",
            fix=f"write {depth} names, the coarsest level first, or leave `levels` out",
        )
    for level in range(depth):
        above = {path[: level + 1] for path in paths}
        if len({path[level] for path in above}) < len(above):
            raise PolicyError(
                f"two branches at {called[level]} share a name", fix="give each branch of a level a name of its own"
            )
    levels = tuple(TreeLevel(name, tuple(path[n] for path in paths)) for n, name in enumerate(called))
    return Categories(tuple(path[-1] for path in paths), levels=levels)


def branches_of(attribute: Attribute, level: str) -> tuple[int, ...]:
    """The branch of each value, at a level of an attribute's tree."""
    if attribute.separate:
        raise Refused(
            f"missing values of {attribute.name} stand apart, and are in no branch of its tree",
            fix="list groups of values, or write `missing:` one of the other values",
        )
    places = {one.name: one.places for one in attribute.levels}
    if level not in places:
        fix = did_you_mean(level, places) if places else "declare it as {tree: {East: [ON, QC], West: [BC]}}"
        raise PolicyError(f"{attribute.name} has no level {level!r}", fix=fix)
    return places[level]


def tree_document(values: Categories) -> dict[str, Any]:
    """The tree in normal form. Pre: there is one."""
    paths = list(zip(*(level.of for level in values.levels), values.labels, strict=True))
    return {"tree": _nested(paths), "levels": [level.name for level in values.levels]}


def _nested(paths: Sequence[Path]) -> list[Any]:
    if len(paths[0]) == 1:
        return [path[0] for path in paths]
    branches = groupby(paths, key=lambda path: path[0])
    return [[name, _nested([path[1:] for path in below])] for name, below in branches]


# -- attribute graph --------------------------------------------------------------------------------

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
