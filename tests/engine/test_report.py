from __future__ import annotations

import pytest

from tetraodon.engine import ColumnReport
from tetraodon.errors import TableError


def test_it_adds_up():
    assert ColumnReport("a", 3, 0, 0, 0).fits
    assert not ColumnReport("a", 3, 1, 1, 1).fits
    for parts in ((2, 1, 1, 1), (1, -1, 0, 0)):
        with pytest.raises(TableError, match="does not add up"):
            ColumnReport("a", *parts)
