"""Graphs of secrets over the cells of several attributes together, and those of blocks: the counties of a map."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tetraodon.arrays import Bools, Ints
from tetraodon.errors import PolicyError
from tetraodon.policy.attribute_graph import Partition, Remembering


class JointGraph(Remembering, ABC):
    """Which cells of a grid are secrets. Vertices are the cells, numbered row by row."""

    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def codes(self, cells: Ints | int) -> tuple[Ints, ...]:
        """Coordinates of cells."""
        return tuple(np.asarray(axis) for axis in np.unravel_index(cells, self.shape))

    def is_edge(self, x: int, y: int) -> bool:
        return bool(self.adjacent(np.asarray(x), np.asarray(y)))

    @abstractmethod
    def adjacent(self, x: Ints, y: Ints) -> Bools:
        """Which pairs of cells are secrets, element by element."""

    @property
    @abstractmethod
    def has_edges(self) -> bool:
        """Whether any two values are a secret, without counting those that are."""

    @property
    @abstractmethod
    def edge_count(self) -> int:
        """How many secrets there are."""

    @abstractmethod
    def edges(self) -> Iterator[tuple[Ints, Ints]]:
        """All secrets, in pieces."""

    @abstractmethod
    def distance(self, x: int, y: int) -> float:
        """Least number of steps from x to y."""

    @abstractmethod
    def components(self) -> Ints:
        """Labels of the connected parts."""


@dataclass(frozen=True)
class Regions(Partition, JointGraph):
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
    def has_edges(self) -> bool:
        return len(self.names) < self.size
