"""Several rows per person: the certificate holds between tables as they are, before any row is left out or cut.

Every bag of up to k + 2 rows is listed. Two bags are neighbours if each row of the smaller one has a row of the larger
one that it equals or shares an edge with, another one for each; the other rows of the larger one come or go. Where any
two records are a secret, any two bags of a person are neighbours.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations, combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.tables import FORMS, table
from tests.policies import policy_document
from tests.services import forms
from tests.worlds import attribute_graphs, positive, queries

import tetraodon as td
from tetraodon.certificate.correlated_records import certify_release
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.noise.laws import GAUSSIAN, LAPLACE
from tetraodon.policy.attackers import DependentGroups
from tetraodon.policy.joint_graph import JointMetric
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, Measurement, splits
from tetraodon.releases.counting import open_policy_table

Bag = tuple[int, ...]
SMALL = ((2,), (3,), (4,), (2, 2), (2, 3), (2, 2, 2))
NOBODY: Bag = ()


@st.composite
def graphs(draw: st.DrawFn) -> SecretGraph:
    """Tiny graphs of every kind; with a key, rows may come and go."""
    sizes = draw(st.sampled_from(SMALL))
    domain = Domain(tuple(Attribute(name, Integers(-1, size - 2)) for name, size in zip("abc", sizes, strict=False)))
    alone = list(domain)
    factors: tuple[Factor, ...] = ()
    if len(sizes) > 1 and draw(st.integers(0, 3)) == 0:
        pair, alone = alone[:2], alone[2:]
        starts, steps = (tuple(map(f, pair)) for f in (lambda a: a.number(0), lambda a: a.step))
        metric = JointMetric(draw(st.sampled_from(["l1", "linf"])), Fraction(1), sizes[:2], starts, steps)
        factors = (Factor(("a", "b"), metric),)
    factors += tuple(Factor((a.name,), draw(attribute_graphs(a.size))) for a in alone)
    return SecretGraph(domain, factors, draw(st.integers(1, len(factors))), absent=True)


def bags(size: int, most: int) -> list[Bag]:
    """Every bag of up to so many rows, as rising numbers of cells; in that order are they cut."""
    return list(chain.from_iterable(combinations_with_replacement(range(size), n) for n in range(most + 1)))


def neighbours(graph: SecretGraph, listed: list[Bag], *, any_bags: bool) -> list[tuple[Bag, Bag]]:
    """Pairs of different bags that are one step apart."""
    if any_bags:
        return list(combinations(listed, 2))
    near = {cell: {cell} for cell in range(graph.domain.size)}
    for x, y in zip(*graph.edge_cells(), strict=True):
        near[int(x)].add(int(y))
        near[int(y)].add(int(x))
    moved = {bag: {tuple(sorted(to)) for to in product(*(near[cell] for cell in bag))} for bag in listed}
    inside = {bag: {n: set(combinations(bag, n)) for n in range(len(bag) + 1)} for bag in listed}
    return [
        (one, other)
        for one, other in product(listed, repeat=2)
        if len(one) <= len(other) and one != other and moved[one] & inside[other][len(one)]
    ]


def counted(bag: Bag, most: int, cut: bool) -> Bag:
    """The rows of a person that count."""
    return bag if len(bag) <= most else bag[:most] if cut else NOBODY


def truth(domain: Domain, measured: list[Measurement], pairs: list[tuple[Bag, Bag]], power: int) -> Fraction:
    """The most that the answers move, each over its scale and to a power, in total."""
    common = math.lcm(*((1 / m.scale).denominator for m in measured))
    matrix = np.concatenate([int(common / m.scale) * m.query.matrix(domain)[0].astype(object) for m in measured])
    tally = {bag: np.bincount(bag, minlength=domain.size) for pair in set(pairs) for bag in pair}
    changes = np.unique([tally[x] - tally[y] for x, y in set(pairs)], axis=0)
    moved = matrix @ changes.astype(object).T
    return Fraction(int((np.abs(moved) ** power).sum(axis=0).max()), common**power)


def of(graph: SecretGraph, most: int) -> Policy:
    return Policy("d", graph.domain, graph, Fraction(1), (), key="person", rows_per_person=most)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_the_price_is_the_loss_between_whole_bags_of_rows(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    most = data.draw(st.integers(1, 3 if graph.domain.size < 4 else 2))
    kind = data.draw(st.sampled_from([LAPLACE, GAUSSIAN]))
    asked = data.draw(st.lists(queries(graph.domain), min_size=1, max_size=2))
    measured = [Measurement(query, data.draw(positive), kind) for query in asked]
    policy = of(graph, most)
    pairs = neighbours(graph, bags(graph.domain.size, most + 2), any_bags=policy.cuts_rows)
    kept = [(counted(x, most, policy.cuts_rows), counted(y, most, policy.cuts_rows)) for x, y in pairs]
    certificate = certify_measurements(graph, measured, rows_per_person=most, delta=Fraction(1, 10**6))
    assert certificate.exact
    if kind is LAPLACE:
        assert truth(graph.domain, measured, kept, 1) == certificate.epsilon
    else:
        assert truth(graph.domain, measured, kept, 2) / 2 == (certificate.rho or 0)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_change_of_a_group_is_priced_though_its_rows_are_cut(data: st.DataObject) -> None:
    """Rows of a group may depend on each other in any way; how many there are is public where presence is."""
    absent, most = data.draw(st.booleans()), data.draw(st.integers(1, 2))
    graph = replace(data.draw(graphs()), absent=absent)
    asked = data.draw(st.lists(queries(graph.domain), min_size=1, max_size=2))
    measured = [Measurement(query, data.draw(positive)) for query in asked]
    presence = "secret" if absent else "public"
    policy = Policy("d", graph.domain, graph, Fraction(1), (), presence, attackers=DependentGroups("home", most))
    pairs = [
        (counted(x, most, cut=True), counted(y, most, cut=True))
        for x, y in combinations(bags(graph.domain.size, most + 2), 2)
        if absent or len(x) == len(y)
    ]
    certificate = certify_release(policy, measured)
    if graph.has_edges:
        assert truth(graph.domain, measured, pairs, 1) <= certificate.epsilon
        assert truth(graph.domain, measured, pairs, 1) == certificate.epsilon or not certificate.exact


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_cutting_rows_would_put_any_row_in_the_place_of_any_other(data: st.DataObject) -> None:
    """What the first rows in the order of their values would lose: why people with more rows are left out."""
    graph = data.draw(graphs().filter(lambda g: g.domain.size > 1 and not g.complete))
    cells = LinearQuery(One(), splits(graph.domain.names))
    pairs = neighbours(graph, bags(graph.domain.size, 3), any_bags=False)
    kept = [(counted(x, 1, cut=True), counted(y, 1, cut=True)) for x, y in pairs]
    measured = [Measurement(cells, Fraction(1))]
    assert truth(graph.domain, measured, kept, 1) == 2  # any row for any other, whatever is secret


ISSUE = policy_document(
    attributes={"x": {"integer": [0, 20]}, "y": {"integer": [-3, 3]}},
    secrets={"x": {"within": 5}, "y": "public"},
    together="all at once",
)


def swapped(most: int, low: int, high: int) -> tuple[list[tuple[str, int, int]], list[tuple[str, int, int]]]:
    """Two tables one step apart: the rows of one person that came first come last."""
    others = [("b", 3, 0), ("c", 4, 1)]
    first = [("a", 0, low)] * most + [("a", 4, high)] * most
    then = [("a", 5, low)] * most + [("a", 4, high)] * most
    return others + first, others + then


@pytest.mark.parametrize("form", forms(*FORMS))
@pytest.mark.parametrize("most", [1, 3])
def test_a_secret_does_not_swap_public_values_on_any_engine(form: str, most: int, tmp_path: Path) -> None:
    items = [{"name": "ys", "histogram": "y"}, {"name": "sum", "total": "y"}]
    policy = td.load_policy({**ISSUE, "individuals": {"key": "p", "at most": most}, "release": items})
    found = []
    for number, rows in enumerate(swapped(most, -3, 3)):
        (tmp_path / str(number)).mkdir()
        columns = {"p": "VARCHAR", "x": "INTEGER", "y": "INTEGER"}
        with (
            table(form, tmp_path / str(number), columns, rows) as source,
            open_policy_table(policy, source) as engine,
        ):
            (ys, total) = engine.counts([("y",), ()], {(): ["y"]})
        cells = {int(code) - 3: int(n) for (code,), n in zip(ys.codes, ys.counts, strict=True)}
        found.append((cells, int(total.sums["y"][0]) - 3 * int(total.counts[0])))
    assert found[0] == found[1] == ({0: 1, 1: 1}, 1)


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("together", ["all at once", "one attribute at a time"])
@pytest.mark.parametrize(
    "secrets",
    [
        {"x": {"within": 1}, "y": "public"},
        {"x": {"within": 1}, "y": {"within": 1}},
        {"x": {"pairs": [[0, 2]]}, "y": "everything"},
        {"x": "everything", "y": "everything"},
    ],
)
@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "0.5", "delta": "1e-6"}])
def test_from_a_policy_to_counts(secrets: dict[str, Any], together: str, most: int, budget: dict[str, Any]) -> None:
    """A release is planned; tables one step apart are read and counted as a release counts them."""
    policy = td.load_policy(
        {
            **ISSUE,
            "individuals": {"key": "p", "at most": most},
            "attributes": {"x": {"integer": [0, 2]}, "y": {"integer": [-1, 0]}},
            "secrets": secrets,
            "together": together,
            "budget": budget,
            "release": [{"name": "h", "histogram": ["x", "y"]}, {"name": "s", "total": "y"}, {"name": "c", "cdf": "x"}],
        }
    )
    plan = td.plan(policy)
    measured = [m for item in plan for m in item.measurements]
    pairs = neighbours(policy.graph, bags(policy.domain.size, most + 1), any_bags=policy.cuts_rows)
    gaussian = plan.certificate.rho is not None
    sample = pairs[:: max(1, len(pairs) // 12)]
    kept = [(_through_engine(policy, x), _through_engine(policy, y)) for x, y in sample]
    allowed = plan.certificate.rho if gaussian else plan.certificate.epsilon
    assert truth(policy.domain, measured, kept, 2 if gaussian else 1) / (2 if gaussian else 1) <= allowed  # type: ignore[operator]


def _through_engine(policy: Policy, bag: Bag) -> Bag:
    """The cells of a person's rows that the engine counts, beside somebody else's row."""
    rows = [policy.domain.value(cell) for cell in bag] + [policy.domain.value(0)]
    frame = pl.DataFrame({n: [row[i] for row in rows] for i, n in enumerate(policy.domain.names)})
    frame = frame.with_columns(pl.Series("p", ["me"] * len(bag) + ["you"]))
    with open_policy_table(policy, frame.sample(fraction=1, shuffle=True, seed=len(bag))) as engine:
        (counts,) = engine.counts([policy.domain.names])
    cells = Counter(
        {policy.domain.cell_of(codes): int(n) for codes, n in zip(counts.codes.tolist(), counts.counts, strict=True)}
    )
    return tuple(sorted((cells - Counter([0])).elements()))


@pytest.mark.parametrize("rows", [0, 2, 3])
def test_a_table_whose_only_person_is_left_out_is_released_all_the_same(rows: int, tmp_path: Path) -> None:
    """Were it refused, one row more would decide whether there is a release."""
    items = [{"name": "h", "histogram": "y"}, {"name": "m", "mean": "y"}, {"name": "c", "cdf": "x"}]
    policy = td.load_policy({**ISSUE, "individuals": {"key": "p", "at most": 2}, "release": items})
    with td.Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open("d", 1, policy.document)
        columns = {"p": ["me"] * rows, "x": [1] * rows, "y": [1] * rows}
        frame = pl.DataFrame(columns, schema={"p": pl.String, "x": pl.Int64, "y": pl.Int64})
        made = td.release(td.plan(policy), frame, ledger=ledger, out=tmp_path / "out")
        assert len(made["h"].to_polars()) == 7
        assert ledger.account("d").charged == 1


def test_a_column_that_says_whose_row_it_is_cannot_be_a_secret() -> None:
    for changed in (
        {"individuals": {"key": "x", "at most": 2}},
        {"presence": "public", "attackers": [{"groups": "x", "at most": 2}]},
    ):
        with pytest.raises(td.errors.Refused, match="says which rows belong together"):
            td.load_policy({**ISSUE, **changed})
        td.load_policy({**ISSUE, **changed, "secrets": {"x": "public"}})
