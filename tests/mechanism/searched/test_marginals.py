"""Marginals for products: predicted errors against the estimates themselves, on tables small enough to write out."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tetraodon as td
from tetraodon.errors import QueryError, Refused
from tetraodon.mechanism.searched.marginals import SearchedStrategy, marginal_strategy
from tetraodon.mechanism.searched.workload import Kronecker
from tetraodon.noise import laplace_variance


def policy(shape: tuple[int, ...] = (4, 3, 2), **changes: Any) -> td.Policy:
    document: dict[str, Any] = {
        "dataset": "people",
        "presence": "public",
        "attributes": {name: {"integer": [0, size - 1]} for name, size in zip("abcdefghijkl", shape, strict=False)},
        "budget": {"epsilon": 1},
    }
    return td.load_policy(document | changes)


def two_way(asked: td.Policy) -> list[Kronecker]:
    return [
        Kronecker(dict.fromkeys(pair)).within(asked.domain) for pair in itertools.combinations(asked.domain.names, 2)
    ]


def measured_for(found: SearchedStrategy, table: np.ndarray) -> list[np.ndarray]:
    rows = [m.query.matrix(found.policy.domain)[0] for m in found.measurements]
    shapes = [m.query.shape(found.policy.domain) for m in found.measurements]
    return [(row @ table.ravel()).reshape(shape) for row, shape in zip(rows, shapes, strict=True)]


@pytest.mark.parametrize(
    "changes",
    [{}, {"presence": "secret"}, {"together": "one attribute at a time"}, {"secrets": {"c": "public"}}],
)
def test_estimates_are_unbiased_and_as_good_as_predicted(changes: dict[str, Any]) -> None:
    asked = policy(**changes)
    workload = two_way(asked)
    found = marginal_strategy(workload, asked, Fraction(1))
    table = np.arange(24).reshape(4, 3, 2) ** 2 % 17
    exact = measured_for(found, table)
    pairs = list(itertools.combinations("abc", 2))
    for names in (*pairs, ("c", "a"), ("b",), ()):
        others = tuple(axis for axis, name in enumerate("abc") if name not in names)
        truth = table.sum(axis=others)
        truth = truth if names != ("c", "a") else truth.T
        assert np.allclose(found.marginal(exact, names), truth)
    variance, queries = 0.0, 0
    for names in pairs:
        zero = [np.zeros_like(one) for one in exact]
        queries += found.marginal(zero, names).size
        for place, one in enumerate(found.measurements):
            if not one.scale:
                continue
            for cell in range(exact[place].size):
                zero[place].flat[cell] = 1
                moved = found.marginal(zero, names)
                variance += laplace_variance(one.scale) * float((moved**2).sum())
                zero[place].flat[cell] = 0
    assert found.expected_error**2 == pytest.approx(variance / queries)
    assert found.certificate.epsilon <= 1


@pytest.mark.parametrize("changes", [{}, {"together": "one attribute at a time"}])
def test_a_strict_gain_on_two_way_marginals_of_a_large_domain(changes: dict[str, Any]) -> None:
    asked = policy((74, 16, 5, 2, 99), **changes)
    found = td.research.strategy([td.histogram(*pair) for pair in itertools.combinations("abcde", 2)], asked)
    assert not found.every_cell
    rivals = dict(found.rivals)
    assert found.mechanism == "marginals"
    assert found.certificate.epsilon == 1
    assert found.certificate.exact
    assert found.expected_error < 0.85 * min(rivals[word] for word in ("identity", "ordered", "direct"))


def test_running_counts_are_taken_where_they_are_better() -> None:
    asked = policy((40, 2), secrets={"a": {"within": 1}, "b": "public"})
    found = marginal_strategy([Kronecker({"a": None, "b": None}).within(asked.domain)], asked, Fraction(1))
    assert found.mechanism == "ordered"
    table = np.arange(80).reshape(40, 2)
    assert np.allclose(found.marginal(measured_for(found, table), ("b", "a")), table.T)
    assert np.allclose(found.cells(measured_for(found, table)), table.ravel())
    assert found.expected_error < dict(found.rivals)["identity"]


def test_products_with_matrices_and_what_is_refused() -> None:
    asked = policy((30, 20, 20))
    ranges = np.tril(np.ones((30, 30)))
    found = td.research.strategy([Kronecker({"a": ranges, "b": None}), td.histogram("c")], asked)
    assert not found.every_cell
    assert found.expected_error <= min(error for _, error in found.rivals)
    with pytest.raises(QueryError, match="not measured"):
        found.marginal([np.zeros(m.query.shape(asked.domain), np.int64) for m in found.measurements], ("z",))
    with pytest.raises(Refused, match="attributes"):
        marginal_strategy([], asked, Fraction(1))
    many = policy((2,) * 12)
    with pytest.raises(Refused, match="attributes"):
        marginal_strategy([Kronecker(dict.fromkeys(many.domain.names)).within(many.domain)], many, Fraction(1))
    public = policy((3, 3), secrets={"a": "public", "b": "public"})
    with pytest.raises(Refused, match="secret"):
        marginal_strategy([Kronecker({"a": None}).within(public.domain)], public, Fraction(1))


def test_small_domains_take_the_better_of_two_ways() -> None:
    asked = policy()
    found = td.research.strategy([td.histogram("a", "b"), td.histogram("b", "c")], asked)
    wide = td.research.strategy([Kronecker({"a": None, "b": None}), Kronecker({"b": None, "c": None})], asked)
    assert found.expected_error <= wide.expected_error


def test_marginals_are_read_off_every_cell_as_well() -> None:
    """One kind of strategy, whichever search found it: without noise both ways to read it give the table."""
    asked = policy((4, 3), secrets={"a": {"within": 1}, "b": "everything"})
    rows = np.random.default_rng(2).integers(0, 2, (6, 12))
    found = td.research.strategy(rows, asked)
    assert found.every_cell
    table = np.arange(12).reshape(4, 3)
    codes = np.argwhere(table >= 0)
    exact = [m.query.evaluate(asked.domain, codes, table.ravel()) for m in found.measurements]
    assert np.allclose(found.cells(exact), table.ravel())
    assert np.allclose(found.marginal(exact, ("b",)), table.sum(axis=0))
    assert np.allclose(found.marginal(exact, ("b", "a")), table.T)
