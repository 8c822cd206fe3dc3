"""Largest a(x) + a(y) + |h(x) - h(y)| over pairs in a sliding window or in the same block, in linear time."""

from __future__ import annotations

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.certificate.axis import Peak


def best_in_window(alone: Ints, height: Ints, reach: int) -> Peak:
    """Over pairs with 1 <= y - x <= reach.

    Pre   at least two values; reach >= 1.
    Why   |h(x) - h(y)| is the larger of two signs; for each, the best partner of y is a sliding maximum.
    """
    size = len(alone)
    reach = min(reach, size - 1)
    best: Peak | None = None
    for sign in (1, -1):
        partner = _sliding_argmax(alone - sign * height, reach)
        y = np.arange(1, size)
        x = partner[: size - 1]
        value = alone[x] + alone[y] + sign * (height[y] - height[x])
        top = int(np.argmax(value))
        if best is None or int(value[top]) > best.value:
            best = Peak(int(value[top]), int(x[top]), int(y[top]))
    assert best is not None
    return best


def _sliding_argmax(values: Ints, width: int) -> Ints:
    """Position of the largest of values[i - width + 1 : i + 1] for every i, by maxima within fixed-size pieces.

    Each window meets at most two pieces: the tail of one and the head of the next.
    """
    size = len(values)
    order = np.argsort(values, kind="stable")
    rank = np.empty(size, np.int64)
    rank[order] = np.arange(size)
    padded = np.full(-(-size // width) * width, -1)
    padded[:size] = rank
    pieces = padded.reshape(-1, width)
    head = np.maximum.accumulate(pieces, axis=1).ravel()[:size]
    tail = np.maximum.accumulate(pieces[:, ::-1], axis=1)[:, ::-1].ravel()
    start = np.arange(size) - width + 1
    best = np.where(start >= 0, np.maximum(head, tail[np.maximum(start, 0)]), head)
    return np.asarray(order[best])


def best_in_blocks(alone: Ints, height: Ints, blocks: Ints) -> Peak:
    """Over pairs of different values in the same block.

    Why   within a block the best pair takes one of the two largest a + h and one of the two largest a - h.
    """
    up, down = _top_two(alone + height, blocks), _top_two(alone - height, blocks)
    best: Peak | None = None
    for x in down:
        for y in up:
            good = (x >= 0) & (y >= 0) & (x != y)
            if not good.any():
                continue
            a, b = x[good], y[good]
            value = alone[a] + alone[b] + height[b] - height[a]
            top = int(np.argmax(value))
            if best is None or int(value[top]) > best.value:
                best = Peak(int(value[top]), int(a[top]), int(b[top]))
    assert best is not None
    return best


def _top_two(values: Ints, blocks: Ints) -> tuple[Ints, Ints]:
    """Positions of the largest and second largest value of every block; -1 where there is none."""
    labels, block = np.unique(blocks, return_inverse=True)
    by_value = np.argsort(values, kind="stable")
    order = by_value[np.argsort(block[by_value], kind="stable")]
    ends = np.searchsorted(block[order], np.arange(len(labels)), side="right")
    starts = np.searchsorted(block[order], np.arange(len(labels)), side="left")
    first = order[ends - 1]
    second = np.where(ends - starts > 1, order[np.maximum(ends - 2, 0)], -1)
    return first, second


def runs_of_equal_columns(matrix: Ints) -> tuple[Ints, Ints]:
    """First and last position of every maximal stretch of equal columns."""
    change = np.flatnonzero((matrix[:, 1:] != matrix[:, :-1]).any(axis=0)) + 1
    starts = np.concatenate([[0], change])
    return starts, np.concatenate([change - 1, [matrix.shape[1] - 1]])
