"""The different tuples that a view shows, and how often: what an attacker has to start from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from tetraodon.arrays import Bools, Floats, Ints
from tetraodon.publishing.sampling import Cells

MOST: Final = 1 << 22
"""Of more different tuples than this, evenly spaced ones are attacked, and stand for all."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The different tuples that an attacker sees, with what is known of each.

    Attributes
    ----------
    cells, copies: the tuples and how often each is shown.
    lift:          how much other views favour each of them already: 1 for a single view.
    here:          whether this view shows them.
    """

    cells: Cells
    copies: Ints
    lift: Floats
    here: Bools
    every: int = 1


class Gathering:
    """Collects the different tuples of a view as they pass, sorted by cell: evenly spaced ones if there are too many.

    Post  what is collected depends on the tuples alone, and not on where their parts begin and end.
    """

    def __init__(self) -> None:
        self._cells: list[Cells] = []
        self._copies: list[Ints] = []
        self._last: tuple[Cells, Ints] = (np.zeros(0, np.uint64), np.zeros(0, np.int64))
        self._every, self._passed, self._held = 1, 0, 0

    def add(self, part: Cells) -> None:
        """Look at the next tuples; the last one may go on in the next part."""
        if not len(part):
            return
        starts = np.flatnonzero(np.concatenate([[True], part[1:] != part[:-1]]))
        cells, copies = part[starts], np.diff(np.append(starts, len(part)))
        if len(self._last[0]) and self._last[0][0] == cells[0]:
            copies[0] += self._last[1][0]
        else:
            cells, copies = np.concatenate([self._last[0], cells]), np.concatenate([self._last[1], copies])
        self._keep(cells[:-1], copies[:-1])
        self._last = cells[-1:], copies[-1:]

    def shown(self) -> Shown:
        """What was collected."""
        self._keep(*self._last)
        self._last = self._last[0][:0], self._last[1][:0]
        cells = np.concatenate([np.zeros(0, np.uint64), *self._cells])
        copies = np.concatenate([np.zeros(0, np.int64), *self._copies])
        return Shown(cells, copies, np.ones(len(cells)), np.ones(len(cells), np.bool_), self._every)

    def _keep(self, cells: Cells, copies: Ints) -> None:
        start = -self._passed % self._every
        self._passed += len(cells)
        self._cells.append(cells[start :: self._every])
        self._copies.append(copies[start :: self._every])
        self._held += len(self._cells[-1])
        while self._held > MOST:
            self._cells = [np.concatenate(self._cells)[::2]]
            self._copies = [np.concatenate(self._copies)[::2]]
            self._every, self._held = 2 * self._every, len(self._cells[0])


def shown(parts: Iterable[Cells]) -> Shown:
    """The different tuples of a view that comes in parts, sorted by cell."""
    gathering = Gathering()
    for part in parts:
        gathering.add(part)
    return gathering.shown()
