"""Sums that never wrap round, masks of any number of queries, and which terms have their maxima at the ends."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.certificate.axis import Peak, Term, best_edge, crossing_masks, weighted
from tetraodon.query.contribution import One, Table

huge = st.one_of(st.integers(-9, 9), st.integers(-(2**62), 2**62))


@given(st.integers(1, 4), st.data())
def test_weighted_sums_are_exact(count: int, data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(0, 2**70), min_size=count, max_size=count))
    arrays = [np.array(data.draw(st.lists(huge, min_size=3, max_size=3))) for _ in weights]
    terms = [Term(n, One(), weight) for n, weight in enumerate(weights)]
    truth = [sum(w * int(a[i]) for w, a in zip(weights, arrays, strict=True)) for i in range(3)]
    assert [int(entry) for entry in weighted(terms, arrays, 3)] == truth


def test_no_terms_weigh_nothing() -> None:
    assert weighted([], [], 2).tolist() == [0, 0]


@pytest.mark.parametrize("weight", [1, 2**59, 2**61 + 1, 2**62 + 1, 2**63, 2**90])
def test_the_best_edge_is_exact_for_any_weight(weight: int) -> None:
    table = Table(("a",), np.array([[0, 1, 5, 2]]), Fraction(1))
    edges = [(np.array([0, 0]), np.array([1, 2])), (np.array([2]), np.array([3]))]
    lone = np.array([0, 3, 1, 0])
    found = best_edge(iter(edges), [(Term(0, table, weight), np.arange(4))], lone)
    assert found == Peak(1 + 5 * weight, 0, 2)


def test_without_an_edge_there_is_no_best_one() -> None:
    assert best_edge(iter(()), [], np.zeros(2, np.int64)) is None


@given(st.integers(1, 140), st.data())
def test_masks_tell_all_sets_apart(bits: int, data: st.DataObject) -> None:
    table = np.array(data.draw(st.lists(st.lists(st.booleans(), min_size=bits, max_size=bits), min_size=1, max_size=3)))
    masks = crossing_masks([(bit, table[:, bit]) for bit in range(bits)], len(table), bits)
    assert [int(mask) for mask in masks] == [sum(1 << bit for bit in range(bits) if row[bit]) for row in table]


def test_two_splits_of_one_query_share_a_bit() -> None:
    first, second = np.array([True, False, False]), np.array([True, True, False])
    assert crossing_masks([(1, first), (1, second)], 3, 2).tolist() == [2, 2, 0]


@pytest.mark.parametrize("bits", [1, 61, 62, 63, 64, 65, 128])
def test_the_last_bit_is_not_a_sign(bits: int) -> None:
    masks = crossing_masks([(bits - 1, np.array([True, False]))], 2, bits)
    assert [int(mask) for mask in masks] == [1 << (bits - 1), 0]
