"""Classes of values, segments, and minimal zero-sum sequences between them."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from tests.certificate.known.test_largest_push import check_witness
from tests.certificate.test_loss_by_group import random_groups
from tests.known_worlds import Case, _random_graph, one_at_a_time, random_case, whole_histogram

from tetraodon.certificate import oracle
from tetraodon.certificate.known import sequences as module
from tetraodon.certificate.known.push import edge_vectors, largest_push
from tetraodon.certificate.known.sequences import (
    Classes,
    Vector,
    classes_of,
    coarse,
    differences,
    independent_coordinates,
    joined,
    length_bound,
    length_bound_over_a_table,
    minimal_sequences,
    null_vector,
)
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import Refused
from tetraodon.policy.attribute_graph import Everything, Within
from tetraodon.policy.joint_graph import JointMetric
from tetraodon.policy.known import CountWhere, Known, Marginal, Rectangle, known_query
from tetraodon.policy.secret_graph import ABSENT, Factor, SecretGraph, complete_graph
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, splits

# -- classes --------------------------------------------------------------------------------------


def test_a_class_holds_the_values_that_add_the_same() -> None:
    rng = random.Random(5)
    for _ in range(100):
        case = random_case(rng)
        domain = case.graph.domain
        rows = np.concatenate([known_query(entry, domain).matrix(domain)[0] for entry in case.known])
        found = classes_of(case.graph, case.known, domain.names)
        for x, y in itertools.combinations(range(domain.size), 2):
            assert (found.class_of[x] == found.class_of[y]) == bool((rows[:, x] == rows[:, y]).all())
        assert found.dimension <= len(rows)
        assert found.count <= 2**found.dimension
        assert len(found.class_of) == domain.size + case.graph.absent
        edges = {tuple(sorted((int(x), int(y)))) for x, y in zip(found.x, found.y, strict=True)}
        values = [*map(domain.value, range(domain.size)), *([ABSENT] if case.graph.absent else [])]
        assert edges == {
            (a, b) for a, b in itertools.combinations(range(len(values)), 2) if case.graph.is_edge(values[a], values[b])
        }


def test_attributes_that_nobody_looks_at_do_not_matter() -> None:
    case = one_at_a_time((3, 1000, 1000), Known(Marginal(("a1",))))
    found = classes_of(case.graph, case.known)
    assert found.graph.domain.names == ("a1",)
    assert found.record(2) == (2, 0, 0)


def test_too_many_cells_are_refused() -> None:
    domain = Domain((Attribute("x", Integers(0, 9999)),))
    graph = SecretGraph(domain, (Factor(("x",), Everything(10_000)),), 1)
    with pytest.raises(Refused, match="cells of x"):
        classes_of(graph, (Known(CountWhere("x = 3")),), ("x",))
    with pytest.raises(Refused, match="cells of x"):
        classes_of(graph, (Known(Marginal(("x",))),))


def test_values_that_no_fact_tells_apart_are_taken_as_one() -> None:
    domain = Domain((Attribute("x", Integers(0, 9999)),))
    graph = SecretGraph(domain, (Factor(("x",), Everything(10_000)),), 1)
    found = classes_of(graph, (Known(CountWhere("x = 3")),))
    assert (found.graph.domain.size, found.count, found.dimension) == (2, 2, 1)
    assert {found.record(cell) for cell in range(2)} == {(0,), (3,)}


# -- segments -------------------------------------------------------------------------------------


def test_segments_are_joined_where_an_edge_joins_their_values() -> None:
    rng = random.Random(2)
    for _ in range(300):
        size = rng.randint(1, 7)
        graph = Within(size, rng.randint(1, 4)) if rng.random() < 0.4 else _random_graph(rng, size)
        kinds = np.unique([rng.randrange(3) for _ in range(size)], return_inverse=True)[1]
        truth = {
            (int(kinds[x]), int(kinds[y]))
            for x, y in itertools.permutations(range(size), 2)
            if graph.is_edge(x, y) and kinds[x] != kinds[y]
        }
        found = joined(graph, kinds)
        assert set(found) == truth
        for (u, v), (x, y) in found.items():
            assert (int(kinds[x]), int(kinds[y])) == (u, v)
            assert graph.is_edge(x, y)


def arcs(classes: Classes) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    return {(classes.counted[a], classes.counted[b]) for a, b in classes.arcs}


def test_the_classes_and_their_secrets_are_those_of_the_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    smaller = 0
    for number in range(300):
        case = random_case(rng)
        graph = case.graph if number % 3 else random_groups(rng, (2, 3), absent=rng.random() < 0.3)
        known = case.known if number % 3 else (Known(CountWhere("a <= 1 and g = 0")), Known(CountWhere("a <= 1")))
        here = classes_of(graph, known)
        segments = coarse(here.graph, known, 10**6)
        assert segments is not None
        small = segments.graph.domain.size
        assert coarse(here.graph, known, small - 1) is None
        if small == here.graph.domain.size:
            continue
        smaller += 1
        with monkeypatch.context() as patch:
            patch.setattr(module, "MATRIX_LIMIT", small)
            there = classes_of(graph, known)
        assert there.coarse is not None
        assert set(here.counted) == set(there.counted)
        assert arcs(here) == arcs(there)
        for x, y in zip(*there.crossing, strict=True):
            first, second = there.secret_pair(int(x), int(y))
            assert graph.is_edge(there.record_of(first), there.record_of(second))
    assert smaller > 40


def test_a_range_of_a_million_positions() -> None:
    domain = Domain((Attribute("x", Integers(0, 999_999)),))
    graph = SecretGraph(domain, (Factor(("x",), Within(10**6, 10)),), 1)
    known = tuple(Known(Rectangle((("x", 100 * k, 100 * k + 9),))) for k in range(3))
    found = classes_of(graph, known)
    assert found.count == 4
    assert found.graph.domain.size == 4
    assert len(found.arcs) == 6


def test_attributes_measured_together_become_complete() -> None:
    domain = Domain((Attribute("x", Integers(0, 99)), Attribute("y", Integers(0, 99))))
    metric = JointMetric("l1", 3, (100, 100), (0, 0), (1, 1))  # type: ignore[arg-type]
    found = classes_of(SecretGraph(domain, (Factor(("x", "y"), metric),), 1), (Known(CountWhere("x = 1 and y > 50")),))
    assert found.coarse is not None
    assert not found.coarse.exact
    assert (found.count, found.graph.domain.size, len(found.arcs)) == (2, 4, 2)
    assert found.graph.complete


def test_what_has_no_segments_is_refused() -> None:
    long = Domain((Attribute("x", Integers(0, 10**7)),))
    with pytest.raises(Refused, match="too many values"):
        coarse(SecretGraph(long, (Factor(("x",), Within(10**7 + 1, 1)),), 1), (), 4096)
    with pytest.raises(Refused, match="too many segments"):
        joined(Within(10_000, 1), np.arange(10_000) % 2)


# -- zero sum -------------------------------------------------------------------------------------


def is_minimal(vectors: list[Vector]) -> bool:
    def zero(part: tuple[Vector, ...]) -> bool:
        return not any(map(sum, zip(*part, strict=True)))

    parts = (part for size in range(1, len(vectors)) for part in itertools.combinations(vectors, size))
    return zero(tuple(vectors)) and not any(zero(part) for part in parts)


def listed(
    vectors: tuple[Vector, ...], ends: tuple[int, ...] = (), most: int | None = None
) -> list[tuple[Vector, ...]]:
    """All minimal sequences of moves between classes with these vectors."""
    found = module._every_sequence(vectors, vectors, ends or tuple(range(1, len(vectors[0]) + 1)), most)
    assert found.complete
    names = [np.repeat(np.arange(len(found.vectors)), row).tolist() for row in found.times]
    return [tuple(found.vectors[k] for k in members) for members in names]


def brute_force(moves: list[Vector], longest: int) -> set[tuple[Vector, ...]]:
    return {
        chosen
        for length in range(2, longest + 1)
        for chosen in itertools.combinations_with_replacement(moves, length)
        if is_minimal(list(chosen))
    }


def test_it_is_the_list_of_all_minimal_sequences() -> None:
    cube = tuple(itertools.product((0, 1), repeat=2))
    for classes in (some for size in range(2, 5) for some in itertools.combinations(cube, size)):
        every = brute_force(sorted(differences(classes)), 5)
        for ends in ((1, 2), (2,)):
            assert set(listed(classes, ends)) == every
    rng, seen = random.Random(17), 0
    while seen < 60:
        case = random_case(rng)
        classes_here = classes_of(case.graph, case.known, case.graph.domain.names)
        if classes_here.arcs and 2 <= classes_here.dimension <= 3 and classes_here.count <= 5:
            edges = edge_vectors(classes_here)
            found = minimal_sequences(classes_here, edges, most=4)
            assert found.complete
            assert found.times.any(axis=0).any()
            names = {tuple(np.repeat(np.arange(len(found.vectors)), row).tolist()) for row in found.times}
            every = brute_force(list(found.vectors), 4)
            assert {tuple(found.vectors[k] for k in name) for name in names} == {s for s in every if set(s) & edges}
            seen += 1


def test_only_short_ones_are_listed_where_there_are_few_people() -> None:
    classes = tuple(itertools.product((0, 1), repeat=3))
    assert {len(found) for found in listed(classes, most=3)} == {2, 3}


def test_no_sequence_is_longer_than_the_bound() -> None:
    rng = random.Random(2)
    cube = list(itertools.product((0, 1), repeat=3))
    for _ in range(30):
        classes = tuple(rng.sample(cube, rng.randint(2, 6)))
        steps = [[v[k] - classes[0][k] for v in classes] for k in range(3)]
        kept = independent_coordinates(steps)
        reduced = tuple(tuple(v[k] for k in kept) for v in classes)
        longest = max(map(len, listed(reduced)))
        moves = differences(reduced)
        entries = max(sum(map(abs, move)) for move in moves)
        assert longest <= length_bound(len(kept), len(moves) // 2, entries)


def test_no_sequence_is_longer_than_the_bound_over_a_table() -> None:
    """A table of an attribute's values and one or two other counts, all of whose combinations occur."""
    for parts, others in ((2, 1), (3, 1), (2, 2), (2, 0), (4, 0)):
        rest = list(itertools.product((0, 1), repeat=others))
        classes = beside_a_table(parts, rest)
        longest = max(map(len, listed(classes, tuple(range(parts - 1, parts + others)))))
        assert longest <= length_bound_over_a_table(parts, others, rest if others == 2 else ())
        assert others > 1 or longest == length_bound_over_a_table(parts, others)


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
        assert max(map(len, listed(classes))) == longest
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


