from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.engine.counting import Counts, require_sound, summed
from tetraodon.errors import DataRefusal, QueryError

CELLS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 1)), max_size=20)


@given(CELLS, st.permutations(["a", "b", "c"]), st.integers(0, 3))
def test_adding_up_is_what_counting_again_finds(cells, names, length):
    codes = np.array(cells, np.int64).reshape(-1, 3)
    counts = summed(("a", "b", "c"), codes, np.ones(len(cells), np.int64))
    asked = tuple(names[:length])
    places = ["abc".index(name) for name in asked]
    expected = Counter(tuple(cell[place] for place in places) for cell in cells)
    found = counts.by(asked)
    rows = [tuple(row) for row in found.codes.tolist()]
    if asked:
        assert rows == sorted(expected)
        assert found.counts.tolist() == [expected[row] for row in rows]
    else:
        assert (rows, found.counts.tolist()) == ([()], [len(cells)])
    assert found.total == len(cells)


def test_misuse():
    with pytest.raises(QueryError, match="do not fit together"):
        Counts(("a",), np.zeros((2, 1), np.int64), np.zeros(3, np.int64))
    with pytest.raises(QueryError, match="not by 'b'"):
        Counts(("a",), np.zeros((1, 1), np.int64), np.ones(1, np.int64)).by(("b",))


@pytest.mark.parametrize(("code", "count"), [(3, 1), (-1, 1)])
def test_what_cannot_be_is_refused(code, count):
    with pytest.raises(DataRefusal):
        require_sound(Counts(("a",), np.array([[code]]), np.array([count])), Domain((Attribute("a", Integers(0, 2)),)))
