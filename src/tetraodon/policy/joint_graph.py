"""Graphs of secrets over the cells of several attributes together."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tetraodon.policy.attribute_graph import Codes, Remembering


class JointGraph(Remembering, ABC):
    """Which cells of a grid are secrets. Vertices are the cells, numbered row by row."""

    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def codes(self, cells: Codes | int) -> tuple[Codes, ...]:
        """Coordinates of cells."""
        return tuple(np.asarray(axis) for axis in np.unravel_index(cells, self.shape))

    def is_edge(self, x: int, y: int) -> bool:
        return bool(self.adjacent(np.asarray(x), np.asarray(y)))

    @abstractmethod
    def adjacent(self, x: Codes, y: Codes) -> NDArray[np.bool_]:
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
    def edges(self) -> Iterator[tuple[Codes, Codes]]:
        """All secrets, in pieces."""

    @abstractmethod
    def distance(self, x: int, y: int) -> float:
        """Least number of steps from x to y."""

    @abstractmethod
    def components(self) -> Codes:
        """Labels of the connected parts."""
