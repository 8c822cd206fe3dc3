"""Minimal zero-sum sequences and null vectors are what their definitions say, and never longer than the bound."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from fractions import Fraction

import pytest

from tetraodon.certificate.known.sequences import (
    Vector,
    differences,
    independent_coordinates,
    length_bound,
    length_bound_over_a_table,
    minimal_sequences,
    null_vector,
)


def is_minimal(vectors: list[Vector]) -> bool:
    def zero(part: tuple[Vector, ...]) -> bool:
        return not any(map(sum, zip(*part, strict=True)))

    parts = (part for size in range(1, len(vectors)) for part in itertools.combinations(vectors, size))
    return zero(tuple(vectors)) and not any(zero(part) for part in parts)


def test_it_is_the_list_of_all_minimal_sequences() -> None:
    rng = random.Random(1)
    for _ in range(25):
        cube = list(itertools.product((0, 1), repeat=2))
        classes = tuple(rng.sample(cube, rng.randint(2, 4)))
        moves = sorted(differences(classes))
        edges = frozenset(v for w in rng.sample(moves, 1) for v in (w, tuple(-e for e in w)))
        listed = minimal_sequences(classes, edges)
        found = {tuple(sorted(listed.vectors[k] for k in members)) for members in listed.found}
        every = {
            chosen
            for length in range(2, 6)
            for chosen in itertools.combinations_with_replacement(moves, length)
            if set(chosen) & edges and is_minimal(list(chosen))
        }
        assert listed.complete
        assert found == every


def test_limits() -> None:
    classes = tuple(itertools.product((0, 1), repeat=3))
    edges = frozenset(differences(classes))
    short = minimal_sequences(classes, edges, most=3)
    assert short.complete
    assert {len(found) for found in short.found} == {2, 3}
    assert not minimal_sequences(classes, edges, work=1000).complete


def test_no_sequence_is_longer_than_the_bound() -> None:
    rng = random.Random(2)
    cube = list(itertools.product((0, 1), repeat=3))
    for _ in range(30):
        classes = tuple(rng.sample(cube, rng.randint(2, 6)))
        steps = [[v[k] - classes[0][k] for v in classes] for k in range(3)]
        kept = independent_coordinates(steps)
        reduced = tuple(tuple(v[k] for k in kept) for v in classes)
        listed = minimal_sequences(reduced, frozenset(differences(reduced)))
        longest = max(map(len, listed.found))
        moves = differences(reduced)
        entries = max(sum(map(abs, move)) for move in moves)
        assert longest <= length_bound(len(kept), len(moves) // 2, entries)


def test_no_sequence_is_longer_than_the_bound_over_a_table() -> None:
    """A table of an attribute's values and one or two other counts, all of whose combinations occur."""
    for parts, others in ((2, 1), (3, 1), (2, 2), (2, 0), (4, 0)):
        rest = list(itertools.product((0, 1), repeat=others))
        classes = beside_a_table(parts, rest)
        listed = minimal_sequences(classes, frozenset(differences(classes)))
        assert listed.complete
        longest = max(map(len, listed.found))
        assert longest <= length_bound_over_a_table(parts, others, rest if others == 2 else ())
        assert others > 1 or longest == length_bound_over_a_table(parts, others)
    some = minimal_sequences(four := beside_a_table(4, [(0,), (1,)]), frozenset(differences(four)), work=3_000_000)
    assert max(map(len, some.found)) == length_bound_over_a_table(4, 1)  # too many to list them all


