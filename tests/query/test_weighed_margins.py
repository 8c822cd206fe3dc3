"""Weighed margins against their matrix: what records move, what is multiplied by what, and the way back."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import QueryError, Refused
from tetraodon.query.linear import LinearQuery
from tetraodon.query.weighted_margins import WeighedMargins, multiples, weigh


@st.composite
def weighed(draw: st.DrawFn, names: tuple[str, ...], sizes: tuple[int, ...]) -> WeighedMargins:
    """Margins with small multiples beside one of the cells that is large enough to leave every part told."""
    *others, _ = [draw(st.integers(-2, 3)) for _ in range(2 ** len(names))]
    whole = 1 + 2 * sum(int(np.prod(sizes)) for _ in others) if min(others) < 0 else draw(st.integers(1, 4))
    return WeighedMargins(names, sizes, (*others, whole), Fraction(1, draw(st.integers(1, 4))))


@given(st.data())
def test_everything_is_what_the_matrix_says(data: st.DataObject) -> None:
    names = ("a", "b", "c")[: data.draw(st.integers(1, 3))]
    sizes = tuple(data.draw(st.integers(1, 3)) for _ in names)
    margins = data.draw(weighed(names, sizes))
    rows = margins.columns()
    assert rows.shape == (margins.rows, margins.rows)
    found = np.sort(np.linalg.eigvalsh(rows))
    spread = [
        np.prod([size - 1 for place, size in enumerate(sizes) if s >> place & 1], dtype=int)
        for s in range(2 ** len(sizes))
    ]
    np.testing.assert_allclose(found, np.sort(np.repeat(margins.strengths, spread)), rtol=1e-9)
    assert margins.longest >= np.abs(rows).max()
    assert margins.longest == np.abs(rows).max() or min(sizes) == 1
    back = weigh(np.eye(margins.rows), sizes, multiples([1 / s for s in margins.strengths], sizes))
    np.testing.assert_allclose(back @ rows, np.eye(margins.rows), atol=1e-9)


def test_a_table_is_evaluated() -> None:
    domain = Domain((Attribute("a", Integers(0, 1)), Attribute("b", Integers(0, 2))))
    margins = WeighedMargins(("b", "a"), (3, 2), (1, -2, 3, 20), Fraction(1, 8))
    query = LinearQuery(margins)
    codes, counts = np.array([[0, 1], [2, 0], [2, 1]]), np.array([5, 7, 11])  # of b and a
    table = np.zeros((3, 2), np.int64)
    table[codes[:, 0], codes[:, 1]] = counts
    by_hand = 20 * table + 3 * table.sum(axis=0) - 2 * table.sum(axis=1, keepdims=True) + table.sum()
    assert query.shape(domain) == (6,)
    assert np.array_equal(query.evaluate(domain, codes, counts), by_hand.ravel())
    matrix, unit = query.matrix(domain)
    assert unit == Fraction(1, 8)
    assert np.array_equal(matrix @ table.T.ravel(), by_hand.ravel())


def test_it_refuses_what_tells_no_table() -> None:
    with pytest.raises(QueryError, match="not weighed once"):
        WeighedMargins(("a",), (2,), (1, 1, 1))
    with pytest.raises(QueryError, match="do not tell"):
        WeighedMargins(("a",), (2,), (-1, 2))
    heavy = LinearQuery(WeighedMargins(("a",), (2,), (0, 2**40)))
    with pytest.raises(Refused, match="too heavily"):
        heavy.evaluate(Domain((Attribute("a", Integers(0, 1)),)), np.array([[0]]), np.array([1]))
