"""Structured maxima on one attribute against looking at every edge; bounds are above the truth and say so."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.theory.largest_move import largest_move
from tests.worlds import attribute_graphs

from tetraodon.certificate import line_axis
from tetraodon.certificate import line_axis as line_maxima
from tetraodon.certificate.axis import UNCHANGED, Crossing, Pattern, Peak, Term
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.certificate.line_axis import LineAxis, best_in_blocks, best_in_window, runs_of_equal_columns
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import Refused
from tetraodon.exact.arrays import Ints
from tetraodon.noise.laws import GAUSSIAN
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Everything, Pairs, Public, Within
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.query.contribution import AllRanges, Among, Contribution, One, Prefix, Table, WeightedSums
from tetraodon.query.linear import LinearQuery, Measurement, Split
from tetraodon.query.number import Number
from tetraodon.query.smooth import Hats, Ramps

# -- windows and blocks ---------------------------------------------------------------------------


@st.composite
def heights(draw: st.DrawFn) -> tuple[Ints, Ints]:
    size = draw(st.integers(2, 14))
    entries = st.lists(st.integers(-4, 4), min_size=size, max_size=size)
    kind = draw(st.sampled_from([np.int64, object]))
    return np.array(draw(entries), kind), np.array(draw(entries), kind)


def moved(alone: Ints, height: Ints, x: int, y: int) -> int:
    return int(alone[x] + alone[y] + abs(height[x] - height[y]))


def check(peak: Peak, alone: Ints, height: Ints, pairs: list[tuple[int, int]]) -> None:
    assert peak.value == max(moved(alone, height, x, y) for x, y in pairs)
    assert peak.value == moved(alone, height, peak.x, peak.y)
    assert (peak.x, peak.y) in pairs or (peak.y, peak.x) in pairs
    assert peak.exact


@given(heights(), st.integers(1, 20))
def test_windows(given_arrays: tuple[Ints, Ints], reach: int) -> None:
    alone, height = given_arrays
    pairs = [(x, y) for x, y in itertools.combinations(range(len(alone)), 2) if y - x <= reach]
    check(best_in_window(alone, height, reach), alone, height, pairs)


@given(heights(), st.data())
def test_blocks(given_arrays: tuple[Ints, Ints], data: st.DataObject) -> None:
    alone, height = given_arrays
    label = st.lists(st.integers(-1, 2).map(lambda n: 7 * n), min_size=len(alone), max_size=len(alone))
    blocks = np.array(data.draw(label.filter(lambda labels: len(set(labels)) < len(labels))))
    pairs = [(x, y) for x, y in itertools.combinations(range(len(alone)), 2) if blocks[x] == blocks[y]]
    check(best_in_blocks(alone, height, blocks), alone, height, pairs)


@given(st.integers(1, 3), st.integers(1, 12), st.data())
def test_runs_are_maximal_stretches_of_equal_columns(rows: int, size: int, data: st.DataObject) -> None:
    row = st.lists(st.integers(0, 1), min_size=size, max_size=size)
    matrix = np.array(data.draw(st.lists(row, min_size=rows, max_size=rows)))
    stretches = [list(group) for _, group in itertools.groupby(range(size), key=lambda x: tuple(matrix[:, x]))]
    starts, ends = runs_of_equal_columns(matrix)
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == [(s[0], s[-1]) for s in stretches]


def line(size: int, reach: int) -> SecretGraph:
    graph = Everything(size) if reach >= size else Within(size, reach)
    return SecretGraph(Domain((Attribute("a", Integers(0, size - 1)),)), (Factor(("a",), graph),), 1)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(2, 14),
    st.integers(1, 14),
    st.lists(st.tuples(st.sampled_from([Hats, Ramps]), st.integers(1, 14), st.integers(1, 5)), min_size=1, max_size=3),
    st.booleans(),
    st.booleans(),
)
def test_it_is_never_below_and_exact_where_it_says_so(size, reach, levels, running, listed) -> None:  # type: ignore[no-untyped-def]
    asked = [(LinearQuery(kind("a", size, width)), Fraction(1, scale)) for kind, width, scale in levels]
    asked.append((LinearQuery(Prefix("a", size, size - 1) if running else One(), () if running else (Split("a"),)), 1))
    graph = line(size, reach)
    with pytest.MonkeyPatch.context() as patched:
        if not listed:
            patched.setattr(line_maxima, "LISTED", 0)
        found = certify_measurements(graph, [Measurement(q, 1 / Fraction(w), GAUSSIAN) for q, w in asked])
    truth = largest_move(graph, [(q, Fraction(w)) for q, w in asked], power=2) / 2
    assert (found.rho or 0) >= truth
    if found.exact or listed:
        assert found.rho == truth


def test_a_long_line_needs_no_list_of_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_axis, "EDGE_LIMIT", 10)
    size = 1_000_001
    asked = [LinearQuery(One(), (Split("a"),)), *(LinearQuery(Hats("a", size, w)) for w in (10, 1000, 100_000))]
    found = certify_measurements(line(size, size), [Measurement(q, Fraction(1), GAUSSIAN) for q in asked])
    assert found.exact
    assert found.rho == 1 + 10**2 + 1000**2 + 100_000**2


# -- line axis ------------------------------------------------------------------------------------


@st.composite
def terms(draw: st.DrawFn, size: int, most: int = 3) -> tuple[Term, ...]:
    made = []
    for number in range(draw(st.integers(0, most))):
        low = draw(st.integers(-size, 3))
        contribution: Contribution = draw(
            st.sampled_from(
                [
                    Prefix("a", size, size),
                    Prefix("a", size, max(size - 1, 1)),
                    Prefix("a", size, 1),
                    Number(Attribute("a", Integers(low, low + size - 1))),
                    Number(Attribute("a", Integers(low, low + size - 1)), squared=True),
                    AllRanges("a", size),
                    Table(("a",), np.array([draw(st.lists(st.integers(-1, 1), min_size=size, max_size=size))])),
                ]
            )
        )
        made.append(Term(number, contribution, draw(st.sampled_from([1, 2, 7, 2**61]))))
    return tuple(made)


@st.composite
def crossings(draw: st.DrawFn, size: int, first: int) -> tuple[Crossing, ...]:
    made = []
    for number in range(first, first + draw(st.integers(0, 2))):
        labels = draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))
        bins = tuple(np.unique(labels, return_inverse=True)[1].tolist()) if draw(st.booleans()) else None
        made.append(Crossing(number, Split("a", bins)))
    return tuple(made)


def edges(graph: AttributeGraph) -> list[tuple[int, int]]:
    return [(x, y) for y in range(graph.size) for x in range(y) if graph.is_edge(x, y)]


def crossed_by(axis: LineAxis, x: int, y: int) -> frozenset[int]:
    ends = np.array([x, y])
    return frozenset(c.number for c in axis.crossings if len(set(c.split.of(ends).tolist())) == 2)


def moves(axis: LineAxis, crossed: frozenset[int], x: int, y: int) -> int:
    a, b = np.array([x]), np.array([y])
    total = 0
    for term in axis.terms:
        given_one = term.contribution
        lone = given_one.alone(a) + given_one.alone(b)
        total += term.weight * int((lone if term.number in crossed else given_one.apart(a, b))[0])
    return total


@st.composite
def axes(draw: st.DrawFn, largest: int = 12) -> LineAxis:
    size = draw(st.integers(1, largest))
    graph = draw(attribute_graphs(size))
    return LineAxis("a", graph, draw(terms(size)), draw(crossings(size, 10)))


def check_against_every_edge(axis: LineAxis, elsewhere: frozenset[int]) -> None:
    every = edges(axis.graph)
    kinds = {crossed_by(axis, x, y) for x, y in every}
    assert set(axis.patterns()) == {UNCHANGED, *(Pattern(1, kind) for kind in kinds)}
    for kind in kinds:
        crossed = kind | elsewhere
        peak = axis.peak(Pattern(1, kind), crossed)
        same_kind = [pair for pair in every if crossed_by(axis, *pair) == kind]
        assert peak.value == max(moves(axis, crossed, x, y) for x, y in same_kind)
        assert tuple(sorted((peak.x, peak.y))) in same_kind
        assert moves(axis, crossed, peak.x, peak.y) == peak.value
        assert peak.exact


@settings(max_examples=300, deadline=None)
@given(axes(), st.sets(st.integers(0, 2)))
def test_peaks_are_what_every_edge_says(axis: LineAxis, elsewhere: set[int]) -> None:
    check_against_every_edge(axis, frozenset(elsewhere))


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(2, 9), st.integers(0, 2), st.integers(0, 2), st.sets(st.integers(0, 2)))
def test_values_beside_missing_ones(data: st.DataObject, size: int, before: int, after: int, crossed: set[int]) -> None:
    """Every term is about one stretch of the values."""
    whole = size + before + after
    truth = bytes([0] * before + [1] * size + [0] * after)
    inner = data.draw(terms(size).filter(bool))
    made = [
        replace(term, contribution=Among(one, ("a",), (whole,), ("a",), truth, (before,), (size,)))
        if (one := term.contribution).names
        else replace(term, contribution=Among(one, ("a",), (whole,), ("a",), truth, (), ()))
        for term in (*inner, Term(len(inner), One(), 3))
    ]
    check_against_every_edge(LineAxis("a", Everything(whole), tuple(made), ()), frozenset(crossed))


def test_five_thousand_values_beside_a_missing_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not edge by edge: planning a median of such an attribute took eleven seconds."""
    monkeypatch.setattr(line_axis, "best_edge", None)
    truth, bins = bytes([1] * 5001 + [0]), Hats("a", 5001, 71)
    part = Among(bins, ("a",), (5002,), ("a",), truth, (0,), (5001,))
    peak = LineAxis("a", Everything(5002), (Term(0, part, 1),), ()).peak(Pattern(1, frozenset()), frozenset())
    assert (
        peak.value
        == LineAxis("a", Everything(5001), (Term(0, bins, 1),), ()).peak(Pattern(1, frozenset()), frozenset()).value
    )


