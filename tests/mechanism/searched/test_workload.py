"""Gram matrices of workloads are W'W, however the workload is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import tetraodon as td
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.mechanism.searched.workload import gram_of
from tetraodon.questions import linear

DOMAIN = Domain((Attribute("a", Integers(0, 3)), Attribute("b", Integers(0, 2))))
LINE = Domain((Attribute("a", Integers(0, 8)),))


@pytest.mark.parametrize("query", [td.ranges("a"), td.cdf("a"), td.histogram("a"), td.total("a"), td.count("a > 2")])
@pytest.mark.parametrize("domain", [DOMAIN, LINE])
def test_a_question_is_its_matrix(query: Any, domain: Domain) -> None:
    rows, unit = linear(query, domain).matrix(domain)
    found = gram_of(query, domain)
    assert found.matrix == pytest.approx(rows.T @ rows * float(unit) ** 2)
    assert found.queries == len(rows)


def test_several_questions_add_up() -> None:
    asked = [td.histogram("a"), td.cdf("b")]
    found = gram_of(asked, DOMAIN)
    assert found.matrix == pytest.approx(sum(gram_of(one, DOMAIN).matrix for one in asked))
    assert found.queries == 7
    assert found.rows is not None
    assert gram_of([td.ranges("a"), td.histogram("a")], LINE).rows is None


def test_matrices_may_be_sparse_or_short() -> None:
    rows = np.arange(24).reshape(2, 12)
    assert gram_of(rows, DOMAIN).matrix == pytest.approx(rows.T @ rows)
    assert gram_of(csr_matrix(rows), DOMAIN).queries == 2
    assert gram_of(rows[0].tolist(), DOMAIN).queries == 1


@pytest.mark.parametrize(
    ("workload", "match"),
    [
        ([], "asks for nothing"),
        (np.zeros((3, 12)), "asks for nothing"),
        (np.ones((3, 11)), "one column for each"),
        (np.full((1, 12), np.nan), "finite"),
        ([["much"] * 12], "not a matrix"),
        (np.ones((2, 2, 12)), "asks for nothing"),
    ],
)
def test_bad_workloads_are_refused(workload: Any, match: str) -> None:
    with pytest.raises(td.QueryError, match=match):
        gram_of(workload, DOMAIN)


def test_long_domains_are_refused() -> None:
    with pytest.raises(td.Refused, match="too many"):
        gram_of(td.cdf("x"), Domain((Attribute("x", Integers(0, 10_000)),)))
