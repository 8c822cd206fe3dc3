"""Drawing a view: noise by waiting times along the numbered cells of the domain, records by coins; nothing is rounded.

The tuples come out sorted by cell, so that their order tells nothing. Time and memory follow the size of the
view, never that of the domain.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tetraodon.exact.arrays import Ints
from tetraodon.noise.coins import Coins
from tetraodon.noise.elementary import rational_heads, waiting_times
from tetraodon.views.channel import CopyChannel, SetChannel, ViewChannel

Cells: TypeAlias = NDArray[np.uint64]
CHUNK = 1 << 19


def noise_cells(channel: ViewChannel, size: int, coins: Coins, *, chunk: int = CHUNK) -> Iterator[tuple[Cells, int]]:
    """The noise of a whole domain, cell by cell in rising order, with the end of the cells that each part covers.

    Post  a SetChannel puts every cell in with probability `noise`; a CopyChannel puts in g copies of it, with
          P(g) = (1 - noise) * noise**g; all independent. [RS07] Algorithm 2 walks no cell either, but rejects.
    Why   go along the cells and toss a coin of chance `noise`: a set moves on after every toss, copies only after a
          tail. The tails before the next head are a waiting time either way.
    """
    stride = np.uint64(1 if isinstance(channel, SetChannel) else 0)
    start = 0  # the first cell that can still get a tuple
    while start < size:
        wanted = (size - start) * channel.added_per_tuple
        count = min(chunk, int(wanted * Fraction(51, 50)) + 16)
        steps = waiting_times(channel.noise, count, size, coins)
        steps[0] += np.uint64(start)
        steps[1:] += stride
        cells = np.cumsum(steps, dtype=np.uint64)
        beyond = cells >= np.uint64(size)
        if beyond.any():  # the first one beyond is below 2**64; what follows it may have wrapped
            yield cells[: int(np.argmax(beyond))], size
            return
        last = int(cells[-1])
        if isinstance(channel, SetChannel):
            yield cells, last + 1
            start = last + 1
        else:  # more copies of the last cell may follow, and belong to it
            yield cells, last
            start = last


def kept_cells(channel: ViewChannel, cells: Cells, counts: Ints, coins: Coins) -> Cells:
    """The records that are kept: each with the chance that, on top of the noise, makes up the channel's.

    Why  a SetChannel shows a tuple with s = keep + noise. The noise shows it already with `noise`, and a coin of chance
         c of its own makes that 1 - (1 - noise)(1 - c) = s for c = keep / (1 - noise).
    """
    chance = channel.keep / (1 - channel.noise) if isinstance(channel, SetChannel) else channel.keep
    every = np.repeat(cells, counts) if isinstance(channel, CopyChannel) else cells
    parts = []
    for start in range(0, len(every), CHUNK):
        part = every[start : start + CHUNK]
        parts.append(part[rational_heads(chance, len(part), coins)])
    return np.concatenate(parts) if parts else every


def view_cells(
    channel: ViewChannel,
    size: int,
    cells: Cells,
    counts: Ints,
    *,
    coins: Coins,
    chunk: int = CHUNK,
) -> Iterator[Cells]:
    """A view of a table, in parts that are sorted by cell, within and between them.

    Pre   `cells` rise and are below `size`; `counts` says how many records are in each.
    """
    kept = kept_cells(channel, cells, counts, coins)
    done = 0
    for noise, end in noise_cells(channel, size, coins, chunk=chunk):
        upto = len(kept) if end == size else int(np.searchsorted(kept, np.uint64(end)))
        yield merged(noise, kept[done:upto], once=isinstance(channel, SetChannel))
        done = upto


def merged(left: Cells, right: Cells, *, once: bool) -> Cells:
    """Two sorted arrays as one; with `once`, a cell that is in both is in the result once."""
    both = np.concatenate([left, right])
    both.sort(kind="stable")
    if not once or not len(both):
        return both
    fresh = np.ones(len(both), bool)
    np.not_equal(both[1:], both[:-1], out=fresh[1:])
    return both[fresh]
