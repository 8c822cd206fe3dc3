"""What known totals take from the noise equals the projection that plain linear algebra gives, on tiny worlds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tetraodon as td
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.inference.consistency import common_coarsening
from tetraodon.mechanism.direct import known_totals
from tetraodon.mechanism.identity import IDENTITY, _independent, each_prefix, each_range
from tetraodon.mechanism.strategy import Strategy
from tetraodon.policy.attribute_graph import Everything
from tetraodon.policy.known import Known, Marginal
from tetraodon.policy.policy import Item, Policy
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.query.contribution import One
from tetraodon.query.kinds import Query, cdf, count, histogram, linear, ranges
from tetraodon.query.linear import LinearQuery, Split
from tetraodon.releases.plan import plan

DOCUMENT = {
    "dataset": "d",
    "presence": "secret",
    "attributes": {"att": {"real": [0.5, 0.7], "step": 0.1}},
    "secrets": {"att": {"within": 0.2}},
    "budget": {"epsilon": 1},
}


def groupings(size: int) -> st.SearchStrategy[tuple[int, ...]]:
    named = st.lists(st.integers(0, 2), min_size=size, max_size=size)
    return named.map(lambda labels: tuple(common_coarsening(labels, None)))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Query, Strategy, Domain]:
    """A question read from single cells, maybe in bins, beside totals of groups of the values of some attributes."""
    sizes = draw(st.lists(st.integers(2, 4), min_size=1, max_size=2))
    names = "ab"[: len(sizes)]
    domain = Domain(tuple(Attribute(name, Integers(0, size - 1)) for name, size in zip(names, sizes, strict=True)))
    exact = []
    for _ in range(draw(st.integers(0, 3))):
        kept = [name for name in names if draw(st.booleans())]
        exact.append(LinearQuery(One(), tuple(Split(name, draw(groupings(domain[name].size))) for name in kept)))
    *by, last = names
    questions: list[Query] = [
        histogram(*names),
        cdf(last, by=by),
        ranges(last, by=by),
        ranges(last, [[0, 1], [0, sizes[-1] - 1]], by=by),
    ]
    table = tuple(Split(name) for name in names)
    return (
        draw(st.sampled_from(questions)),
        Strategy(IDENTITY, (LinearQuery(One(), table),), tuple(exact), table),
        domain,
    )


def by_projection(query: Query, strategy: Strategy, domain: Domain) -> float:
    answers = linear(query, domain).matrix(domain)[0].astype(float)
    if not strategy.exact:
        return float(np.mean((answers**2).sum(axis=1)))
    known = np.concatenate([q.matrix(domain)[0] for q in strategy.exact]).astype(float)
    projector = np.eye(domain.size) - np.linalg.pinv(known) @ known
    return float(np.mean(((answers @ projector) ** 2).sum(axis=1)))


def commute(strategy: Strategy, domain: Domain) -> bool:
    rows = [q.matrix(domain)[0].astype(float) for q in strategy.exact]
    onto = [np.linalg.pinv(r) @ r for r in rows]
    return all(np.allclose(p @ q, q @ p) for p in onto for q in onto)


@settings(max_examples=600, deadline=None)
@given(cases())
def test_the_prediction_is_the_variance_of_the_projected_noise(case: tuple[Query, Strategy, Domain]) -> None:
    query, strategy, domain = case
    found, truth = IDENTITY.variance_factor(query, strategy, domain), by_projection(query, strategy, domain)
    if commute(strategy, domain):
        assert found == pytest.approx(truth, abs=1e-9)
    else:
        assert found >= truth - 1e-9
    assert found >= 0


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 6).flatmap(lambda size: st.tuples(groupings(size), groupings(size))))
def test_groupings_are_independent_exactly_if_averages_commute(pair: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    onto = [(np.equal.outer(g, g) / np.bincount(g)[list(g)]) for g in map(np.array, pair)]
    a, b = map(np.array, pair)
    assert _independent(a, b) == np.allclose(onto[0] @ onto[1], onto[1] @ onto[0])


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_what_is_known_of_a_table_is_a_margin_of_it(data: st.DataObject) -> None:
    """Known bins that crossed those of the table gave variances below zero, and cells that looked certain."""
    size = data.draw(st.integers(2, 6))
    domain = Domain((Attribute("a", Integers(0, size - 1)),))
    labels, bins = data.draw(groupings(size)), data.draw(groupings(size))
    groups = [[code for code in range(size) if labels[code] == group] for group in range(max(labels) + 1)]
    ranged = all(group[-1] - group[0] == len(group) - 1 for group in groups)
    if not ranged:
        return
    known = Known(Marginal(("a",), (("a", tuple((group[0], group[-1]) for group in groups)),)))
    graph = SecretGraph(domain, (Factor(("a",), Everything(size)),), 1, known=(known,))
    policy = Policy("d", domain, graph, Fraction(1), (Item("q", count()),), "public")
    for query in known_totals((Split("a", bins),), policy):
        for split in query.by:
            assert split.bins is not None
            assert common_coarsening(split.bins, bins) == list(split.bins)


@pytest.mark.parametrize("blocks", [[[0.5, 0.5], [0.6, 0.7]], [[0.5, 0.5], [0.6, 0.6], [0.7, 0.7]], [[0.5, 0.7]]])
def test_known_blocks_that_cross_the_bins_of_a_histogram(blocks: list[list[float]]) -> None:
    items = [
        {"name": "m", "mean": "att"},
        {"name": "t", "total": "att"},
        {"name": "h", "histogram": "att", "bins": {"att": [[0.5, 0.6], [0.7, 0.7]]}},
    ]
    planned = plan({**DOCUMENT, "known": [{"blocks": {"att": blocks}}], "release": items})
    assert (planned["h"].expected_error > 0) == bool(planned["h"].scale)


def test_more_blocks_than_bins_are_planned() -> None:
    """This ended in `math domain error`: three known blocks were taken for three known parts of two cells."""
    document = {
        "dataset": "d",
        "presence": "public",
        "attributes": {"x": ["v0", "v1", "v2", "v3", "v4"]},
        "budget": {"epsilon": "0.1"},
        "known": [{"blocks": {"x": [["v1", "v2"], ["v3", "v4"], ["v0"]]}}],
        "release": [{"name": "h", "histogram": "x", "bins": {"x": [["v0", "v1", "v2", "v3"], ["v4"]]}}],
    }
    assert plan(document)["h"].expected_error > 0


def test_a_cell_that_known_blocks_only_cross_is_not_certain(tmp_path: object) -> None:
    import polars as pl

    document = {
        **DOCUMENT,
        "known": [{"blocks": {"att": [[0.5, 0.5], [0.6, 0.7]]}}],
        "release": [{"name": "h", "histogram": "att", "bins": {"att": [[0.5, 0.6], [0.7, 0.7]]}}],
    }
    with td.Ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.open("d", 1, document)
        released = td.release(td.plan(document), pl.DataFrame({"att": [0.5, 0.6, 0.6, 0.7]}), ledger=ledger)
    assert (released["h"].columns["upper"] > released["h"].columns["lower"]).all()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 20])
def test_one_group_has_closed_forms(size: int) -> None:
    """Twenty million values were sorted, again and again."""
    groups = np.zeros(size, np.int64)
    prefixes = [Fraction(k * k, size) for k in range(1, size + 1)]
    ranges = [Fraction((high - low) ** 2, size) for high in range(1, size + 1) for low in range(high)]
    assert each_prefix(groups) == sum(prefixes) / len(prefixes)
    assert each_range(groups) == sum(ranges) / len(ranges)
