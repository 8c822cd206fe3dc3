"""Squares of smoothed counts on a line against every edge: equal where it says so, never below."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.theory.largest_move import largest_move

from tetraodon.certificate import line_axis, longest_step
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.noise.laws import GAUSSIAN
from tetraodon.policy.attribute_graph import Everything, Within
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.workload.contribution import One, Prefix
from tetraodon.workload.linear import LinearQuery, Measurement, Split
from tetraodon.workload.smooth import Hats, Ramps


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
            patched.setattr(longest_step, "LISTED", 0)
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
