"""How far each class of values can push the answers, under each pattern of signs.

For fixed signs a dataset's answers add up to one number, the sum of g(x) over its records. A move from class a to class
b gains at most the best g in b less the worst g in a; a secret move, the best of its pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.certificate.known.answer_space import AnswerSpace
from tetraodon.certificate.known.push_bounds import PushBounds
from tetraodon.certificate.known.zero_sum import null_vector

Arc: TypeAlias = tuple[int, int]
EDGE_WORK = 20_000_000
LONE_CLASSES = 12


@dataclass(frozen=True, eq=False)
class Reach:
    """Rows are patterns of signs: `top` and `low` the best and worst g in each class, `arcs` the best secret moves.

    `complete` says that the patterns, and the secret moves that were looked at, are all there are.
    """

    space: PushBounds
    top: Ints
    low: Ints
    arcs: dict[Arc, Ints]
    complete: bool
    signs: Ints | None

    def datasets(self, row: int, moves: Sequence[Arc]) -> tuple[list[int], list[int]]:
        """Cells of two datasets that attain the value of `moves` under a pattern; the first move is the secret one."""
        classes = self.space.classes
        a, b = moves[0]
        x, y = classes.crossing
        here = np.flatnonzero((classes.class_of[x] == a) & (classes.class_of[y] == b))
        if self.signs is None:
            gains = [int(cells[0]) for cells in classes.members]
            loses = [int(cells[-1]) for cells in classes.members]
            first, second = int(x[here[0]]), int(y[here[0]])
            gains[a], loses[a] = next((int(c) for c in classes.members[a] if c != first), first), first
            gains[b], loses[b] = second, next((int(c) for c in classes.members[b] if c != second), second)
        else:
            assert isinstance(self.space, AnswerSpace)
            g = self.signs[row] @ self.space.columns
            gains = [int(cells[np.argmax(g[cells])]) for cells in classes.members]
            loses = [int(cells[np.argmin(g[cells])]) for cells in classes.members]
            best = here[np.argmax(g[y[here]] - g[x[here]])]
            first, second = int(x[best]), int(y[best])
        return (
            [first, *(loses[source] for source, _ in moves[1:])],
            [second, *(gains[target] for _, target in moves[1:])],
        )


def reach_of(space: AnswerSpace, *, short: bool = False) -> Reach:
    """The reach of every class, for every pattern of signs or for a selection of them.

    `short` says that not all sequences of moves will be looked at.
    """
    if space.one_row_per_cell:
        return _of_a_histogram(space)
    signs, every = space.signs
    return _along(space, signs @ space.columns, every, signs, short=short)


def reach_of_rows(space: AnswerSpace) -> Reach:
    """The reach of every class, for every answer by itself."""
    return _along(space, space.rows, True, None)


def _along(space: AnswerSpace, g: Ints, every: bool, signs: Ints | None, *, short: bool = False) -> Reach:
    classes = space.classes
    top = np.stack([g[:, cells].max(axis=1) for cells in classes.members], axis=1)
    low = np.stack([g[:, cells].min(axis=1) for cells in classes.members], axis=1)
    x, y = classes.crossing
    pair = classes.class_of[x] * classes.count + classes.class_of[y]
    free = None if short else _free_arc(space, pair)
    order = np.argsort(pair, kind="stable") if free is None else np.flatnonzero(pair == free)
    if len(order) * len(g) > EDGE_WORK:
        every = False
        order = order[_first_of_each(pair[order], max(1, EDGE_WORK // 10 // len(g) // classes.count**2))]
    x, y, pair = x[order], y[order], pair[order]
    arcs: dict[Arc, Ints] = {}
    if len(pair):
        starts = np.flatnonzero(np.diff(pair, prepend=-1))
        best = np.maximum.reduceat(g[:, y] - g[:, x], starts, axis=1)
        for place, start in enumerate(starts):
            a, b = divmod(int(pair[start]), classes.count)
            arcs[a, b] = best[:, place]
    return Reach(space, top, low, arcs, every, signs)


def _free_arc(space: AnswerSpace, pair: Ints) -> int | None:
    """Two classes of which any two values are a secret, as the number of their pair, where such are all that counts.

    Why  a secret move between them gains as much as any move does. Around a cycle through all classes no other gains
         more, so none need be looked at.
    """
    classes = space.classes
    if classes.count != classes.dimension + 1:
        return None
    moves = np.bincount(pair, minlength=classes.count**2)
    free = np.flatnonzero(moves == np.outer(classes.sizes, classes.sizes).ravel())
    return int(free[0]) if len(free) else None


def _of_a_histogram(space: AnswerSpace) -> Reach:
    """A class of two or more cells gains in one of them and loses in another; a lone cell does one or the other.

    Why  the secret move leaves x in class a for y in class b: let x be the cell that loses in a, and y the one that
         gains in b. So a secret move gains as much as any move between its classes.
    """
    classes = space.classes
    weight = space.queries[0][1]
    lone = np.flatnonzero(classes.sizes == 1)
    every = len(lone) <= LONE_CLASSES
    if every:
        chosen = ((np.arange(2 ** len(lone))[:, None] >> np.arange(len(lone))[None, :]) & 1) * 2 - 1
    else:
        chosen = np.random.default_rng(20140622).integers(0, 2, (64, len(lone))) * 2 - 1
        if classes.count == classes.dimension + 2:  # the one relation between them says which lose and which gain
            signs = np.where(np.array(null_vector(classes.vectors))[lone] > 0, 1, -1)
            chosen = np.concatenate([signs[None, :], -signs[None, :], chosen])
    top = np.full((len(chosen), classes.count), weight, np.int64)
    low = -top
    top[:, lone] = low[:, lone] = chosen * weight
    arcs = {(a, b): top[:, b] - low[:, a] for a, b in classes.arcs}
    return Reach(space, top, low, arcs, every, None)


def _first_of_each(labels: Ints, most: int) -> Ints:
    starts = np.flatnonzero(np.diff(labels, prepend=-1))
    place = np.arange(len(labels)) - np.repeat(starts, np.diff(np.append(starts, len(labels))))
    return np.flatnonzero(place < most)
