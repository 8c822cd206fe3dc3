"""Joint metrics in one to three dimensions against their definition and breadth-first search."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.policy.breadth_first import distances

from tetraodon.errors import PolicyError, Refused
from tetraodon.policy.joint_graph import EARTH_RADIUS_KM, JointMetric

steps = st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(2), Fraction(3, 2), Fraction(1, 3)])


@st.composite
def metrics(draw: st.DrawFn) -> JointMetric:
    axes = draw(st.integers(1, 3))
    shape = tuple(draw(st.integers(1, {1: 9, 2: 6, 3: 4}[axes])) for _ in range(axes))
    chosen = tuple(draw(steps) for _ in range(axes))
    within = max(min(chosen), draw(st.fractions(Fraction(1, 3), 6, max_denominator=6)))
    starts = tuple(draw(st.fractions(-2, 2, max_denominator=3)) for _ in range(axes))
    return JointMetric(draw(st.sampled_from(["l1", "l2", "linf"])), within, shape, starts, chosen)


def point(metric: JointMetric, cell: int) -> tuple[Fraction, ...]:
    codes = np.unravel_index(cell, metric.shape)
    return tuple(low + int(c) * step for low, c, step in zip(metric.starts, codes, metric.steps, strict=True))


def defined(metric: JointMetric, x: int, y: int) -> bool:
    gaps = [abs(a - b) for a, b in zip(point(metric, x), point(metric, y), strict=True)]
    match metric.metric:
        case "l1":
            return x != y and sum(gaps) <= metric.within
        case "l2":
            return x != y and sum(gap**2 for gap in gaps) <= metric.within**2
        case _:
            return x != y and max(gaps) <= metric.within


@settings(max_examples=60, deadline=None)
@given(metrics())
def test_edges_distances_and_components_are_as_defined(metric: JointMetric) -> None:
    cells = range(metric.size)
    edges = {(x, y) for x, y in itertools.product(cells, cells) if defined(metric, x, y)}
    x, y = (axis.ravel() for axis in np.meshgrid(cells, cells, indexing="ij"))
    near = metric.adjacent(x, y)
    assert set(zip(x[near].tolist(), y[near].tolist(), strict=True)) == edges
    listed = [(int(a), int(b)) for xs, ys in metric.edges() for a, b in zip(xs, ys, strict=True)]
    assert len(listed) == metric.edge_count == len(edges) // 2
    assert {*listed, *((b, a) for a, b in listed)} == edges
    label = metric.components().tolist()
    for start in {0, metric.size // 2, metric.size - 1}:
        found = distances(cells, lambda a, b: (a, b) in edges, start)
        assert {cell: metric.distance(start, cell) for cell in cells} == found
        for cell in cells:
            assert (label[cell] == label[start]) == (found[cell] < math.inf)


def test_a_pair_of_cells_is_one_edge() -> None:
    assert JointMetric("l1", Fraction(1), (2, 1), (Fraction(0),) * 2, (Fraction(1),) * 2).is_edge(0, 1)


@settings(max_examples=40, deadline=None)
@given(
    metric=st.sampled_from(["l1", "l2"]),
    within=st.integers(1, 30),
    up=st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(5, 3)]),
    gap=st.tuples(st.integers(0, 60), st.integers(0, 60)),
)
def test_far_points_of_the_plane_are_as_far_as_a_search_says(metric, within, up, gap) -> None:
    shape = (61, 61)
    plane = JointMetric(metric, Fraction(max(within, 2)), shape, (Fraction(0),) * 2, (Fraction(1), up))
    assert plane.distance(0, gap[0] * 61 + gap[1]) == plane._displacements(gap)


def kilometres(metric: JointMetric, x: int, y: int) -> float:
    """By the angle between two vectors, another formula than the one under test."""
    vectors = []
    for cell in (x, y):
        lat, lon = (math.radians(float(part)) for part in point(metric, cell))
        vectors.append((math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)))
    cross = np.cross(*vectors)
    return EARTH_RADIUS_KM * math.atan2(float(np.linalg.norm(cross)), float(np.dot(*vectors)))


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(1, 5),
    columns=st.integers(1, 6),
    south=st.integers(-90, 60),
    west=st.integers(-180, 100),
    within=st.integers(1, 3000),
)
def test_the_great_circle_is_as_defined(rows: int, columns: int, south: int, west: int, within: int) -> None:
    metric = JointMetric(
        "great circle km",
        Fraction(within),
        (rows, columns),
        (Fraction(south), Fraction(west)),
        (Fraction(7), Fraction(9)),
    )
    cells = range(metric.size)
    edges = set()
    for x, y in itertools.permutations(cells, 2):
        far = kilometres(metric, x, y)
        if abs(far - within) > 1e-6:
            assert metric.is_edge(x, y) == (far < within)
        if metric.is_edge(x, y):
            edges.add((x, y))
    listed = [(int(a), int(b)) for xs, ys in metric.edges() for a, b in zip(xs, ys, strict=True)]
    assert len(listed) == metric.edge_count == len(edges) // 2
    assert {*listed, *((b, a) for a, b in listed)} == edges
    label = metric.components().tolist()
    found = distances(cells, lambda a, b: (a, b) in edges, 0)
    assert {cell: metric.distance(0, cell) for cell in cells} == found
    assert [label[cell] == label[0] for cell in cells] == [found[cell] < math.inf for cell in cells]


@pytest.mark.parametrize(
    ("metric", "within", "shape", "steps", "what"),
    [
        ("l1", 0, (3, 3), (1, 1), "not positive"),
        ("l2", 1, (3, 3), (2, 2), "reaches no other value"),
        ("great circle km", 1, (3,), (1,), "needs two attributes"),
    ],
)
def test_what_cannot_be_a_metric_is_refused(metric, within, shape, steps, what) -> None:
    with pytest.raises(PolicyError, match=what):
        JointMetric(metric, Fraction(within), shape, tuple(Fraction(0) for _ in shape), tuple(map(Fraction, steps)))


def test_lengths_that_do_not_fit_in_64_bits_are_refused_and_never_wrap_around() -> None:
    with pytest.raises(Refused, match="too fine"):
        JointMetric("l2", Fraction(1, 7), (10**9, 10**9), (Fraction(0),) * 2, (Fraction(1, 10**6), Fraction(1, 9**6)))


def test_too_long_a_search_is_refused() -> None:
    globe = JointMetric(
        "great circle km", Fraction(100), (181, 361), (Fraction(-90), Fraction(-180)), (Fraction(1),) * 2
    )
    with pytest.raises(Refused, match="too large"):
        globe.distance(0, 1000)
    cube = JointMetric("l2", Fraction(2), (100,) * 3, (Fraction(0),) * 3, (Fraction(1),) * 3)
    with pytest.raises(Refused, match="too long"):
        cube.distance(0, cube.size - 1)
