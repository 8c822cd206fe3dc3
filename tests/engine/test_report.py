from __future__ import annotations

import pytest

from tetraodon.engine import ColumnReport
from tetraodon.errors import TableError


def test_a_column_of_another_type_has_values_and_none_can_be_read():
    assert ColumnReport("a", 3, 1, 2, 0).another_type
    for parts in ((3, 1, 1, 0), (3, 3, 0, 0), (0, 0, 0, 0)):
        assert not ColumnReport("a", *parts).another_type


def test_it_adds_up():
    assert ColumnReport("a", 3, 0, 0, 0).fits
    assert not ColumnReport("a", 3, 1, 1, 1).fits
    for parts in ((2, 1, 1, 1), (1, -1, 0, 0)):
        with pytest.raises(TableError, match="does not add up"):
            ColumnReport("a", *parts)
