"""Several attributes looked at together, against every pair of cells: exact along edges, never too small by classes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.theory.largest_move import largest_move
from tests.worlds import graphs, positive, queries

import tetraodon as td
from tetraodon.certificate import axis as cell_axis
from tetraodon.certificate import edge_loss
from tetraodon.certificate.axis import UNCHANGED, ClassAxis, Crossing, GridAxis, Pattern, Term
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import Refused
from tetraodon.policy.attribute_graph import Everything, Public, Within
from tetraodon.policy.joint_graph import JointMetric
from tetraodon.policy.secret_graph import Factor, SecretGraph, complete_graph
from tetraodon.query.contribution import AllRanges, Contribution, Prefix, Table
from tetraodon.query.linear import Measurement, Split
from tetraodon.query.number import Number


@st.composite
def axes(draw: st.DrawFn) -> GridAxis:
    graph = draw(graphs())
    graph = SecretGraph(graph.domain, graph.factors, graph.at_most)  # the kernel asks about absence elsewhere
    names = graph.domain.names
    terms = []
    for number in range(draw(st.integers(0, 2))):
        over = tuple(draw(st.permutations(names))[:2])
        one = graph.domain[over[0]]
        cells = graph.domain.project(over).size
        options: list[Contribution] = [
            Table(over, np.array([draw(st.lists(st.integers(-2, 2), min_size=cells, max_size=cells))])),
            Prefix(one.name, one.size, one.size),
            AllRanges(one.name, one.size),
        ]
        if len(over) == 2:
            options.append(Number(one, graph.domain[over[1]]))
        terms.append(Term(number, draw(st.sampled_from(options)), draw(st.sampled_from([1, 3, 2**61]))))
    crossings = []
    for number in draw(st.lists(st.integers(5, 6), max_size=3)):
        name = draw(st.sampled_from(names))
        size = graph.domain[name].size
        bins = tuple(np.unique(np.arange(size) % 2, return_inverse=True)[1].tolist()) if draw(st.booleans()) else None
        crossings.append(Crossing(number, Split(name, bins)))
    return GridAxis(graph, tuple(terms), tuple(crossings))


def every_step(axis: GridAxis) -> dict[Pattern, list[tuple[int, int]]]:
    graph, domain = axis.graph, axis.graph.domain
    steps: dict[Pattern, list[tuple[int, int]]] = {}
    values = [domain.value(cell) for cell in range(domain.size)]
    for y in range(domain.size):
        for x in range(y):
            if not graph.is_edge(values[x], values[y]):
                continue
            a, b = domain.codes_of(x), domain.codes_of(y)
            cost = sum(any(a[domain.position(n)] != b[domain.position(n)] for n in f.names) for f in graph.factors)
            crossed = frozenset(
                c.number
                for c in axis.crossings
                if len(set(c.split.of(np.array([v[domain.position(c.split.name)] for v in (a, b)])).tolist())) == 2
            )
            steps.setdefault(Pattern(cost, crossed), []).append((x, y))
    return steps


def entries(axis: GridAxis, term: Term, cell: int) -> list[int]:
    codes = axis.graph.domain.codes_of(cell)
    names = term.contribution.names
    local = axis.graph.domain.project(names).cell_of([codes[axis.graph.domain.position(n)] for n in names])
    return term.contribution.columns()[:, local].tolist()


def moves(axis: GridAxis, crossed: frozenset[int], x: int, y: int) -> int:
    total = 0
    for term in axis.terms:
        pairs = list(zip(entries(axis, term, x), entries(axis, term, y), strict=True))
        lone = term.number in crossed
        total += term.weight * sum(abs(a) + abs(b) if lone else abs(a - b) for a, b in pairs)
    return total


@settings(max_examples=120, deadline=None)
@given(axes(), st.sets(st.integers(0, 1)))
def test_peaks_are_what_every_edge_says(axis: GridAxis, elsewhere: set[int]) -> None:
    steps = every_step(axis)
    found = [pattern for pattern in axis.patterns() if pattern != UNCHANGED]
    assert set(found) <= set(steps)
    if axis.terms:
        assert set(found) == set(steps)
    for pattern, pairs in steps.items():
        assert any(p.cost <= pattern.cost and p.crossed >= pattern.crossed for p in found)
        if pattern not in found:
            continue
        crossed = pattern.crossed | elsewhere
        peak = axis.peak(pattern, crossed)
        assert peak.exact
        assert peak.value == max(moves(axis, crossed, x, y) for x, y in pairs)
        assert tuple(sorted((peak.x, peak.y))) in pairs
        assert moves(axis, crossed, peak.x, peak.y) == peak.value


@settings(max_examples=60, deadline=None)
@given(axes(), st.sets(st.integers(0, 1)))
def test_what_a_record_adds_while_it_stands_still(axis: GridAxis, elsewhere: set[int]) -> None:
    cells = range(axis.graph.domain.size)
    alone = {t: [t.weight * sum(abs(e) for e in entries(axis, t, cell)) for cell in cells] for t in axis.terms}
    every = [sum(alone[t][cell] for t in axis.terms) for cell in cells]
    assert axis.peak_alone().value == max(every) == every[axis.peak_alone().x]
    lone = [sum(alone[t][cell] for t in axis.terms if t.number in elsewhere) for cell in cells]
    assert axis.peak(UNCHANGED, frozenset(elsewhere)).value == 2 * max(lone)


def plane(side: int) -> SecretGraph:
    domain = Domain((Attribute("y", Integers(0, side - 1)), Attribute("x", Integers(0, side - 1))))
    one = (Fraction(1),) * 2
    metric = JointMetric("l1", Fraction(1), (side, side), (Fraction(0),) * 2, one)
    return SecretGraph(domain, (Factor(("x", "y"), metric),), 1)


def test_attributes_in_another_order_than_their_metric() -> None:
    domain = Domain((Attribute("y", Integers(0, 1)), Attribute("x", Integers(0, 3))))
    metric = JointMetric("l1", Fraction(1), (4, 2), (Fraction(0),) * 2, (Fraction(1),) * 2)
    graph = SecretGraph(domain, (Factor(("x", "y"), metric),), 1)
    for cell in range(domain.size):
        rows = np.zeros((1, domain.size), np.int64)
        rows[0, cell] = 9
        peak = GridAxis(graph, (Term(0, Table(("y", "x"), rows), 1),), ()).peak(Pattern(1, frozenset()), frozenset())
        assert peak.value == 9
        assert cell in (peak.x, peak.y)
        assert graph.is_edge(domain.value(peak.x), domain.value(peak.y))


def squares(side: int) -> SecretGraph:
    domain = Domain((Attribute("y", Integers(0, side - 1)), Attribute("x", Integers(0, side - 1))))
    return SecretGraph(domain, tuple(Factor((name,), Everything(side)) for name in ("y", "x")), 2)


def test_steps_are_listed_once_and_looked_at_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, listed = squares(6), list[int]()
    whole = GridAxis(squares(6), (Term(0, Number(graph.domain["x"]), 1),), ())
    assert len(whole.patterns()) > 1
    monkeypatch.setattr(cell_axis, "PIECE", 7)
    list_all = SecretGraph.edge_cells
    monkeypatch.setattr(SecretGraph, "edge_cells", lambda graph: (listed.append(1), list_all(graph))[1])
    for weight in (1, 2):
        axis = GridAxis(graph, (Term(0, Number(graph.domain["x"]), weight),), ())
        assert axis.patterns() == whole.patterns()
        for pattern in axis.patterns():
            assert axis.peak(pattern, frozenset()).value == weight * whole.peak(pattern, frozenset()).value
    assert max(len(x) for _, x, _ in axis._steps()) == 7
    assert len(listed) == 1


def test_classes_are_refused_before_all_that_queries_see_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of a query times cells took gigabytes."""
    graph = squares(6)
    axis = ClassAxis(graph, (Term(0, Prefix("x", 6, 5), 1),), (Crossing(0, Split("y")),))
    monkeypatch.setattr(cell_axis, "LISTED_LIMIT", 6 * 36)
    assert len(axis._cells) == 36
    monkeypatch.setattr(cell_axis, "LISTED_LIMIT", 6 * 36 - 1)
    with pytest.raises(Refused, match="y, x together have too many values"):
        ClassAxis(graph, axis.terms, axis.crossings).patterns()