@settings(max_examples=100, deadline=None)
@given(axes(), st.sets(st.integers(0, 2)))
def test_what_a_record_adds_while_it_stands_still(axis: LineAxis, elsewhere: set[int]) -> None:
    cells = np.arange(axis.graph.size)
    lone = [t for t in axis.terms if t.number in elsewhere]
    tops = [sum(t.weight * int(t.contribution.alone(cells)[x]) for t in lone) for x in cells]
    assert axis.peak(UNCHANGED, frozenset(elsewhere)).value == 2 * max(tops)
    every = [sum(t.weight * int(t.contribution.alone(cells)[x]) for t in axis.terms) for x in cells]
    assert axis.peak_alone().value == max(every)
    assert every[axis.peak_alone().x] == max(every)


@pytest.mark.parametrize("size", [200, 301])
@pytest.mark.parametrize("reach", [1, 2, 13, 100, 150, 151, 299, 10**6])
@pytest.mark.parametrize("crossed", [frozenset(), frozenset({0}), frozenset({1}), frozenset({0, 1})])
def test_larger_lines(size: int, reach: int, crossed: frozenset[int]) -> None:
    ranges = Term(0, AllRanges("a", size), 3)
    prefix = Term(1, Prefix("a", size, size - 1), 5)
    rising = Term(0, Number(Attribute("a", Integers(0, size - 1))), 2)
    falling = Term(0, Number(Attribute("a", Integers(-size, -1))), 2)
    wave = Table(("a",), np.array([np.arange(size) * 7 % 11 - 5]))
    for graph in (Within(size, reach), Everything(size), Blocks(tuple((x * x + reach) % 5 for x in range(size)))):
        mixed = ((Term(0, wave, 1), prefix), (rising, prefix), (falling, prefix))
        for kept in ((ranges,), (prefix,), (rising,), (falling,), *mixed):
            axis = LineAxis("a", graph, kept, ())
            peak = axis.peak(Pattern(1, frozenset()), crossed)
            x, y = np.array(edges(graph)).T if reach in (13, 150) else (np.array([peak.x]), np.array([peak.y]))
            total = np.zeros(len(x), np.int64)
            for term in kept:
                lone = term.contribution.alone(x) + term.contribution.alone(y)
                total += term.weight * (lone if term.number in crossed else term.contribution.apart(x, y))
            assert peak.value == int(total.max())
            assert graph.is_edge(peak.x, peak.y)


