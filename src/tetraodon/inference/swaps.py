"""Swaps of records that make a third margin right and leave two others as they are."""

from __future__ import annotations

import numpy as np

from tetraodon.arrays import Ints


def with_swaps(cells: Ints, missing: Ints) -> Ints:
    """A three-way table of counts, records of which change places until its rows and columns have what they miss.

    Pre   `missing[a, c]` says what is missing of the sum over b of `cells[a, b, c]`; it adds up to 0 along both sides.
    Post  sums over a, and sums over c, are the same. So are those over b as they should be, or no swap of two records
          brings them nearer: whole numbers may not fit all three.
    Why   two records of one b that swap their c move four sums by one. Where one sum lacks a record, another of its row
          and another of its column have one too many: their swap puts three of the four right, at least.
    """
    cells, missing = cells.copy(), missing.copy()
    stuck = np.zeros(missing.shape, np.bool_)
    while True:
        lacking = np.argwhere((missing > 0) & ~stuck)
        if not len(lacking):
            return cells
        a, c = lacking[0]
        others, columns = np.flatnonzero(missing[:, c] < 0), np.flatnonzero(missing[a] < 0)
        able = np.minimum(cells[others, :, c][:, None], cells[a][:, columns].T[None])  # other a, other c, b
        other, column, b = np.unravel_index(int(able.argmax()), able.shape)
        if able[other, column, b] == 0:
            stuck[a, c] = True
            continue
        square = np.ix_([a, others[other]], [c, columns[column]])
        change = np.array([[1, -1], [-1, 1]])
        cells[:, b][square] += change
        missing[square] -= change
        stuck[:] = False
