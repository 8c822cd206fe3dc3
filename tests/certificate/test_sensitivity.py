"""Known sensitivities of [HMD14] section 5, matrices row by row, and a million values."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.theory.largest_move import largest_move
from tests.worlds import graphs, positive

import tetraodon as td
from tetraodon.certificate.sensitivity import certify, sensitivity
from tetraodon.errors import PolicyError, QueryError, TetraodonError
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.query.contribution import Table
from tetraodon.query.kinds import linear
from tetraodon.query.linear import LinearQuery
from tetraodon.query.query import Query


def policy(secrets: dict[str, Any] | None = None, attributes: dict[str, Any] | None = None, **more: Any) -> Policy:
    document: dict[str, Any] = {
        "dataset": "d",
        "presence": "public",
        "attributes": attributes or {"x": {"integer": [3, 12]}},
        "budget": {"epsilon": 1},
        "release": [],
        **more,
    }
    return td.load_policy(document | ({"secrets": secrets} if secrets else {}))


TEN = 10
HALVES = {"x": {"blocks": [[3, 7], [8, 12]]}}


@pytest.mark.parametrize(
    ("secrets", "query", "value"),
    [
        # the complete graph is plain differential privacy
        (None, td.queries.histogram("x"), 2),
        (None, td.queries.cdf("x"), TEN - 1),
        (None, td.queries.total("x"), 12 - 3),
        (None, td.queries.mean("x"), 12 - 3),
        (None, td.queries.count("x > 5"), 1),
        (None, td.queries.count(), 0),
        (None, td.queries.ranges("x"), 5 * 6),
        (None, td.queries.ranges("x", [[3, 5], [4, 8]]), 2),
        # distance threshold theta on a line
        ({"x": {"within": 1}}, td.queries.histogram("x"), 2),
        ({"x": {"within": 1}}, td.queries.cdf("x"), 1),
        ({"x": {"within": 4}}, td.queries.cdf("x"), 4),
        ({"x": {"within": 4}}, td.queries.total("x"), 4),
        ({"x": {"within": 99}}, td.queries.cdf("x"), TEN - 1),
        ({"x": {"within": 4}}, td.queries.ranges("x"), 4 * 7),
        # partitions
        (HALVES, td.queries.histogram("x", bins={"x": [[3, 7], [8, 12]]}), 0),
        (HALVES, td.queries.histogram("x"), 2),
        (HALVES, td.queries.cdf("x"), 4),
        (HALVES, td.queries.total("x"), 4),
        (HALVES, td.queries.count("x <= 7"), 0),
        ({"x": "public"}, td.queries.histogram("x"), 0),
        ({"x": "public"}, td.queries.cdf("x"), 0),
        ({"x": {"pairs": [[3, 12], [4, 5]]}}, td.queries.cdf("x"), 9),
        ({"x": {"pairs": [[4, 5]]}}, td.queries.total("x"), 1),
    ],
)
def test_known_values(secrets: dict[str, Any] | None, query: Query, value: int) -> None:
    under = policy(secrets)
    found = sensitivity(under, query)
    assert found.value == value
    assert found.exact
    assert found == td.sensitivity(under.document, query)
    assert (found.witness is None) == (value == 0)
    if found.witness:
        assert under.graph.is_edge(*found.witness)


def test_presence_adds_what_one_record_adds() -> None:
    secret = policy({"x": "public"}, presence="secret")
    assert sensitivity(secret, td.queries.count()).value == 1
    assert sensitivity(secret, td.queries.histogram("x")).value == 1
    assert sensitivity(secret, td.queries.total("x")).value == 12
    assert sensitivity(secret, td.queries.cdf("x")).value == TEN
    assert sensitivity(secret, td.queries.cdf("x")).witness == ((3,), ABSENT)


def test_several_rows_of_one_person_add_up() -> None:
    keyed = policy({"x": {"within": 2}}, individuals={"key": "person", "at most": "3 rows"})
    assert keyed.rows_per_person == 3
    assert sensitivity(keyed, td.queries.cdf("x")).value == 3 * max(2, TEN)
    assert certify(keyed, np.eye(TEN, dtype=int), 1).epsilon == 3 * 2


PLANE = {"x": {"integer": [0, 4]}, "y": {"integer": [-3, 1]}}


@pytest.mark.parametrize("together", ["all at once", "one attribute at a time"])
@pytest.mark.parametrize("secrets", [None, {"x": {"within": 2}}, {"x": {"within": 2}, "y": "public"}])
@pytest.mark.parametrize(
    "query",
    [
        td.queries.histogram("x", "y"),
        td.queries.cdf("x", by="y"),
        td.queries.total("y", by="x"),
        td.queries.total("x", weight="y"),
        td.queries.ranges("y", by="x"),
        td.queries.count("x + y > 2"),
        td.queries.count("x > 2", by="y"),
    ],
    ids=repr,
)
def test_attributes_together(together: str, secrets: dict[str, Any] | None, query: Query) -> None:
    under = policy(secrets, PLANE, together=together)
    asked = linear(query, under.domain)
    assert sensitivity(under, query).value == largest_move(under.graph, [(asked, asked.contribution.unit)])


# -- a million values ------------------------------------------------------------------------------

MILLION = 10**6


@pytest.mark.parametrize("theta", [1, 7, 1000, 499_999, 500_000, 500_001, 999_999, 10**9, None])
def test_a_million_values(theta: int | None) -> None:
    reach = min(theta or MILLION, MILLION - 1)
    gap = min(reach, MILLION // 2)
    under = policy(theta and {"x": {"within": theta}}, {"x": {"integer": [-MILLION, -1]}, "s": ["F", "M"]})
    for query, value in [
        (td.queries.cdf("x"), reach),
        (td.queries.histogram("x"), 2),
        (td.queries.histogram("s", "x"), 2),
        (td.queries.total("x"), reach),
        (td.queries.ranges("x"), gap * (MILLION + 1 - gap)),
        (td.queries.cdf("x", by="s"), 2 * MILLION),
        (td.queries.total("x", by="s"), 2 * MILLION),
    ]:
        found = sensitivity(under, query)
        assert (found.value, found.exact) == (value, True), query
        assert found.witness is not None
        assert under.graph.is_edge(*found.witness)


# -- rows given one by one -------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_rows_are_certified_as_enumeration_finds(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    size = graph.domain.size
    under = Policy("d", graph.domain, graph, Fraction(1), ())
    entry = st.one_of(st.just(Fraction(0)), st.fractions(-3, 3, max_denominator=6))
    matrix = data.draw(st.lists(st.lists(entry, min_size=size, max_size=size), min_size=1, max_size=3))
    scales = data.draw(st.lists(positive, min_size=len(matrix), max_size=len(matrix)))
    found = certify(under, matrix, scales)
    rows = [
        (LinearQuery(Table(graph.domain.names, np.array([[int(e * 60) for e in row]]))), 1 / (scale * 60))
        for row, scale in zip(matrix, scales, strict=True)
    ]
    assert found.epsilon == largest_move(graph, rows)
    assert found.exact
    if found.epsilon:
        assert found.witness is not None
        assert graph.is_edge(*found.witness)
        ends = [None if end is ABSENT else graph.domain.cell(end) for end in found.witness]
        lost = Fraction(0)
        for row, scale in zip(matrix, scales, strict=True):
            x, y = (Fraction(0) if end is None else row[end] for end in ends)
            lost += abs(x - y) / scale
        assert lost == found.epsilon


THREE = {"x": {"integer": [0, 2]}}
ROWS = [[1, 0, 0], [0, 2, 0]]


@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        np.array(ROWS),
        np.array(ROWS, np.float32),
        np.array(ROWS, np.uint8),
        scipy.sparse.csr_matrix(ROWS),
        scipy.sparse.coo_array(np.array(ROWS, float)),
        [["1", "0", "0/5"], [Fraction(0), Decimal(2), 0.0]],
    ],
    ids=lambda rows: type(rows).__name__,
)
def test_every_form_of_a_matrix(rows: Any) -> None:
    found = td.certify(policy(attributes=THREE), rows, ["1/2", 3])
    assert found.epsilon == 2 + Fraction(2, 3)
    assert found.witness == ((0,), (1,))


@pytest.mark.parametrize("scales", [2, 2.0, "2", Fraction(2), Decimal(2), np.int64(2), np.float64(2), [2, "2"]])
def test_every_form_of_a_scale(scales: Any) -> None:
    assert certify(policy(attributes=THREE), ROWS, scales).epsilon == Fraction(3, 2)


def test_typed_decimals_are_exact() -> None:
    assert certify(policy(attributes=THREE), [[0.1, 0, 0]], 0.3).epsilon == Fraction(1, 3)


def test_a_single_row_may_be_flat() -> None:
    assert certify(policy(attributes=THREE), [0, 5, 0], 1).epsilon == 5


def test_nothing_measured_loses_nothing() -> None:
    found = certify(policy(attributes=THREE), np.zeros((0, 3)), [])
    assert (found.epsilon, found.witness) == (0, None)


def test_entries_longer_than_a_machine_word() -> None:
    found = certify(policy(attributes=THREE), [[2**70, 0, 1], [f"1/{3**50}", 0, 0]], 1)
    assert found.epsilon == 2**70 + Fraction(1, 3**50)


def test_scale_zero_is_an_exact_answer() -> None:
    halves = policy(HALVES)
    blocks = [[1] * 5 + [0] * 5]
    assert certify(halves, blocks, 0).epsilon == 0
    both = certify(halves, [*blocks, [1] + [0] * 9], [0, 2])
    assert (both.epsilon, both.witness) == (Fraction(1, 2), ((3,), (4,)))
    told = certify(halves, [*blocks, [1] + [0] * 9], [2, 0])
    assert told.epsilon == math.inf
    assert told.witness == ((3,), (4,))
    assert not told.finite
    present = policy(HALVES, presence="secret")
    assert certify(present, blocks, 0).epsilon == math.inf
    assert certify(present, blocks, 0).witness == ((3,), ABSENT)


@pytest.mark.parametrize(
    ("rows", "scales", "error", "what"),
    [
        ([[1, 0]], 1, QueryError, "each of the 3 cells"),
        ([[1, 0, 0, 0]], 1, QueryError, "each of the 3 cells"),
        ([], 1, QueryError, "each of the 3 cells"),
        ([[1, 0, 0], [1, 0]], 1, PolicyError, "entry is not a number"),
        ([[[1, 0, 0]]], 1, PolicyError, "entry is not a number"),
        ([[1, 0, float("nan")]], 1, PolicyError, "finite"),
        ([[1, 0, float("inf")]], 1, PolicyError, "finite"),
        ([[1, 0, "many"]], 1, PolicyError, "finite"),
        ([[1, 0, None]], 1, PolicyError, "entry is not a number"),
        ([[1, 0, True]], 1, PolicyError, "entry is not a number"),
        (ROWS, [1], QueryError, "one scale for each row"),
        (ROWS, [1, 2, 3], QueryError, "one scale for each row"),
        (ROWS, [1, -1], QueryError, "negative"),
        (ROWS, -1, QueryError, "negative"),
        (ROWS, float("nan"), PolicyError, "scale is not a finite"),
        (ROWS, [1, None], PolicyError, "scale is not a number"),
        (ROWS, True, PolicyError, "scale is not a number"),
    ],
)
def test_bad_calls(rows: Any, scales: Any, error: type[TetraodonError], what: str) -> None:
    with pytest.raises(error, match=what):
        certify(policy(attributes=THREE), rows, scales)


def test_a_domain_too_large_for_pairs_is_certified_by_stretches() -> None:
    large = policy(attributes={"x": {"integer": [1, 5000]}})
    rows = np.array([[1] * 2500 + [0] * 2500, [0] * 4999 + [1]])
    found = certify(large, rows, 1)
    assert (found.epsilon, found.exact) == (2, True)
    assert certify(large, scipy.sparse.csr_matrix((1, 5000)), 1).epsilon == 0
