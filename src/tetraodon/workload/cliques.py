"""Which tables a model of some tables has to hold: they are joined until they hang together like a tree."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

Places: TypeAlias = tuple[int, ...]
"""Places among attributes, the smallest first."""


def cliques_of(tables: Iterable[Places], sizes: Sequence[int]) -> list[Places]:
    """The parts of a junction tree in which every table lies.

    Why   attributes go one by one, the one whose neighbours have the fewest cells first, and leave their neighbours
          joined: that is a triangulation, and greedy ones are near to the best.

    >>> cliques_of([(0, 1), (1, 2), (2, 3), (0, 3)], [2, 2, 2, 2])
    [(0, 1, 3), (1, 2, 3)]
    """
    near = {place: {place} for place in range(len(sizes))}
    for table in tables:
        for place in table:
            near[place].update(table)
    found: list[set[int]] = []
    while near:
        gone = min(near, key=lambda place: math.prod(sizes[one] for one in near[place]))
        around = near.pop(gone)
        if not any(around <= one for one in found):
            found.append(around)
        for place in around - {gone}:
            near[place] = (near[place] | around) - {gone}
    return [tuple(sorted(one)) for one in found]


def cells_of(tables: Iterable[Places], sizes: Sequence[int]) -> int:
    """How many cells a model of these tables has."""
    return sum(math.prod(sizes[place] for place in one) for one in cliques_of(tables, sizes))
