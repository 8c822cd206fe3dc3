from __future__ import annotations

import pytest

from tetraodon.engine.column import Column, Kind, require, require_key
from tetraodon.engine.duckdb_table import column
from tetraodon.errors import TableError


def test_misuse():
    with pytest.raises(TableError, match="at most 38 digits"):
        Column("x", "x", Kind.DECIMAL, "DECIMAL", 39, 2)
    with pytest.raises(TableError, match="the key is of type BLOB"):
        require_key(column("x", "x", "BLOB"))
    with pytest.raises(TableError, match="use one of: age"):
        require(["age"], ["zzz"])
