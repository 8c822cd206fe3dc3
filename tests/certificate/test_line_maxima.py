"""Maxima over pairs on a line, against every pair."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.theory.largest_move import largest_move

from tetraodon.certificate import line_axis
from tetraodon.certificate import line_axis as line_maxima
from tetraodon.certificate.axis import Peak
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.certificate.line_axis import best_in_blocks, best_in_window, runs_of_equal_columns
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.exact.arrays import Ints
from tetraodon.noise.laws import GAUSSIAN
from tetraodon.policy.attribute_graph import Everything, Within
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.query.contribution import One, Prefix
from tetraodon.query.linear import LinearQuery, Measurement, Split
from tetraodon.query.smooth import Hats, Ramps


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
