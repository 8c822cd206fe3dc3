"""The minimal zero-sum sequence of moves that pushes the answers farthest, for three shapes of known counts.

All three are exact over the patterns of signs that they are given, and every sequence has a secret move in it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.certificate.known.sign_patterns import Arc, Reach
from tetraodon.certificate.known.zero_sum import Sequences, Vector

STRAIGHT = 20
"""Secret moves that are tried where not every order of the classes is."""


@dataclass(frozen=True)
class Farthest:
    """The largest push, under which pattern of signs, and the moves between classes, the secret one first."""

    value: int
    row: int
    moves: tuple[Arc, ...]


def farthest_cycle(reach: Reach, balance: Sequence[int] = ()) -> Farthest | None:
    """Over simple cycles of classes: all there is when the classes' vectors are affinely independent.

    `balance` is the one relation r between the classes, where there is one.
    Why  then a multiset of moves adds up to nothing only if as many enter each class as leave it, and the parts of such
         a multiset are cycles. A cycle through every class is best, since a class loses nothing by taking part.
         With a relation r a part of the cycle may add up to nothing, too. Parts of a cycle are paths, which lose a
         record where they start and gain one where they end, by turns around the cycle. So that part is there only if r
         does so, too. No two classes are alike, so r gains in two or more and loses in two or more: with the gains next
         to each other, and those that are like b next to b, it does not.
    """
    rest = (reach.top - reach.low).sum(axis=1)
    best: Farthest | None = None
    for (a, b), gain in reach.arcs.items():
        value = rest - (reach.top[:, b] - reach.low[:, a]) + gain
        row = int(np.argmax(value))
        if best is None or value[row] > best.value:
            others = [c for c in range(reach.top.shape[1]) if c not in (a, b)]
            if balance:
                others.sort(key=lambda c: balance[c] if balance[b] < 0 else -balance[c])
            stops = [a, b, *others, a]
            best = Farthest(int(value[row]), row, tuple(itertools.pairwise(stops)))
    return best


def farthest_flow(reach: Reach, balance: Sequence[int]) -> Farthest | None:
    """Over flows without cycles that bring `balance[c]` more moves into each class c than out of it.

    With one relation r between the classes, these flows for r, and the simple cycles, are all the minimal sequences.
    Why  a multiset of moves adds up to nothing exactly if its balance is t r. If |t| > 1, half of it, rounded, holds
         a part of balance r (flows are integral). If t is 1 and there is no cycle, a part of balance 0 is empty and
         one of balance r is everything; one of balance -r would leave 2 r, which holds r, and a cycle. A flow
         without cycles runs along some order of the classes; passing through a class loses nothing, so every
         unit stops everywhere, but for the one that makes the secret move.
    """
    best: Farthest | None = None
    for r in (tuple(balance), tuple(-entry for entry in balance)):
        for a, b in reach.arcs:
            found = _best_order(reach, r, a, b)
            if found is not None and (best is None or found.value > best.value):
                best = found
    return best


def straight_flow(reach: Reach, balance: Sequence[int]) -> Farthest | None:
    """A long flow, where there are too many classes to try every order: a bound from below.

    Classes that lose records come first and those that gain last, with the ends of a secret move next to each other.
    """
    best: Farthest | None = None
    for r in (tuple(balance), tuple(-entry for entry in balance)):
        rising = sorted(range(len(r)), key=lambda c: r[c])
        for a, b in [(a, b) for a, b in reach.arcs if r[a] <= 0 <= r[b]][:STRAIGHT]:
            loses = [c for c in rising if r[c] < 0 and c != a]
            between = [c for c in rising if r[c] == 0 and c not in (a, b)]
            gains = [c for c in rising if r[c] > 0 and c != b]
            moves = tuple(_steps([*loses, *between, a, b, *gains], r, a, b))
            ends = np.array(moves[1:], np.int64).reshape(-1, 2)
            leaving, entering = (np.bincount(ends[:, k], minlength=len(r)) for k in (0, 1))
            value = reach.arcs[a, b] + reach.top @ entering - reach.low @ leaving
            row = int(np.argmax(value))
            if best is None or value[row] > best.value:
                best = Farthest(int(value[row]), row, moves)
    return best


def _best_order(reach: Reach, r: Sequence[int], a: int, b: int) -> Farthest | None:
    """Dynamic programming over the set of classes that come before."""
    count = len(r)
    flow = [-sum(r[c] for c in range(count) if done >> c & 1) for done in range(1 << count)]
    value: dict[int, Ints] = {0: np.zeros(len(reach.top), np.int64)}
    came: dict[int, Ints] = {}
    for done in range(1 << count):
        if done not in value:
            continue
        for c in range(count):
            after = done | 1 << c
            if after == done or flow[after] < 0 or (c == b and not done >> a & 1):
                continue
            jumping = bool(done >> a & 1) and not done >> b & 1
            entering = flow[done] - jumping
            leaving = flow[after] - (c == a or (jumping and c != b))
            if entering < 0 or leaving < 0:
                continue
            gain = entering * reach.top[:, c] - leaving * reach.low[:, c] + (reach.arcs[a, b] if c == b else 0)
            total = value[done] + gain
            if after not in value:
                value[after], came[after] = total, np.full(len(total), c)
            else:
                better = total > value[after]
                value[after] = np.where(better, total, value[after])
                came[after] = np.where(better, c, came[after])
    whole = (1 << count) - 1
    if whole not in value:
        return None
    row = int(np.argmax(value[whole]))
    order: list[int] = []
    done = whole
    while done:
        order.append(int(came[done][row]))
        done ^= 1 << order[-1]
    order.reverse()
    return Farthest(int(value[whole][row]), row, tuple(_steps(order, r, a, b)))


def _steps(order: Sequence[int], r: Sequence[int], a: int, b: int) -> list[Arc]:
    """The moves of a flow that stops at every class in order, with one unit that goes from a straight to b."""
    moves: list[Arc] = [(a, b)]
    level, jumping = 0, False
    for here, there in itertools.pairwise(order):
        level -= r[here]
        jumping = (jumping or here == a) and here != b
        moves += [(here, there)] * (level - jumping)
    return moves


def farthest_listed(reach: Reach, sequences: Sequences, vectors: Sequence[Vector]) -> Farthest | None:
    """Over a list of minimal sequences of vectors; each vector may be made by several pairs of classes."""
    place = {vector: number for number, vector in enumerate(sequences.vectors)}
    patterns, width = len(reach.top), len(place)
    gain = np.full((patterns, width), -(2**60), np.int64)
    secret = np.full((patterns, width), -(2**60), np.int64)
    pairs: list[list[Arc]] = [[] for _ in place]
    for a, source in enumerate(vectors):
        for b, target in enumerate(vectors):
            if a != b:
                number = place[tuple(q - p for p, q in zip(source, target, strict=True))]
                pairs[number].append((a, b))
                gain[:, number] = np.maximum(gain[:, number], reach.top[:, b] - reach.low[:, a])
                if (a, b) in reach.arcs:
                    secret[:, number] = np.maximum(secret[:, number], reach.arcs[a, b])
    best: tuple[int, int, int, int] | None = None
    edges = [number for number in range(width) if secret[0, number] > -(2**60)]
    for start in range(0, len(sequences.times), 4096):
        times = sequences.times[start : start + 4096].astype(np.int64)
        total = times @ gain.T
        for number in edges:
            holds = np.flatnonzero(times[:, number])
            if len(holds):
                value = total[holds] + (secret[:, number] - gain[:, number])[None, :]
                at = int(np.argmax(value))
                sequence, row = divmod(at, patterns)
                if best is None or value.flat[at] > best[0]:
                    best = (int(value.flat[at]), row, start + int(holds[sequence]), number)
    if best is None:
        return None
    top, row, chosen, number = best
    rest = np.repeat(np.arange(width), sequences.times[chosen]).tolist()
    rest.remove(number)
    first = max((arc for arc in pairs[number] if arc in reach.arcs), key=lambda arc: reach.arcs[arc][row])
    others = [max(pairs[n], key=lambda arc: reach.top[row, arc[1]] - reach.low[row, arc[0]]) for n in rest]
    return Farthest(top, row, (first, *others))
