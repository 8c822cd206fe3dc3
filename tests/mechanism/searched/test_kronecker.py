"""Products of questions about single attributes, against the matrices that they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import QueryError
from tetraodon.mechanism.searched.workload import Kronecker, products_of, sums_of_squares
from tetraodon.questions import cdf, count, histogram

DOMAIN = Domain((Attribute("a", Integers(0, 3)), Attribute("b", Integers(0, 2))))
ROWS = [[1, 1, 0, 0], [0, 2, -1, 0]]


def test_what_it_asks_is_what_its_matrices_ask() -> None:
    product = Kronecker({"a": ROWS, "b": None}).within(DOMAIN)
    assert product.queries == 6
    for name, matrix in (("a", np.array(ROWS, float)), ("b", np.eye(3))):
        size = matrix.shape[1]
        even = np.full((size, size), 1 / size)
        gram = matrix.T @ matrix
        expected = (np.trace(gram @ (np.eye(size) - even)), np.trace(gram @ even))
        assert sums_of_squares(product, DOMAIN[name]) == pytest.approx(expected)
        step = np.linalg.inv(np.tril(np.ones((size, size))))
        assert product.differences(DOMAIN[name]) == pytest.approx(np.trace(gram @ step @ step.T))
    alone = Kronecker({"a": None}).within(DOMAIN)
    assert sums_of_squares(alone, DOMAIN["b"]) == (0.0, 3.0)
    assert alone.differences(DOMAIN["b"]) == 1.0


def test_histograms_and_counts_are_products() -> None:
    found = products_of([histogram("a", "b"), count(by="b"), Kronecker({"a": ROWS})], DOMAIN)
    assert found is not None
    assert [one.names for one in found] == [("a", "b"), ("b",), ("a",)]
    assert products_of(histogram("a"), DOMAIN) is not None
    assert products_of([cdf("a")], DOMAIN) is None
    assert products_of([], DOMAIN) is None
    assert products_of([count("a > 1")], DOMAIN) is None


@pytest.mark.parametrize("rows", [[["x"]], [[0, 0, 0, 0]], [[np.nan, 1, 1, 1]], [[[1]]]])
def test_a_factor_that_asks_nothing_is_refused(rows: object) -> None:
    with pytest.raises(QueryError) as told:
        Kronecker({"a": rows})
    assert told.value.fix


def test_a_factor_fits_its_attribute() -> None:
    with pytest.raises(QueryError, match="4 values"):
        products_of([Kronecker({"a": [[1, 1]]})], DOMAIN)
