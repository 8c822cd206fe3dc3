"""Tables to be clustered: read, refused without telling a value, and put on the grid."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.domain import Attribute, Grid, Integers
from tetraodon.mechanism.kmeans.estimator import BadTable, codes_of, matrix_of

SECRET = 31337.5


@pytest.mark.parametrize(
    "table",
    [
        [[SECRET, np.nan]],
        [[SECRET, np.inf]],
        [[SECRET]],
        [[SECRET, 1, 2]],
        [],
        np.empty((0, 2)),
        [SECRET, SECRET],
        SECRET,
        [[[SECRET, 1]]],
        [["a", "b"]],
        [[{"a": SECRET}, 1]],
        [[1j, 2]],
        [[None, 1]],
        scipy.sparse.csr_array([[SECRET, 1]]),
    ],
)
def test_bad_tables(table: Any) -> None:
    with pytest.raises(BadTable, match="Fix: ") as told:
        matrix_of(table, ("a", "b"))
    assert "31337" not in str(told.value)
    assert isinstance(told.value, ValueError)


def test_frames_are_read_by_name_where_names_fit() -> None:
    frame = pl.DataFrame({"b": [1, 2], "extra": [0, 0], "a": [3, 4]})
    assert matrix_of(frame, ("a", "b")).tolist() == [[3, 1], [4, 2]]
    assert matrix_of(pl.DataFrame({"p": [1], "q": [2]}), ("a", "b")).tolist() == [[1, 2]]


def test_a_misspelt_column_is_not_taken_by_position() -> None:
    with pytest.raises(BadTable, match="no column 'b'"):
        matrix_of(pl.DataFrame({"a": [1], "bb": [2]}), ("a", "b"))


def test_numbers_as_text_and_truth_values_are_numbers() -> None:
    assert matrix_of([["1.5", "2"]], ("a", "b")).tolist() == [[1.5, 2]]
    assert matrix_of(np.array([[True, False]]), ("a", "b")).tolist() == [[1, 0]]


@given(st.integers(-5, 5), st.integers(1, 40), st.data())
def test_codes_are_those_of_the_attribute(low: int, size: int, data: st.DataObject) -> None:
    step = data.draw(st.sampled_from([Fraction(1), Fraction(1, 4), Fraction(1, 100), Fraction(3)]))
    attribute = Attribute("x", Grid(Fraction(low), low + (size - 1) * step, step))
    code = data.draw(st.integers(0, size - 1))
    assert codes_of(np.array([[float(attribute.number(code))]]), [attribute]).tolist() == [[code]]


def test_values_outside_are_clamped_and_between_are_rounded() -> None:
    attribute = Attribute("x", Integers(0, 10))
    column = np.array([[-1e300], [1e300], [3.4], [3.5], [-0.2]])
    assert codes_of(column, [attribute]).ravel().tolist() == [0, 10, 3, 4, 0]
