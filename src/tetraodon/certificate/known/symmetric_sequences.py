"""Minimal zero-sum sequences where known counts can be exchanged for each other: one of many alike is looked for.

Both margins of a 3 x 3 table have a hundred thousand minimal sequences, too many to be found one by one; but rows, and
columns, can be renamed, and what each margin gains be lost in place of it. What is left is about a thousand.
"""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np

from tetraodon.arrays import Ints, SmallInts
from tetraodon.certificate.known.classes import Classes
from tetraodon.certificate.known.zero_sum import Sequences, Vector

STATES = 20_000
"""How many unfinished sequences are extended before the search gives up."""
SYMMETRIES = 1000
_BASE = 256


def symmetric_sequences(classes: Classes, edges: frozenset[Vector]) -> Sequences:
    """All minimal zero-sum sequences that contain a vector of `edges`; not complete where they are too many."""
    every = _every_sequence(classes.counted, classes.vectors, classes.ends)
    secret = [number for number, vector in enumerate(every.vectors) if vector in edges]
    return Sequences(every.vectors, every.times[every.times[:, secret].any(axis=1)], every.complete)


@lru_cache(maxsize=4)
def _every_sequence(counted: tuple[Vector, ...], vectors: tuple[Vector, ...], ends: tuple[int, ...]) -> Sequences:
    """All minimal zero-sum sequences.

    Why   as `minimal_sequences`, but from each start; and of those that a symmetry maps to each other one is extended.
          A symmetry changes the order of a fact's counts, or the sign of all of them, and maps moves to moves. It keeps
          products of moves, so that what it maps to each other is extended alike. In products a fact that splits the
          classes into many parts weighs more, which leaves less to extend.
    """
    pairs = list(itertools.permutations(range(len(vectors)), 2))
    whole = {_step(vectors[a], vectors[b]): _step(counted[a], counted[b]) for a, b in pairs}
    names = tuple(sorted(whole))
    moves = np.array([whole[name] for name in names], np.int64)
    slopes = np.zeros((len(moves), len(moves)), np.int64)
    for start, end in itertools.pairwise((0, *ends)):
        part = moves[:, start:end]
        parts = len({row[start:end] for row in counted})
        slopes += 2 * parts // max(1, int((part**2).sum(axis=1).max())) * (part @ part.T)
    back, left = _symmetries(moves, ends), STATES
    code = [sum(entry * _BASE**place for place, entry in enumerate(name)) for name in names]
    level, found = _one_of_each(np.eye(len(names), dtype=np.int16), back), [np.zeros((0, len(names)), np.int16)]
    while len(level):
        left -= len(level)
        if left < 0 or len(back) > SYMMETRIES:
            return Sequences(names, found[0], False)
        done, level = _extended(level, slopes, code)
        found.append(_one_of_each(done, back))
        level = _one_of_each(level, back)
    several = np.concatenate(found)
    return Sequences(names, _different(np.concatenate([several[:, order] for order in back])), True)


def _step(x: Vector, y: Vector) -> Vector:
    return tuple(q - p for p, q in zip(x, y, strict=True))


def _extended(level: SmallInts, slopes: Ints, code: list[int]) -> tuple[SmallInts, SmallInts]:
    """Sequences that are finished by one more move, and those that are longer by one and hold no zero-sum part."""
    down = level @ slopes < 0
    done: list[tuple[int, int]] = []
    longer: list[tuple[int, int]] = []
    for number, row in enumerate(level.tolist()):
        total, sums = 0, {0}
        for move, times in enumerate(row):
            for _ in range(times):
                total += code[move]
                sums |= {part + code[move] for part in sums}
        for move in np.flatnonzero(down[number]).tolist():
            if total == -code[move]:
                done.append((number, move))
            elif -code[move] not in sums:
                longer.append((number, move))
    return _with_one_more(level, done), _with_one_more(level, longer)


def _with_one_more(level: SmallInts, more: list[tuple[int, int]]) -> SmallInts:
    rows, moves = np.array(more, np.int64).reshape(-1, 2).T
    found = level[rows]
    found[np.arange(len(rows)), moves] += 1
    return found


def _one_of_each(rows: SmallInts, back: Ints) -> SmallInts:
    """One of all that symmetries map to each other, or a few of them: that with the least sum of some numbers.

    Why   numbers below 2^40 add up exactly for less than 2^13 moves. Two with the same sum are kept apart.
    """
    if not len(rows):
        return rows
    marks = np.random.default_rng(1990).integers(0, 2**40, rows.shape[1]).astype(float)
    forth = np.argsort(back, axis=1)
    least = np.argmin(rows.astype(float) @ marks[forth].T, axis=1)
    return _different(np.take_along_axis(rows, back[least], axis=1))


def _different(rows: SmallInts) -> SmallInts:
    """The rows without repetition, in an order that is always the same; faster than NumPy's."""
    keys = sorted({row.tobytes() for row in rows})
    return np.frombuffer(b"".join(keys), rows.dtype).reshape(-1, rows.shape[1])


def _symmetries(moves: Ints, ends: tuple[int, ...]) -> Ints:
    """Orders of the moves that come of exchanging two counts, or of taking one fact the other way round, and so on.

    Where they are more than `SYMMETRIES`, there are some missing.
    """
    number = {tuple(move): place for place, move in enumerate(moves.tolist())}
    changed = []
    for start, end in itertools.pairwise((0, *ends)):
        for i, j in itertools.combinations(range(start, end), 2):
            order = np.arange(moves.shape[1])
            order[[i, j]] = j, i
            changed.append(moves[:, order])
        turned = moves.copy()
        turned[:, start:end] *= -1
        changed.append(turned)
    steps = [[number.get(tuple(move), -1) for move in one] for one in map(np.ndarray.tolist, changed)]
    steps = [step for step in steps if -1 not in step]
    found = {tuple(range(len(moves)))}
    last = found
    while last and len(found) <= SYMMETRIES:
        last = {tuple(step[place] for place in order) for order in last for step in steps} - found
        found |= last
    return np.array(sorted(found), np.int64)
