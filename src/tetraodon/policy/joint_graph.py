"""Secret graphs over several attributes together: metrics and blocks of cells."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from typing import Literal, TypeAlias

import numpy as np

from tetraodon.errors import PolicyError, Refused
from tetraodon.exact.arrays import Bools, Floats, Ints
from tetraodon.policy.attribute_graph import INFINITE, Pairs, Partition, Remembering

# -- regions ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Regions(Partition):
    """Two cells are a secret when they are in the same block of a partition ([HMD14] Eq. 6, for whole cells).

    `blocks` has the number of each cell's block, row by row; `names` what the blocks are called.

    >>> map = Regions((2, 3), (0, 0, 1, 0, 1, 1), ("north", "south"))
    >>> map.is_edge(0, 3), map.is_edge(0, 2), map.distance(0, 5), map.edge_count
    (True, False, inf, 6)
    """

    shape: tuple[int, ...]
    blocks: tuple[int, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.blocks) != self.size or list(dict.fromkeys(self.blocks)) != list(range(len(self.names))):
            raise PolicyError(
                "the blocks are not those of all cells, in the order of their first cells",
                fix="give every cell one block, and number them from 0 as they come up",
            )

    @property
    def size(self) -> int:
        return math.prod(self.shape)


# -- joint metric -----------------------------------------------------------------------------------
# Values of several numeric attributes that are a secret when they are close in a joint metric.

Metric: TypeAlias = Literal["l1", "l2", "linf", "great circle km"]
METRICS: tuple[Metric, ...] = ("l1", "l2", "linf", "great circle km")
EARTH_RADIUS_KM = 6371.0088
SEARCH_LIMIT = 1_000_000
LONGEST = 2**62


@dataclass(frozen=True)
class JointMetric(Remembering):
    """Two points of a grid are a secret when their distance is at most `within`.

    `starts` and `steps` say where the grid lies: coordinate a of code i is starts[a] + i * steps[a].
    Vertices are cells of the grid, numbered row by row. For "great circle km" the two
    coordinates are latitude and longitude in degrees; that distance is not rational, so a pair within one
    part in 10^9 of the limit counts as a secret: rounding goes towards more protection.
    """

    metric: Metric
    within: Fraction
    shape: tuple[int, ...]
    starts: tuple[Fraction, ...]
    steps: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if self.within <= 0:
            raise PolicyError("`within` of a joint metric is not positive", fix="write a number above 0")
        if self.metric == "great circle km" and len(self.shape) != 2:
            raise PolicyError("great-circle distance needs two attributes", fix="write `over: [latitude, longitude]`")
        if self.metric != "great circle km" and not any(step <= self.within for step in self.steps):
            raise PolicyError("`within` reaches no other value", fix="widen it beyond one step of the grid")
        if self.size > LONGEST or (self.metric != "great circle km" and self._longest > LONGEST):
            raise Refused(
                "the joint metric is too fine for exact arithmetic", fix="use coarser grids, or rounder steps"
            )

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def codes(self, cells: Ints | int) -> tuple[Ints, ...]:
        """Coordinates of cells."""
        return tuple(np.asarray(axis) for axis in np.unravel_index(cells, self.shape))

    def is_edge(self, x: int, y: int) -> bool:
        return bool(self.adjacent(np.asarray(x), np.asarray(y)))

    @property
    def _longest(self) -> int:
        """A bound on every whole number that `_close` computes."""
        unit = math.lcm(*(f.denominator for f in (*self.steps, self.within)))
        lengths = [size * int(step * unit) for size, step in zip(self.shape, self.steps, strict=True)]
        return sum(length**2 if self.metric == "l2" else length for length in lengths)

    def adjacent(self, x: Ints, y: Ints) -> Bools:
        """Which pairs of cells are secrets, element by element."""
        if self.metric == "great circle km":
            return np.asarray((x != y) & (self._kilometres(x, y) <= float(self.within) * (1 + 1e-9)))
        gaps = [np.abs(a - b) for a, b in zip(self.codes(x), self.codes(y), strict=True)]
        return np.asarray((np.asarray(x) != np.asarray(y)) & self._close(gaps))

    def _close(self, gaps: list[Ints]) -> Bools:
        unit = math.lcm(*(f.denominator for f in (*self.steps, self.within)))
        limit = int(self.within * unit)
        lengths = [gap * int(step * unit) for gap, step in zip(gaps, self.steps, strict=True)]
        match self.metric:
            case "l1":
                return np.asarray(sum(lengths) <= limit)
            case "l2":
                return np.asarray(sum(length * length for length in lengths) <= limit * limit)
            case _:
                return np.asarray(np.maximum.reduce(np.broadcast_arrays(*lengths)) <= limit)

    def _kilometres(self, x: Ints, y: Ints) -> Floats:
        lat = [np.radians(float(self.starts[0]) + float(self.steps[0]) * self.codes(c)[0]) for c in (x, y)]
        lon = [np.radians(float(self.starts[1]) + float(self.steps[1]) * self.codes(c)[1]) for c in (x, y)]
        half = np.sin((lat[0] - lat[1]) / 2) ** 2 + np.cos(lat[0]) * np.cos(lat[1]) * np.sin((lon[0] - lon[1]) / 2) ** 2
        return np.asarray(2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(np.minimum(half, 1.0))))

    @property
    def has_edges(self) -> bool:
        """Whether any two values are a secret, without counting those that are."""
        return self.edge_count > 0 if self.metric == "great circle km" else any(self._reach)

    @cached_property
    def edge_count(self) -> int:
        """How many secrets there are; for the great circle, found by enumeration up to a limit."""
        if self.metric == "great circle km":
            return sum(len(x) for x, _ in self.edges())
        fits = self.size * len(self.displacements) < 2**63
        room = np.array(self.shape) - np.abs(self.displacements)
        return int(room.astype(np.int64 if fits else object).prod(axis=1).sum())

    @property
    def _reach(self) -> list[int]:
        return [min(size - 1, int(self.within / step)) for size, step in zip(self.shape, self.steps, strict=True)]

    @property
    def listable(self) -> bool:
        """Whether `moves` can be listed."""
        return math.prod(2 * r + 1 for r in self._reach) <= 4 * SEARCH_LIMIT

    @cached_property
    def displacements(self) -> Ints:
        """One of each pair of opposite displacements that stay within the limit, a row each, in lexical order."""
        reach = self._reach
        if not self.listable:
            raise Refused("the joint metric has too many near pairs to list", fix="coarsen the grid")
        gaps = np.meshgrid(*(np.arange(-r, r + 1) for r in reach), indexing="ij")
        close = self._close([np.abs(gap) for gap in gaps])
        moves = np.stack([gap[close] for gap in gaps], axis=1).astype(np.int64)
        return moves[len(moves) // 2 + 1 :]  # opposite ones stand opposite each other, around no move at all

    @cached_property
    def moves(self) -> list[tuple[int, ...]]:
        """`displacements`, one after the other."""
        return [tuple(move) for move in self.displacements.tolist()]

    def edges(self) -> Iterator[tuple[Ints, Ints]]:
        """All secrets, in pieces."""
        if self.metric == "great circle km":
            yield from self._great_circle_edges()
            return
        cells = np.arange(self.size).reshape(self.shape)
        for move in self.moves:
            here = tuple(slice(max(0, -g), size - max(0, g)) for g, size in zip(move, self.shape, strict=True))
            there = tuple(slice(max(0, g), size + min(0, g)) for g, size in zip(move, self.shape, strict=True))
            yield cells[here].ravel(), cells[there].ravel()

    def _great_circle_edges(self) -> Iterator[tuple[Ints, Ints]]:
        """One piece for every row of the map: distances depend on two latitudes and a difference of longitudes."""
        rows, columns = self.shape
        if rows * rows * columns > 100 * SEARCH_LIMIT:
            raise Refused("the map has too many cells for great-circle secrets", fix="coarsen the grid")
        gaps = np.arange(-(columns - 1), columns)
        start = np.maximum(0, -gaps)
        for first in range(rows):
            second = np.arange(first, rows)[:, None]
            near = self.adjacent(first * columns + start[None, :], second * columns + (start + gaps)[None, :])
            near[0, gaps <= 0] = False  # each pair once
            row, which = np.nonzero(near)
            lengths = columns - np.abs(gaps[which])
            if not len(lengths):
                continue
            along = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
            east = np.repeat(start[which], lengths) + along
            yield (
                first * columns + east,
                np.repeat(first + row, lengths) * columns + east + np.repeat(gaps[which], lengths),
            )

    def distance(self, x: int, y: int) -> float:
        """Least number of steps from x to y, each no longer than the limit.

        Why  the set of allowed displacements contains, with (a, b), every (a', b') that is no larger in
             absolute value, so a shortest path can be taken to move in one direction on each axis and
             stays inside the grid. In the plane the k-fold sums of the lattice points of a lattice polygon
             are all lattice points of its k-fold enlargement, so the answer is a gauge, rounded up; in
             three dimensions and more that fails, and displacements are searched.
        """
        if x == y:
            return 0
        if self.metric == "great circle km":
            return self._search(x, y)
        gap = tuple(abs(int(a) - int(b)) for a, b in zip(self.codes(x), self.codes(y), strict=True))
        if any(g and step > self.within for g, step in zip(gap, self.steps, strict=True)):
            return INFINITE
        if len(gap) == 2:
            return max(-(-(a * gap[0] + b * gap[1]) // c) for a, b, c in self.sides)
        if self.metric == "linf":
            return max(-(-g // int(self.within / step)) for g, step in zip(gap, self.steps, strict=True) if g)
        if self.metric == "l1" and len(set(self.steps)) == 1:
            return -(-sum(gap) // int(self.within / self.steps[0]))
        return self._displacements(gap)

    @cached_property
    def _corners(self) -> list[tuple[int, int]]:
        """Corners of the hull of the allowed displacements in the first quadrant, from right to top."""
        unit = math.lcm(*(f.denominator for f in (*self.steps, self.within)))
        limit, (right, up) = int(self.within * unit), (int(step * unit) for step in self.steps)
        tops = []
        for i in range(limit // right + 1):
            room = limit - i * right if self.metric == "l1" else math.isqrt(limit**2 - (i * right) ** 2)
            tops.append((i, room // up))
        hull: list[tuple[int, int]] = []
        for i, j in reversed(tops):
            while len(hull) > 1 and _turn(hull[-2], hull[-1], (i, j)) <= 0:
                hull.pop()
            hull.append((i, j))
        return [(hull[0][0], 0), *hull] if hull[0][1] else hull

    @cached_property
    def sides(self) -> tuple[tuple[int, int, int], ...]:
        """What bounds a step in the plane: (a, b, c) says that a step (x, y) has a |x| + b |y| <= c.

        So two cells are as many steps apart as the largest of (a |x| + b |y|) / c, rounded up, along axes that a step
        moves at all; see `distance`.

        Pre  two attributes, and not the great circle.
        """
        right, up = (int(self.within / step) for step in self.steps)
        straight = [(1, 0, right), (0, 1, up)]
        alike = self.metric == "l1" and self.steps[0] == self.steps[1]
        straight += [(1, 1, right)] if alike else []
        corners = [] if self.metric == "linf" or alike else self._corners
        for (a, b), (c, d) in pairwise(corners):
            straight.append((d - b, a - c, (d - b) * a + (a - c) * b))
        return tuple(side for side in dict.fromkeys(straight) if side[2])

    def _displacements(self, gap: tuple[int, ...]) -> int:
        if math.prod(g + 1 for g in gap) > SEARCH_LIMIT // 10:
            raise Refused("the distance between these points is too long to search", fix="ask for nearer points")
        moves = {tuple(min(abs(g), t) for g, t in zip(move, gap, strict=True)) for move in self.moves}
        tops = [m for m in moves if not any(m != n and all(a <= b for a, b in zip(m, n, strict=True)) for n in moves)]
        frontier, steps = {gap}, 0
        while (0,) * len(gap) not in frontier:
            frontier = {
                tuple(max(0, a - b) for a, b in zip(rest, move, strict=True)) for rest, move in product(frontier, tops)
            }
            steps += 1
        return steps

    def _search(self, x: int, y: int) -> float:
        if self.size > SEARCH_LIMIT // 50:
            raise Refused("the map is too large to count steps on", fix="ask whether a pair is an edge")
        cells = np.arange(self.size)
        seen = cells == x
        frontier, steps = np.array([x]), 0
        while len(frontier) and not seen[y]:
            near = np.zeros(self.size, np.bool_)
            for cell in frontier:
                near |= self.adjacent(np.full(self.size, cell), cells)
            frontier = np.flatnonzero(near & ~seen)
            seen[frontier] = True
            steps += 1
        return steps if seen[y] else INFINITE

    def components(self) -> Ints:
        """Labels of the connected parts."""
        if self.metric == "great circle km":
            pairs = {(int(a), int(b)) for x, y in self.edges() for a, b in zip(x, y, strict=True)}
            return Pairs(self.size, frozenset(pairs)).components()
        codes = self.codes(np.arange(self.size))
        frozen = [c for c, step in zip(codes, self.steps, strict=True) if step > self.within]
        label = np.zeros(self.size, np.int64)
        for axis, step, size in zip(codes, self.steps, self.shape, strict=True):
            if step > self.within:
                label = label * size + axis
        return label if frozen else np.zeros(self.size, np.int64)


JointGraph: TypeAlias = Regions | JointMetric
"""Which cells of a grid are secrets. Vertices are the cells, numbered row by row."""


def _turn(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int]) -> int:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
