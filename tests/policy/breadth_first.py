"""Graphs as their definition says, by enumeration: what every shortcut is compared with."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

Vertex = TypeVar("Vertex", bound=Hashable)


def distances(
    vertices: Sequence[Vertex], is_edge: Callable[[Vertex, Vertex], bool], start: Vertex
) -> dict[Vertex, float]:
    """Number of edges from `start` to every vertex, by breadth-first search over `is_edge`."""
    steps: dict[Vertex, float] = dict.fromkeys(vertices, math.inf)
    steps[start] = 0
    frontier = [start]
    while frontier:
        reached = [y for x in frontier for y in vertices if steps[y] == math.inf and is_edge(x, y)]
        for x in frontier:
            for y in reached:
                if is_edge(x, y):
                    steps[y] = min(steps[y], steps[x] + 1)
        frontier = list(dict.fromkeys(reached))
    return steps


def same_partition(one: Iterable[Hashable], other: Iterable[Hashable]) -> bool:
    """Whether two labellings put the same things together."""
    pairs = list(zip(one, other, strict=True))
    return len(set(pairs)) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