@pytest.mark.parametrize("size", range(2, 8))
def test_every_range_at_once(size: int) -> None:
    for graph in (Everything(size), *(Within(size, reach) for reach in range(1, size + 2))):
        check_against_every_edge(LineAxis("a", graph, (Term(0, AllRanges("a", size), 3),), ()), frozenset())


# -- where edges are too many to be looked at ------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(axes(), st.sets(st.integers(0, 2)))
def test_bounds_are_never_below_the_truth(axis: LineAxis, elsewhere: set[int]) -> None:
    truth: dict[frozenset[int], int] = {}
    every = edges(axis.graph)
    for x, y in every:
        kind = crossed_by(axis, x, y)
        truth[kind] = max(truth.get(kind, 0), moves(axis, kind | elsewhere, x, y))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_axis, "EDGE_LIMIT", 0)
        patterns = [pattern for pattern in axis.patterns() if pattern.cost]
        assert bool(patterns) == bool(every)
        for pattern in patterns:
            try:
                peak = axis.peak(pattern, pattern.crossed | elsewhere)
            except Refused:
                continue
            assert peak.value >= max(truth.values())
            assert pattern.crossed >= frozenset().union(*truth)
            if peak.exact:
                assert peak.value == moves(axis, pattern.crossed | elsewhere, peak.x, peak.y)
                assert axis.graph.is_edge(peak.x, peak.y)
                assert crossed_by(axis, peak.x, peak.y) == pattern.crossed


