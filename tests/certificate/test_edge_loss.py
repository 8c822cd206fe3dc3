"""The worst edge where enumeration of random worlds does not reach: many queries, long weights, combinations."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.theory.largest_move import largest_move
from tests.worlds import attribute_graphs, positive

from tetraodon.certificate import edge_loss as combinations
from tetraodon.certificate import edge_loss as module
from tetraodon.certificate import line_axis
from tetraodon.certificate.axis import UNCHANGED, Crossing, Pattern, Term
from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.edge_loss import Step, Worst, _ways_of, steps, worst_steps
from tetraodon.certificate.kernel import certify_measurements, sensitivity_of
from tetraodon.certificate.worst_edge import worst_edge
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.policy.attribute_graph import AttributeGraph, Everything, Public, Within
from tetraodon.policy.joint_graph import JointMetric
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.query.contribution import One, Prefix, Table
from tetraodon.query.linear import LinearQuery, Measurement, Split, splits
from tetraodon.query.number import Number

# -- edges ----------------------------------------------------------------------------------------


def world(**sizes: tuple[int, AttributeGraph]) -> SecretGraph:
    domain = Domain(tuple(Attribute(name, Integers(0, size - 1)) for name, (size, _) in sizes.items()))
    return SecretGraph(domain, tuple(Factor((name,), graph) for name, (_, graph) in sizes.items()), 1)


def judged(graph: SecretGraph, weighted: list[tuple[LinearQuery, Fraction]]) -> Certificate:
    """The certificate, after it was compared with the reference."""
    certificate = certify_measurements(graph, [Measurement(query, 1 / weight) for query, weight in weighted])
    assert certificate.epsilon == largest_move(graph, weighted)
    return certificate


@pytest.mark.parametrize("many", [61, 62, 63, 64, 65, 130])
@pytest.mark.parametrize("last", [1, 1000])
def test_any_number_of_queries_with_bins(many: int, last: int) -> None:
    graph = world(a=(4, Within(4, 1)), b=(2, Everything(2)))
    middle, first = Split("a", (0, 0, 1, 1)), Split("a", (0, 1, 1, 1))
    weighted = [(LinearQuery(One(), (middle,)), Fraction(1))] * many + [(LinearQuery(One(), (first,)), Fraction(last))]
    assert judged(graph, weighted).epsilon == max(2 * many, 2 * last)
    tied = LinearQuery(Table(("a", "b"), np.zeros((1, 8), np.int64)))  # a and b are looked at together
    assert judged(graph, [*weighted, (tied, Fraction(1))]).epsilon == max(2 * many, 2 * last)


@pytest.mark.parametrize("many", [62, 63, 64, 130])
def test_any_number_of_queries_over_a_plane_or_over_classes(many: int) -> None:
    sides = Domain((Attribute("a", Integers(0, 2)), Attribute("b", Integers(0, 2))))
    metric = JointMetric("l1", Fraction(1), (3, 3), (Fraction(0),) * 2, (Fraction(1),) * 2)
    plane = SecretGraph(sides, (Factor(("a", "b"), metric),), 1)
    one = (LinearQuery(One(), (Split("a"),)), Fraction(1))
    other = (LinearQuery(One(), (Split("b"),)), Fraction(1000))
    assert judged(plane, [one] * many + [other]).epsilon == 2000
    assert judged(plane, [other] + [one] * many).epsilon == 2000
    everything = SecretGraph(sides, tuple(Factor((name,), Everything(3)) for name in "ab"), 2)
    tied = (LinearQuery(Table(("a", "b"), np.arange(9).reshape(1, 9) % 2)), Fraction(1))
    assert judged(everything, [one] * many + [other, tied]).epsilon == 2 * many + 2000 + 1


@pytest.mark.parametrize("bits", [40, 59, 60, 61, 62, 63, 64, 100])
def test_weights_of_any_length(bits: int) -> None:
    graph = world(a=(6, Everything(6)), b=(3, Within(3, 1)))
    rows = Table(("a",), np.array([[0, 1, 5, 2, 9, 3]]))
    both = Table(("a", "b"), np.arange(18).reshape(1, 18) % 7)
    heavy = Fraction(2**bits + 1)
    judged(graph, [(LinearQuery(rows), heavy)])
    judged(graph, [(LinearQuery(rows), heavy), (LinearQuery(Prefix("a", 6, 5)), heavy / 3)])
    judged(graph, [(LinearQuery(both), heavy), (LinearQuery(rows, (Split("b"),)), Fraction(1, 2**bits - 1))])


def test_a_public_weight_counts_where_it_is_heaviest() -> None:
    value = Attribute("v", Integers(0, 10**6))
    weight = Attribute("w", Integers(-(10**6), 10))
    domain = Domain((value, weight))
    graph = SecretGraph(domain, (Factor(("v",), Within(value.size, 3)), Factor(("w",), Public(weight.size))), 2)
    found = sensitivity_of(graph, LinearQuery(Number(value, weight)))
    assert found.value == 3 * 10**6
    assert found.witness is not None
    assert abs(found.witness[0][1]) == 10**6


def test_bounds_say_that_they_are_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = world(a=(10, Within(10, 2)))
    early, late = Split("a", (0,) + (1,) * 9), Split("a", (0,) * 9 + (1,))
    weighted = [(LinearQuery(One(), (split,)), Fraction(1)) for split in (early, late)]
    assert judged(graph, weighted).method == "maximum over edges"
    monkeypatch.setattr(line_axis, "EDGE_LIMIT", 1)
    bound = certify_measurements(graph, [Measurement(query, Fraction(1)) for query, _ in weighted])
    assert (bound.epsilon, bound.exact, bound.method) == (4, False, "upper bound over edges")
    found = sensitivity_of(graph, weighted[0][0])
    assert (found.value, found.exact, found.method) == (2, True, "maximum over edges")


@pytest.mark.parametrize("first", ["a", "b"])
@pytest.mark.parametrize(("weight", "exact"), [(1, False), (2, True), (3, True)])
def test_a_step_as_large_as_a_bound_makes_it_exact(
    monkeypatch: pytest.MonkeyPatch, first: str, weight: int, exact: bool
) -> None:
    parts: dict[str, tuple[int, AttributeGraph]] = {"a": (10, Within(10, 2)), "b": (2, Everything(2))}
    graph = world(**{name: parts[name] for name in sorted(parts, key=lambda name: name != first)})
    early, late = Split("a", (0,) + (1,) * 9), Split("a", (0,) * 9 + (1,))
    weighted = [(LinearQuery(One(), (split,)), Fraction(1)) for split in (early, late)]
    weighted += [(LinearQuery(One(), (Split("b"),)), Fraction(weight))]
    truth = largest_move(graph, weighted)
    monkeypatch.setattr(line_axis, "EDGE_LIMIT", 1)
    found = certify_measurements(graph, [Measurement(query, 1 / weight) for query, weight in weighted])
    assert found.exact == exact
    assert found.epsilon == (truth if exact else 4)
    assert found.witness is not None
    assert graph.is_edge(*found.witness)


@pytest.mark.parametrize("squares", [False, True])
def test_too_many_kinds_of_steps_are_bounded_axis_by_axis(monkeypatch: pytest.MonkeyPatch, squares: bool) -> None:
    """Never below the truth; for tables under three changes at most three times what one change moves."""
    names = "abcd"
    domain = Domain(tuple(Attribute(name, Integers(0, 2)) for name in names))
    graph = SecretGraph(domain, tuple(Factor((name,), Within(3, 1)) for name in names), 3)
    tables = [LinearQuery(One(), splits(pair)) for pair in itertools.combinations(names, 2)]
    mixed = [*tables[:3], LinearQuery(Prefix("a", 3, 2), splits(("b",))), LinearQuery(Number(domain["c"]), splits("d"))]
    for asked, exact, bound in ((tables, 12, 12), (mixed, None, None)):
        weighted = [(query, Fraction(1)) for query in asked]
        truth = largest_move(graph, weighted, power=2 if squares else 1)
        before = worst_edge(graph, weighted, squares=squares)
        assert (before.value, before.exact) == (truth, True)
        assert exact is None or truth == exact
        with monkeypatch.context() as patch:
            patch.setattr(combinations, "COMBINATION_LIMIT", 10)
            found = worst_edge(graph, weighted, squares=squares)
        assert found.value >= truth
        assert bound is None or found.value == bound
        assert (found.exact, found.witness) == (False, None)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_axes_that_no_query_ties_together_are_added_up(data: st.DataObject) -> None:
    """Attributes with a query of their own, of which two may be tied by a table, move what enumeration finds."""
    names = "abc"
    domain = Domain(tuple(Attribute(name, Integers(0, 2)) for name in names))
    factors = tuple(Factor((name,), data.draw(attribute_graphs(3))) for name in names)
    graph = SecretGraph(domain, factors, data.draw(st.integers(1, 3)), data.draw(st.booleans()))
    kinds = [lambda n: LinearQuery(One(), splits((n,))), lambda n: LinearQuery(Prefix(n, 3, 2))]
    asked = [data.draw(st.sampled_from(kinds))(name) for name in names]
    asked += [LinearQuery(One(), splits(("a", "c")))] if data.draw(st.booleans()) else []
    weighted = [(query, data.draw(positive)) for query in asked]
    squares = data.draw(st.booleans())
    found = worst_edge(graph, weighted, squares=squares)
    assert found.value == largest_move(graph, weighted)  # zeros and ones: their squares are what they are
    assert found.exact


@pytest.mark.parametrize("squares", [False, True])
def test_a_thousand_attributes_of_which_ten_change(squares: bool) -> None:
    """The ten largest of what single attributes move, and a record that moves them."""
    domain = Domain(tuple(Attribute(f"a{k}", Integers(0, 1)) for k in range(1000)))
    graph = SecretGraph(domain, tuple(Factor((a.name,), Everything(2)) for a in domain), 10)
    weighted = [(LinearQuery(One(), (Split(f"a{k}"),)), Fraction(k + 1, 7)) for k in range(1000)]
    found = worst_edge(graph, weighted, squares=squares)
    assert (found.value, found.exact) == (2 * Fraction(sum(range(991, 1001)), 7), True)
    assert found.witness is not None
    assert [k for k, (x, y) in enumerate(zip(*found.witness, strict=True)) if x != y] == list(range(990, 1000))


# -- combinations ---------------------------------------------------------------------------------


STEP = Pattern(1, frozenset())
CROSS = Pattern(1, frozenset({0}))
TWO = Pattern(2, frozenset())


@dataclass(frozen=True)
class Listed:
    """An axis that has some patterns, along which some queries are measured, or split."""

    listed: tuple[Pattern, ...]
    terms: tuple[Term, ...] = ()
    crossings: tuple[Crossing, ...] = ()

    def patterns(self) -> tuple[Pattern, ...]:
        return self.listed


def term(number: int) -> Term:
    return Term(number, One(), 1)


@given(st.data(), st.integers(1, 5))
def test_what_no_query_ties_together_is_added_up(data: st.DataObject, at_most: int) -> None:
    """The worst of all steps, found apart; and where there are too many steps of those tied together, a bound."""
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    ties = [tie for tie, size in enumerate(sizes) for _ in range(size)]
    axes: list[Any] = [Listed((UNCHANGED, STEP, TWO), (term(tie),)) for tie in ties]
    changes = itertools.product(range(len(ties)), (1, 2))
    worth = {change: data.draw(st.integers(0, 9)) for change in changes}

    def moved(step: Step) -> Worst:
        """Axes tied together move less than what each of them moves."""
        value = 0
        for tie in range(len(sizes)):
            mine = [worth[place, pattern.cost] for place, pattern in step if ties[place] == tie]
            value += max(mine, default=0) + sum(mine) // 3
        return Worst(value, True, (step,))

    found = max(worst_steps(axes, at_most, moved, lambda _: 1), key=lambda one: one.value)
    every = [_ways_of(place, (UNCHANGED, STEP, TWO)) for place in range(len(ties))]
    truth = max(moved(step).value for step in steps(every, at_most) if step)
    assert (found.value, found.exact) == (truth, True)
    assert found.steps is not None
    assert moved(tuple(change for step in found.steps for change in step)).value == truth
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "COMBINATION_LIMIT", 0)
        bound = max(worst_steps(axes, at_most, moved, lambda _: 1), key=lambda one: one.value)
    assert bound.value >= truth
    assert (bound.exact, bound.steps) == (False, None)


@given(st.lists(st.integers(0, 9), min_size=2, max_size=5), st.integers(1, 5))
def test_of_axes_that_are_alike_those_that_move_the_most_are_enough(most: list[int], at_most: int) -> None:
    """All of them cross the same table, and each has a query of its own without splits."""
    table = Crossing(0, Split("x"))
    axes: list[Any] = [Listed((UNCHANGED, CROSS), (term(n),), (table,)) for n in range(1, len(most) + 1)]
    looked_at = []

    def moved(step: Step) -> Worst:
        looked_at.append(step)
        return Worst(5 + sum(most[place] for place, _ in step), True, (step,))

    found = max(worst_steps(axes, at_most, moved, lambda _: 1), key=lambda one: one.value)
    assert (found.value, found.exact) == (5 + sum(sorted(most)[-at_most:]), True)
    assert len(looked_at) <= 2 * len(most)
