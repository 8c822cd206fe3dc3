"""Maxima over pairs on a line: in a sliding window or in the same block, of smoothed counts over the longest steps.

In windows and blocks it is the largest a(x) + a(y) + |h(x) - h(y)|, in linear time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.certificate.axis import Peak, Term, best_edge, best_step, linear_in_code, longest_reach, weighted
from tetraodon.policy.attribute_graph import AttributeGraph, Everything, Within
from tetraodon.workload.contribution import One
from tetraodon.workload.smooth import Hats, Ramps
from tetraodon.workload.squared import Squared


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
    if len(values) > 1 and not blocks.any():  # one block: without sorting
        top = int(np.argmax(values))
        next_top = int(np.argmax(np.delete(values, top)))
        return np.array([top]), np.array([next_top + (next_top >= top)])
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


LISTED = 200_000
"""Edges that are looked at one by one rather than bounded."""


def longest_step(graph: AttributeGraph, lone: Sequence[Term], same: Sequence[Term]) -> Peak | None:
    """The most that squares of smoothed counts move with each other; None where there are none, or others in the way.

    Post  exact where a step from code 0 attains every term's own maximum, or where the edges are few; else a bound.
    """
    if not isinstance(graph, Everything | Within) or not any(_smooth(term) for term in same):
        return None
    level = all(isinstance(t.contribution, One) or _smooth(t) is Hats for t in lone)
    if not level or not all(_smooth(term) or linear_in_code(term) for term in same):
        return None
    reach = longest_reach(graph)
    ends = {reach}
    for term in (*lone, *same):
        kind = term.contribution
        if isinstance(kind, Squared) and isinstance(kind.of, Hats) and kind.of.width <= reach:
            ends |= {kind.of.width, reach // kind.of.width * kind.of.width}
    y = np.array(sorted(ends))
    found = best_step(lone, same, np.zeros_like(y), y)
    start = np.array([0])
    bound = sum(2 * t.weight * int(t.contribution.alone(start)[0]) for t in lone)
    bound += sum(t.weight * _most(t, reach) for t in same)
    if found.value == bound:
        return found
    if graph.edge_count <= LISTED:
        cells = np.arange(graph.size)
        alone = weighted(lone, [t.contribution.alone(cells) for t in lone], len(cells))
        return best_edge(graph.edges(), [(t, cells) for t in same], alone)
    return Peak(bound, found.x, found.y, exact=False)


def _smooth(term: Term) -> type[Hats | Ramps] | None:
    kind = term.contribution
    return type(kind.of) if isinstance(kind, Squared) and isinstance(kind.of, Hats | Ramps) else None


def _most(term: Term, reach: int) -> int:
    """The largest move of a term whose largest move is its longest."""
    if isinstance(term.contribution, Squared) and _smooth(term):
        return term.contribution.most(reach)
    return int(term.contribution.apart(np.array([0]), np.array([reach]))[0])