def test_too_many_cells_or_edges_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = (Term(0, Prefix("x", 5, 4), 1),)
    monkeypatch.setattr(cell_axis, "EDGE_LIMIT", 40)
    assert GridAxis(plane(5), terms, ()).peak(Pattern(1, frozenset()), frozenset()).value == 1
    monkeypatch.setattr(cell_axis, "EDGE_LIMIT", 39)
    with pytest.raises(Refused, match="too many secrets over y, x"):
        GridAxis(plane(5), terms, ()).patterns()
    monkeypatch.setattr(cell_axis, "EDGE_LIMIT", 24)
    with pytest.raises(Refused, match="y, x together have too many values"):
        GridAxis(plane(5), terms, ()).peak_alone()


def test_pairs_over_large_products_are_refused() -> None:
    domain = Domain((Attribute("a", Integers(0, 99)), Attribute("b", Integers(0, 99))))
    factors = (Factor(("a",), Within(100, 1)), Factor(("b",), Everything(100)))
    weighted = (Term(0, Number(domain["a"], domain["b"]), 1),)
    with pytest.raises(Refused, match="4,096 cells"):
        GridAxis(SecretGraph(domain, factors, 1), weighted, ()).patterns()


def test_a_step_that_crosses_everything_is_enough_where_nothing_else_is_measured() -> None:
    domain = Domain((Attribute("a", Integers(0, 3)), Attribute("b", Integers(0, 3))))
    graph = SecretGraph(domain, (Factor(("a",), Everything(4)), Factor(("b",), Public(4))), 2)
    axis = GridAxis(graph, (), (Crossing(3, Split("a")), Crossing(3, Split("b"))))
    assert set(axis.patterns()) == {UNCHANGED, Pattern(1, frozenset({3}))}
    peak = axis.peak(Pattern(1, frozenset({3})), frozenset({3}))
    assert peak.value == 0
    assert graph.is_edge(domain.value(peak.x), domain.value(peak.y))


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_bound_that_is_exact_where_it_says_so(data: st.DataObject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_loss, "MATRIX_LIMIT", 0)
    graph = data.draw(graphs())
    if data.draw(st.booleans()):
        graph = complete_graph(graph)
    asked = data.draw(st.lists(queries(graph.domain), min_size=1, max_size=3))
    measurements = [Measurement(query, data.draw(positive)) for query in asked]
    certificate = certify_measurements(graph, measurements)
    truth = largest_move(graph, [(m.query, 1 / m.scale) for m in measurements])
    if certificate.exact:
        assert certificate.epsilon == truth
    else:
        assert certificate.epsilon >= truth


def big(condition: str, **more: object) -> td.Policy:
    return td.load_policy(
        {
            "tetraodon": 1,
            "dataset": "big",
            "presence": "public",
            "attributes": {"a": {"integer": [0, 999]}, "b": {"integer": [0, 999]}},
            "budget": {"epsilon": 1},
            "release": [{"name": "q", "count": condition}],
            **more,
        }
    )


def test_a_condition_over_a_million_cells_is_exact_for_the_complete_graph() -> None:
    certificate = td.plan(big("a > b"))["q"].certificate
    assert certificate.exact
    assert certificate.epsilon == 1


def test_and_bounded_for_another() -> None:
    certificate = td.plan(big("a > b", secrets={"a": {"within": 3}}))["q"].certificate
    assert not certificate.exact
    assert certificate.epsilon == 1


def test_too_many_classes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_axis, "CLASS_LIMIT", 1)
    with pytest.raises(td.errors.Refused, match="Fix:"):
        td.plan(big("a > b"))
