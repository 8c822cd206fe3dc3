"""A cell of a pandas frame reads the same, whatever the type of its column became because of another."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.engine import open_table
from tetraodon.engine.frames import spelt
from tetraodon.errors import TableError

LABEL = Attribute("x", Categories(("1", "2", "2.5", "true", "2020-01-02", "?", "!")), missing=5, other=6)
WHOLE = Attribute("x", Integers(0, 2**62), missing=7)
GRID = Attribute("x", Grid(Fraction(0), Fraction(10), Fraction(1, 4)), missing=3)
TRUTH = Attribute("x", Booleans(), missing=0, other=1)
DAY = Attribute("x", Dates(dt.date(2020, 1, 1), dt.date(2020, 1, 9)), missing=8)
MOMENT = dt.datetime(2020, 1, 2, 23, 30)


def codes(series: pandas.Series, attribute: Attribute) -> Counter[int]:
    with open_table(pandas.DataFrame({"x": series}), Domain((attribute,))) as engine:
        found = engine.counts([("x",)])[0]
    return Counter(dict(zip(found.codes[:, 0].tolist(), found.counts.tolist(), strict=True)))


TYPED = [
    (pandas.Series([1, 2, 7]), (LABEL, WHOLE, GRID, TRUTH)),
    (pandas.Series([2**53 + 1, 2**60 + 1, 2**61]), (WHOLE,)),
    (pandas.Series([1.0, 2.5, 7.0, np.nan, -0.0, 1e16, 1e-7]), (LABEL, WHOLE, GRID, TRUTH)),
    (pandas.Series([np.inf, -np.inf]), (WHOLE, GRID, TRUTH)),
    (pandas.Series([True, False]), (LABEL, TRUTH)),
    (pandas.Series(["1", "1.0", "2.5", "", None, "true", "Ü"]), (LABEL, WHOLE, GRID, TRUTH)),
    (pandas.Series([MOMENT, pandas.NaT]), (DAY,)),
    (pandas.Series([MOMENT]).dt.tz_localize("America/New_York"), (DAY,)),
    (pandas.Series([1, None], dtype="Int64"), (LABEL, WHOLE, GRID, TRUTH)),
]


@pytest.mark.parametrize(("typed", "attributes"), TYPED)
def test_an_odd_cell_changes_nothing_for_the_others(typed, attributes):
    """On plain pandas one `x` in a column of whole numbers spelt all of them otherwise, and none was found any more."""
    for attribute in attributes:
        for odd in ("x", [1], b"x", "\ud800", None):
            mixed = pandas.Series([*typed, odd], dtype=object)
            own = {"x": LABEL.other if attribute is LABEL else 1 if attribute is TRUTH else attribute.missing}
            expected = codes(typed, attribute) + Counter(
                [own.get(odd if isinstance(odd, str) else "", attribute.missing)]
            )
            assert codes(mixed, attribute) == expected
        assert codes(typed.astype("category"), attribute) == codes(typed, attribute)


def test_labels_of_several_types():
    cells = [1, 1.0, np.float32(2.5), Decimal("2.50"), True, dt.date(2020, 1, 2), pandas.NA, "1.0", np.int8(2)]
    assert codes(pandas.Series(cells, dtype=object), LABEL) == Counter([0, 0, 2, 2, 3, 4, 5, 6, 1])
    assert codes(pandas.Categorical([1, "a", dt.date(2020, 1, 2), None]), LABEL) == Counter([0, 6, 4, 5])


CELLS = (
    st.integers(-3, 9)
    | st.sampled_from([1.0, 2.5, float("nan"), None, True, "1", "1.0", "x", "\ud800", MOMENT, Decimal("2.5"), b"1", ()])
    | st.text(max_size=2)
)


@settings(max_examples=40, deadline=None)
@given(cells=st.lists(CELLS, min_size=2, max_size=5), other=CELLS)
def test_whatever_one_cell_becomes_the_others_count_as_before(cells, other):
    rest = Counter(
        int(LABEL.other if (t := spelt(c)) not in LABEL.values.labels else LABEL.values.labels.index(t))
        if spelt(c) is not None
        else int(LABEL.missing)
        for c in cells[1:]
    )
    for first in (cells[0], other):
        found = codes(pandas.Series([first, *cells[1:]], dtype=object), LABEL)
        assert found.total() == len(cells)
        assert not rest - found


def test_the_frame_is_left_as_it_is():
    frame = pandas.DataFrame({"x": pandas.Series([1, "a"], dtype=object), "y": [1, 2]}, index=[7, 7])
    before = frame.copy(deep=True)
    with open_table(frame, Domain((LABEL,))) as engine:
        assert engine.counts([()])[0].total == 2
    pandas.testing.assert_frame_equal(frame, before)


def test_two_columns_of_one_name():
    with pytest.raises(TableError, match="two columns are named 'x'"):
        open_table(pandas.DataFrame([[1, 2]], columns=["x", "x"]), Domain((LABEL,)))
