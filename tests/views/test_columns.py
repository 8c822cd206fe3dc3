"""Columns of values: what Parquet holds is what the attribute says."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import numpy as np
import pytest

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.errors import DomainError
from tetraodon.views.tuple_files import cells_of, codes_of, column, columns, require_numbered

DOMAIN = Domain(
    (
        Attribute("sex", Categories(("F", "M")), other=0),
        Attribute("age", Integers(-3, 3)),
        Attribute("ok", Booleans(), other=0),
        Attribute("x", Grid(Fraction(0), Fraction(1), Fraction(1, 10))),
        Attribute("day", Dates(dt.date(1969, 12, 30), dt.date(1970, 1, 3))),
    )
)


def test_every_cell_has_the_values_of_the_domain() -> None:
    cells = np.arange(DOMAIN.size, dtype=np.uint64)
    found = columns(DOMAIN, cells)
    for cell in (0, 1, 17, 500, DOMAIN.size - 1):
        row = tuple(found[name][cell].as_py() for name in DOMAIN.names)
        assert row == tuple(float(v) if isinstance(v, Fraction) else v for v in DOMAIN.value(cell))
    codes = np.stack([part.astype(np.int64) for part in codes_of(DOMAIN, cells)], axis=1)
    assert (cells_of(DOMAIN, codes) == cells).all()


def test_a_fine_grid_is_not_written_out() -> None:
    attribute = Attribute("x", Grid(Fraction(0), Fraction(10**9), Fraction(1, 10)))
    assert column(attribute, np.array([3], np.uint64)).to_pylist() == [0.3]


def test_too_many_tuples_are_refused() -> None:
    require_numbered(Domain((Attribute("a", Integers(1, 10**18)),)))
    with pytest.raises(DomainError, match=r"2\^63"):
        require_numbered(Domain((Attribute("a", Integers(1, 10**10)), Attribute("b", Integers(1, 10**10)))))