# -- many alike -----------------------------------------------------------------------------------


def margins(*shape: int, known: int = 2) -> Case:
    return one_at_a_time(shape, *(Known(Marginal((f"a{k + 1}",))) for k in range(known)))


def test_the_longest_beside_one_more_count() -> None:
    case = margins(4, 2)
    classes = classes_of(case.graph, case.known)
    every = minimal_sequences(classes, frozenset(differences(classes.vectors)))
    assert every.complete
    assert every.longest == length_bound_over_a_table(4, 1) == 12


def test_three_by_three() -> None:
    """With one attribute at a time, and everything secret; a bound where there are too many signs to compare."""
    case = margins(3, 3, 2)
    for graph, price in ((case.graph, 28), (complete_graph(case.graph), 30)):
        push = largest_push(graph, case.known, whole_histogram(case))
        assert (push.value, push.exact) == (price, True)
        here = oracle.world(graph, case.known, 1)
        check_witness(Case(graph, case.known, 1), here, whole_histogram(case), push, None)
    cells = [(LinearQuery(One(), splits(["a1", "a2"])), Fraction(1))]
    push = largest_push(case.graph, case.known, cells)
    assert (push.value, push.exact, push.witness) == (28, False, None)


def test_too_many_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    case = margins(5, 2)
    classes = classes_of(case.graph, case.known)
    for limit in ("STATES", "SYMMETRIES"):
        module._every_sequence.cache_clear()
        with monkeypatch.context() as patch:
            patch.setattr(module, limit, 20)
            assert not minimal_sequences(classes, edge_vectors(classes)).complete
    module._every_sequence.cache_clear()
