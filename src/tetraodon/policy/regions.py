"""Cells of several attributes together that are a secret when they are in the same block: the counties of a map."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tetraodon.errors import PolicyError
from tetraodon.policy.attribute_graph import INFINITE, Codes
from tetraodon.policy.joint_graph import JointGraph

AT_ONCE = 2_000
"""Cells of a block whose pairs are listed in one piece."""


@dataclass(frozen=True)
class Regions(JointGraph):
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

    def adjacent(self, x: Codes, y: Codes) -> NDArray[np.bool_]:
        block = self.components()
        return np.asarray((x != y) & (block[x] == block[y]))

    @property
    def has_edges(self) -> bool:
        return len(self.names) < self.size

    @cached_property
    def sizes(self) -> list[int]:
        """How many cells each block has."""
        return [int(size) for size in np.bincount(self._array)]

    @cached_property
    def edge_count(self) -> int:
        return sum(math.comb(size, 2) for size in self.sizes)

    def edges(self) -> Iterator[tuple[Codes, Codes]]:
        order = np.argsort(self._array, kind="stable")
        for cells in np.split(order, np.cumsum(self.sizes)[:-1]):
            if 1 < len(cells) <= AT_ONCE:
                first, second = np.triu_indices(len(cells), 1)
                yield cells[first], cells[second]
            elif len(cells) > AT_ONCE:
                for place in range(len(cells) - 1):
                    yield np.full(len(cells) - 1 - place, cells[place]), cells[place + 1 :]

    def distance(self, x: int, y: int) -> float:
        if x == y:
            return 0
        return 1 if self.blocks[x] == self.blocks[y] else INFINITE

    def components(self) -> Codes:
        return self._array

    @cached_property
    def _array(self) -> Codes:
        return np.array(self.blocks, np.int64)