def few(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(line_axis, "EDGE_LIMIT", limit)


STEP = Table(("a",), np.array([[0, 0, 0, 0, 1, 1, 1, 3, 3, 3]]))
RAMP = Table(("a",), np.array([list(range(10))]))


@pytest.mark.parametrize(
    ("graph", "value"), [(Everything(10), 3), (Within(10, 1), 2), (Within(10, 3), 2), (Within(10, 4), 3)]
)
def test_long_stretches_are_compared_exactly(
    monkeypatch: pytest.MonkeyPatch, graph: AttributeGraph, value: int
) -> None:
    few(monkeypatch, 9)
    axis = LineAxis("a", graph, (Term(0, STEP, 1),), ())
    peak = axis.peak(Pattern(1, frozenset()), frozenset())
    assert (peak.value, peak.exact) == (value, True)
    assert graph.is_edge(peak.x, peak.y)
    lone = axis.peak(Pattern(1, frozenset()), frozenset({0}))
    assert (lone.value, lone.exact) == (6, True)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_stretches_and_steps_inside_them_are_exact(data: st.DataObject) -> None:
    lengths = data.draw(st.lists(st.integers(1, 6), min_size=2, max_size=4))
    size = sum(lengths)
    graph = data.draw(st.sampled_from([Everything(size), *(Within(size, reach) for reach in (1, 2, 4))]))
    made = []
    for number in range(2):
        levels = data.draw(st.lists(st.integers(-3, 3), min_size=len(lengths), max_size=len(lengths)))
        made.append(Term(number, Table(("a",), np.repeat(np.array([levels]), lengths, axis=1)), number + 1))
    if data.draw(st.booleans()):
        single, sums = (np.repeat(np.arange(k, k + len(lengths)) % 3 + 1, lengths) for k in (0, 1))
        made[1] = Term(1, WeightedSums("a", single, sums[None, :]), 2)
    axis = LineAxis("a", graph, tuple(made), ())
    crossed = frozenset(data.draw(st.sets(st.integers(0, 1))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_axis, "EDGE_LIMIT", min(len(lengths) ** 2, graph.edge_count - 1))
        try:
            peak = axis.peak(Pattern(1, frozenset()), crossed)
        except Refused:
            assert graph.edge_count <= len(lengths) ** 2
            return
    if peak.exact:
        assert peak.value == max(moves(axis, crossed, x, y) for x, y in edges(graph))
        assert moves(axis, crossed, peak.x, peak.y) == peak.value
        assert graph.is_edge(peak.x, peak.y)
    else:
        assert graph.edge_count <= len(lengths) ** 2


def test_too_many_stretches_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch, 44)
    axis = LineAxis("a", Everything(10), (Term(0, RAMP, 1),), ())
    with pytest.raises(Refused, match="so many pairs"):
        axis.peak(Pattern(1, frozenset()), frozenset())
    few(monkeypatch, 45)
    assert axis.peak(Pattern(1, frozenset()), frozenset()).value == 9


def test_several_terms_are_bounded_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch, 9)
    both = (Term(0, STEP, 1), Term(1, AllRanges("a", 10), 1))
    peak = LineAxis("a", Everything(10), both, ()).peak(Pattern(1, frozenset()), frozenset())
    assert peak.value == 3 + 30
    assert not peak.exact
    blocks = LineAxis("a", Blocks((0,) * 10), (Term(0, STEP, 1), Term(1, Prefix("a", 10, 9), 1)), ())
    with pytest.raises(Refused, match="so many pairs"):
        blocks.peak(Pattern(1, frozenset()), frozenset())