def beside_a_table(parts: int, rest: list[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    table = [tuple(int(part == k) for k in range(parts - 1)) for part in range(parts)]
    return tuple((*row, *other) for row in table for other in rest)


@pytest.mark.parametrize("parts", [4, 5, 6, 16])
def test_the_bound_for_one_other_count_is_attained(parts: int) -> None:
    """A cycle that adds (p + 1) // 2 or one more to the other count, and one that takes off one less or as much.

    What is left of a minimal sequence is one of whole numbers, since the two cycles are all the cycles there are.
    """
    half = (parts + 1) // 2
    if parts % 2:  # they share a step, which adds one in both
        up = [(k, (k + 1) % half, 1) for k in range(half)]
        stops = [0, 1, *range(half, parts)]
        down = [(0, 1, 1), *((a, b, -1) for a, b in itertools.pairwise([*stops[1:], 0]))]
    else:  # they share a stop
        up = [(k, (k + 1) % (half + 1), 1) for k in range(half + 1)]
        stops = [0, *range(half + 1, parts), 0]
        down = [(a, b, -1) for a, b in itertools.pairwise(stops)]
    gain, loss = (sum(step for *_, step in cycle) for cycle in (up, down))
    assert math.gcd(gain, loss) == 1
    moves = Counter(dict.fromkeys(up, -loss)) + Counter(dict.fromkeys(down, gain))
    assert moves.total() == length_bound_over_a_table(parts, 1) == (parts + 1) ** 2 // 2
    arcs = list(moves)
    rows = [[(b == part) - (a == part) for a, b, _ in arcs] for part in range(parts)]
    rows.append([step for *_, step in arcs])
    assert all(sum(e * moves[arc] for e, arc in zip(row, arcs, strict=True)) == 0 for row in rows)
    assert len(arcs) - len(independent_coordinates(rows)) == 1  # whatever adds up to nothing is a multiple of it
    assert math.gcd(*moves.values()) == 1


def test_points_of_the_plane() -> None:
    """Against a count of all of them, for what two counts can be added together, apart, or one inside the other."""
    for added in ([(0, 0), (0, 1), (1, 0)], [(0, 0), (1, 0), (1, 1)], list(itertools.product((0, 1), repeat=2))):
        for parts in (1, 2, 3, 5):
            counted = []
            for slant in (-1, 0, 1):
                widest = max(x * x + slant * x * y + y * y for x, y in differences(added))
                side = range(-4 * parts, 4 * parts + 1)
                points = [4 * (x * x + slant * x * y + y * y) <= 5 * parts**2 * widest for x in side for y in side]
                counted.append(sum(points))
            steinitz = (2 * (3 * parts // 2) + 1) ** 2
            assert length_bound_over_a_table(parts, 2, added) == parts * min(*counted, steinitz)


def test_known_lengths() -> None:
    """All of {0, 1}^d: two counts give 4, three give 10 (9 if one attribute moves at a time)."""
    for dimension, longest in ((1, 2), (2, 4), (3, 10)):
        classes = tuple(itertools.product((0, 1), repeat=dimension))
        assert max(map(len, minimal_sequences(classes, frozenset(differences(classes))).found)) == longest
    assert length_bound(0, 0, 0) == 1


def test_independent_coordinates() -> None:
    assert independent_coordinates([[0, 1, 1], [0, 2, 2], [0, 0, 1], [0, 1, 0]]) == [0, 2]
    assert independent_coordinates([]) == []


def test_independent_coordinates_are_those_that_raise_the_rank() -> None:
    """Against the rank by elimination in fractions, for entries that do not divide each other."""
    rng = random.Random(3)
    for _ in range(200):
        width, span = rng.randint(1, 6), rng.choice((1, 2, 50))
        rows = [[rng.choice((0, 0, rng.randint(-span, span))) for _ in range(width)] for _ in range(rng.randint(1, 7))]
        ranks = [rank_of(rows[:count]) for count in range(len(rows) + 1)]
        assert independent_coordinates(rows) == [at for at in range(len(rows)) if ranks[at + 1] > ranks[at]]


def rank_of(rows: list[list[int]]) -> int:
    left = [[Fraction(entry) for entry in row] for row in rows]
    rank = 0
    for column in range(len(rows[0]) if rows else 0):
        lead = next((row for row in left if row[column]), None)
        if lead is not None:
            left.remove(lead)
            left = [[a - row[column] / lead[column] * b for a, b in zip(row, lead, strict=True)] for row in left]
            rank += 1
    return rank


def test_it_is_a_relation() -> None:
    rng, found = random.Random(7), 0
    cube = list(itertools.product((0, 1), repeat=4))
    while found < 40:
        vectors = tuple(rng.sample(cube, 6))
        if len(independent_coordinates([[1] * 6, *([v[k] for v in vectors] for k in range(4))])) < 5:
            continue
        r = null_vector(vectors)
        assert sum(r) == 0
        assert all(sum(c * v[k] for c, v in zip(r, vectors, strict=True)) == 0 for k in range(4))
        assert math.gcd(*r) == 1
        found += 1


def test_the_square() -> None:
    assert null_vector(((0, 0), (0, 1), (1, 0), (1, 1))) in ((1, -1, -1, 1), (-1, 1, 1, -1))
