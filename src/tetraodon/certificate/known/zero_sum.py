"""Minimal zero-sum sequences of moves: the changes between neighbours under known counts.

A record that moves from a class of values to another changes the known sums by a vector. Neighbours change records so
that the vectors add up to nothing and no part of them does: a *minimal zero-sum sequence*. As multisets these are
the non-negative part of the Graver basis of the known counts. Where there are two classes more than independent known
counts, one *null vector* says which classes lose records and which gain them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from tetraodon.arrays import SmallInts
from tetraodon.rational import row_reduced

Vector: TypeAlias = tuple[int, ...]
SEARCH_LIMIT = 400_000
"""How many partial sums a search may hold and extend before it gives up."""
_BASE = 1 << 20


@dataclass(frozen=True, slots=True)
class Sequences:
    """Minimal zero-sum sequences: how often each holds each of `vectors`. `complete` unless the search gave up."""

    vectors: tuple[Vector, ...]
    times: SmallInts
    complete: bool

    @property
    def longest(self) -> int:
        return int(self.times.sum(axis=1, dtype=np.int64).max(initial=1))

    @property
    def found(self) -> list[tuple[int, ...]]:
        """The same as sorted positions in `vectors`."""
        return [tuple(np.repeat(np.arange(len(self.vectors)), row).tolist()) for row in self.times]


def differences(classes: Sequence[Vector]) -> set[Vector]:
    """The vectors of all moves between two different classes."""
    return {tuple(b - a for a, b in zip(x, y, strict=True)) for x in classes for y in classes if x != y}


@lru_cache(maxsize=4096)
def minimal_sequences(
    classes: tuple[Vector, ...], edges: frozenset[Vector], *, most: int | None = None, work: int = SEARCH_LIMIT
) -> Sequences:
    """All minimal zero-sum sequences, at most `most` long, that contain a vector of `edges`.

    Pre   classes are distinct vectors; `edges` are differences of two of them, closed under negation.
    Why   Fill from any member of the sequence: the rest adds up to minus the sum s so far, so that some member w
          of the rest has <s, w> < 0, and only such w need be tried (Contejean and Devie 1994). We start from
          the first edge vector and use no earlier one. If a zero-sum-free s meets w = -s, the whole is minimal:
          a part that adds up to zero would hold w, and what it leaves out would add up to zero before.
    """
    moves = differences(classes)
    vectors = tuple(sorted(moves & edges)) + tuple(sorted(moves - edges))
    starts = len(moves & edges)
    code: list[int] = [sum(entry * _BASE**place for place, entry in enumerate(vector)) for vector in vectors]
    product = [[sum(a * b for a, b in zip(v, w, strict=True)) for w in vectors] for v in vectors]
    found: set[tuple[int, ...]] = set()
    seen: set[tuple[int, ...]] = set()
    longest = math.inf if most is None else most
    for start in range(starts):
        stack: list[tuple[tuple[int, ...], int, frozenset[int], list[int]]]
        stack = [((start,), code[start], frozenset([code[start]]), product[start])]
        while stack:
            members, total, sums, slope = stack.pop()
            work -= len(sums) + len(vectors)
            if work < 0:
                return Sequences(vectors, _times(found, len(vectors)), False)
            for j in range(start, len(vectors)):
                if slope[j] >= 0 or (-code[j] in sums and total != -code[j]) or len(members) >= longest:
                    continue
                more = tuple(sorted((*members, j)))
                if total == -code[j]:
                    found.add(more)
                elif more not in seen:
                    seen.add(more)
                    extended = sums | {part + code[j] for part in sums} | {code[j]}
                    stack.append(
                        (more, total + code[j], extended, [a + b for a, b in zip(slope, product[j], strict=True)])
                    )
    return Sequences(vectors, _times(found, len(vectors)), True)


def _times(found: Collection[tuple[int, ...]], width: int) -> SmallInts:
    times = np.zeros((len(found), width), np.int16)
    for row, members in zip(times, sorted(found), strict=True):
        np.add.at(row, list(members), 1)
    return times


def length_bound(dimension: int, vectors: int, entries: int) -> int:
    """A length that no minimal zero-sum sequence of vectors with entries -1, 0, 1 exceeds.

    Pre   the vectors span `dimension` dimensions, there are `vectors` of them up to sign, and each has at most
          `entries` that are not zero.
    Why   the smaller of two bounds. (i) Some order keeps all partial sums within d - 1 + 1/d in the maximum norm
          (Steinitz's lemma with Banaszczyk's constant), and partial sums of a minimal sequence differ, so there
          are at most (2d-1)^d of them for d >= 2. (ii) A minimal sequence is a sum of at most N - d circuits with
          weights at most one, and a circuit has at most d+1 entries, all subdeterminants, which Hadamard bounds
          by the product of the vectors' lengths, entries^(d/2) (Sturmfels 1996, Thm 4.7).
    """
    if dimension == 0:
        return 1
    if dimension == 1:
        return 2
    steinitz: int = (2 * dimension - 1) ** dimension
    hadamard: int = math.isqrt(entries**dimension)
    circuits = (dimension + 1) * max(1, vectors - dimension) * hadamard
    return min(steinitz, circuits)


def length_bound_over_a_table(parts: int, others: int, added: Sequence[Vector] = ()) -> int:
    """A length that no minimal zero-sum sequence exceeds, where a table of `parts` cells and `others` counts are known.

    `added` is what classes of values add to the others, where these are two.

    Why   by the table alone, the sequence falls into cycles of at most `parts` moves (p). Their moves of the other
          counts are a minimal zero-sum sequence again. For one other count at most (p + 1)^2 / 2 moves are left: the
          proof is in docs/neighbours.md, and some policies attain it. For two, moves are at most r long by some inner
          product, so cycles at most r p, and some order keeps partial sums, which differ, within sqrt(5)/2 r p
          (Steinitz's lemma with the constant of the Euclidean plane, Banaszczyk 1990). For d, within
          (d - 1 + 1/d) p in the maximum norm.
    """
    if others == 0:
        return parts
    if others == 1:
        return max(parts, (parts + 1) ** 2 // 2)
    reach = (others * others - others + 1) * parts // others
    blocks: int = (2 * reach + 1) ** others
    if others == 2 and added:
        blocks = min(blocks, *(_points(slant, parts, added) for slant in (-1, 0, 1)))
    return parts * blocks


def _points(slant: int, parts: int, added: Sequence[Vector]) -> int:
    """How many points of the plane have 4 (x^2 + slant x y + y^2) <= 5 parts^2 r^2, if moves are r long at most.

    Why   the left side is (2 y + slant x)^2 + (4 - slant^2) x^2: for each x every other whole number is a point.
    """
    most = 5 * parts**2 * max(x * x + slant * x * y + y * y for x, y in differences(added))
    across, found = 4 - slant**2, 0
    for x in range(-math.isqrt(most // across), math.isqrt(most // across) + 1):
        reach = math.isqrt(most - across * x * x)
        found += reach + (reach - slant * x + 1) % 2
    return found


def independent_coordinates(rows: Sequence[Sequence[int]], until: int | None = None) -> list[int]:
    """Positions of rows that span all rows, by exact elimination: first come, first kept.

    With `until`, one from there on is the last that is looked for.

    Why   entries that are not zero are few once a row is reduced, and stay whole numbers without a common factor.
    """
    kept: list[int] = []
    basis: list[tuple[int, dict[int, int]]] = []
    for position, row in enumerate(rows):
        rest = {place: int(entry) for place, entry in enumerate(row) if entry}
        for pivot, reduced in basis:
            if pivot in rest:
                rest = _without(pivot, rest, reduced)
        if rest:
            common = math.gcd(*rest.values())
            basis.append((min(rest), {place: entry // common for place, entry in rest.items()}))
            kept.append(position)
            if until is not None and position >= until:
                break
    return kept


def _without(pivot: int, row: dict[int, int], reduced: dict[int, int]) -> dict[int, int]:
    """A multiple of a row less a multiple of another, so that nothing is left at the pivot."""
    factor, lead = row[pivot], reduced[pivot]
    common = math.gcd(factor, lead)
    factor, lead = factor // common, lead // common
    rest = dict(row) if lead == 1 else {place: lead * entry for place, entry in row.items()}
    for place, entry in reduced.items():
        moved = rest.get(place, 0) - factor * entry
        if moved:
            rest[place] = moved
        else:
            rest.pop(place, None)
    return rest


@lru_cache(maxsize=64)
def null_vector(vectors: tuple[Vector, ...]) -> tuple[int, ...]:
    """The whole numbers r, without a common factor, with sum of r = 0 and sum of r_c v_c = 0.

    Pre   there is one such r up to sign: two classes more than dimensions.
    """
    rows = [[Fraction(1), *map(Fraction, vector)] for vector in vectors]
    count, width = len(rows), len(rows[0])
    matrix, pivots = row_reduced([[rows[c][k] for c in range(count)] for k in range(width)], count)
    [free] = [column for column in range(count) if column not in pivots]
    kernel = [Fraction(0)] * count
    kernel[free] = Fraction(1)
    for k, column in enumerate(pivots):
        kernel[column] = -matrix[k][free]
    common = math.lcm(*(entry.denominator for entry in kernel))
    whole = [int(entry * common) for entry in kernel]
    divisor = math.gcd(*whole)
    return tuple(entry // divisor for entry in whole)