def test_bins_that_cannot_be_crossed_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch, 1)
    halves = Split("a", (0,) * 5 + (1,) * 5)
    crossing = (Crossing(0, halves),)
    apart = LineAxis("a", Blocks((0,) * 5 + (1,) * 5), (), crossing)
    assert apart.patterns() == (UNCHANGED, Pattern(1, frozenset()))
    across = LineAxis("a", Within(10, 2), (), crossing)
    (pattern,) = (p for p in across.patterns() if p.cost)
    assert pattern.crossed == {0}
    peak = across.peak(pattern, frozenset({0}))
    assert (peak.value, peak.x, peak.y, peak.exact) == (0, 4, 5, True)


def test_bins_that_no_single_step_crosses_together_are_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch, 1)
    early, late = Split("a", (0,) + (1,) * 9), Split("a", (0,) * 9 + (1,))
    crossing = (Crossing(0, early), Crossing(1, late))
    apart = LineAxis("a", Within(10, 2), (), crossing)
    pattern = apart.patterns()[1]
    assert pattern.crossed == {0, 1}
    assert not apart.peak(pattern, pattern.crossed).exact
    together = LineAxis("a", Everything(10), (), crossing)
    peak = together.peak(together.patterns()[1], frozenset({0, 1}))
    assert (peak.x, peak.y, peak.exact) == (0, 9, True)
    measured = LineAxis("a", Everything(10), (Term(0, One(), 1), Term(5, Prefix("a", 10, 9), 1)), crossing)
    assert not measured.peak(measured.patterns()[1], frozenset({0, 1})).exact


def test_an_axis_too_long_for_arrays_is_refused_unless_ends_suffice() -> None:
    many = 10**12
    waves = LineAxis("a", Everything(many), (Term(0, AllRanges("a", many), 1), Term(1, Prefix("a", many, many), 1)), ())
    with pytest.raises(Refused, match="more than 20,000,000 values"):
        waves.peak(Pattern(1, frozenset()), frozenset())
    smooth = LineAxis("a", Within(many, 7), (Term(1, Prefix("a", many, many - 1), 2),), ())
    assert smooth.peak(Pattern(1, frozenset()), frozenset()).value == 14
    assert smooth.peak(Pattern(1, frozenset()), frozenset({1})).value == 2 * (2 * many - 3)
    gap = LineAxis("a", Within(many, 7), (Term(0, AllRanges("a", many), 1),), ())
    assert gap.peak(Pattern(1, frozenset()), frozenset()).value == 7 * (many - 6)


def test_no_edges_no_steps() -> None:
    for graph in (Public(5), Within(1, 3), Everything(1), Blocks((0, 1, 2)), Pairs(3, frozenset())):
        assert LineAxis("a", graph, (), (Crossing(0, Split("a")),)).patterns() == (UNCHANGED,)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_squares_beside_sums_and_counts_are_worst_from_an_end(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 12))
    graph = data.draw(st.sampled_from([Everything(size), Within(size, data.draw(st.integers(1, size)))]))
    value = Attribute("a", Integers(-3, size - 4))
    kinds = [Number(value, squared=True), Number(value), One()]
    weights = [data.draw(st.sampled_from([1, 3, 50])) for _ in kinds]
    made = tuple(Term(n, kind, w) for n, (kind, w) in enumerate(zip(kinds, weights, strict=True)))
    axis = LineAxis("a", graph, made, ())
    check_against_every_edge(axis, frozenset(data.draw(st.sets(st.integers(0, 2)))))
    assert axis._of_few_steps((), made) is not None


def test_squares_of_a_million_values_that_are_all_secret_have_a_worst_step() -> None:
    value = Attribute("a", Integers(0, 10**6 - 1))
    made = (Term(0, Number(value, squared=True), 1), Term(1, Number(value), 1))
    peak = LineAxis("a", Everything(10**6), made, ()).peak(Pattern(1, frozenset()), frozenset())
    assert peak.exact
    middle, last = 10**6 // 2, 10**6 - 1
    assert (peak.x, peak.y) == (0, middle)
    assert peak.value == last**2 - (2 * middle - last) ** 2 + middle
