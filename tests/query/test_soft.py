"""Bins with soft borders: tables against their definition, moves against tables, products against their factors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.worlds import soft_bins

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import QueryError, Refused
from tetraodon.exact.arrays import LARGEST, MOST_ROWS
from tetraodon.query.linear import LinearQuery, Split
from tetraodon.query.smooth import Hats
from tetraodon.query.soft_bins import Product, Soft, hats

X, Y = Attribute("x", Integers(0, 6)), Attribute("y", Integers(0, 4))


@given(soft_bins(X))
def test_every_record_is_shared_out_wholly(soft: Soft) -> None:
    columns = soft.columns()
    assert (columns.sum(axis=0) == soft.units).all()
    assert (columns >= 0).all()
    assert soft.alone(np.arange(7)).tolist() == [soft.units] * 7


@given(st.integers(2, 20), st.integers(1, 9))
def test_hats_are_soft_bins_whose_ramps_meet(size: int, width: int) -> None:
    assert (hats("x", size, width).columns() == Hats("x", size, width).columns()).all()


@given(soft_bins(X), soft_bins(Y))
def test_a_product_is_the_product_of_its_factors(one: Soft, two: Soft) -> None:
    assert (Product((one, two)).columns() == np.kron(one.columns(), two.columns())).all()


@given(soft_bins(X), soft_bins(Y), st.lists(st.integers(0, 9), min_size=70, max_size=70))
def test_counts_are_spread_as_the_matrix_says(one: Soft, two: Soft, counts: list[int]) -> None:
    domain = Domain((Attribute("g", Integers(0, 1)), X, Y))
    cells = np.stack(np.unravel_index(np.arange(70), domain.shape), axis=1)
    amount = np.array(counts)
    for query in (LinearQuery(Product((one, two)), (Split("g"),)), LinearQuery(one, (Split("y"),))):
        codes = cells[:, [domain.position(name) for name in query.names]]
        matrix, _ = query.matrix(domain)
        assert (query.evaluate(domain, codes, amount).ravel() == matrix @ amount).all()


def test_long_counts_are_added_exactly() -> None:
    domain = Domain((X, Y))
    product = Product((hats("x", 7, 3), hats("y", 5, 2)))
    many = MOST_ROWS
    table = LinearQuery(product).evaluate(domain, np.array([[1, 1]]), np.array([many]))
    assert table.sum() == 6 * many
    assert LinearQuery(product.parts[0]).evaluate(domain, np.array([[1]]), np.array([many])).sum() == 3 * many


def test_records_in_many_parts_are_cut_off_rather_than_refused() -> None:
    size = 2**15
    domain = Domain((Attribute("x", Integers(0, size - 1)), Attribute("y", Integers(0, size - 1))))
    long = Soft("x", size, size // 2, (0,))
    product = Product((long, Soft("y", size, size // 2, (0,))))
    few = LinearQuery(product).evaluate(domain, np.array([[5, 1]]), np.array([3]))
    assert few.sum() == 3 * product.units
    assert few.max() == 3 * (size // 2 - 5) * (size // 2 - 1)
    many = LinearQuery(product).evaluate(domain, np.array([[5, 1]]), np.array([MOST_ROWS]))
    assert many.max() == LARGEST
    alone = LinearQuery(long).evaluate(domain, np.array([[5]]), np.array([MOST_ROWS]))
    assert alone.ravel().tolist() == [(size // 2 - 5) * MOST_ROWS, 5 * MOST_ROWS]


def test_what_is_not_a_table_is_refused() -> None:
    with pytest.raises(QueryError, match="overlap"):
        Soft("x", 7, 3, (0, 2))
    with pytest.raises(QueryError):
        Soft("x", 7, 0, ())
    with pytest.raises(QueryError):
        Product((hats("x", 7, 2),))
    with pytest.raises(Refused):
        Product((Soft("x", 7, 2**21, ()), Soft("y", 7, 2**21, ())))
