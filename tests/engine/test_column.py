from __future__ import annotations

import pytest

from tetraodon.domain import Attribute, Categories, Integers
from tetraodon.engine.column import Column, Kind, numbered_later, require, require_key
from tetraodon.engine.duckdb_table import column
from tetraodon.errors import TableError


def test_misuse():
    with pytest.raises(TableError, match="at most 38 digits"):
        Column("x", "x", Kind.DECIMAL, "DECIMAL", 39, 2)
    with pytest.raises(TableError, match="the key is of type BLOB"):
        require_key(column("x", "x", "BLOB"))
    with pytest.raises(TableError, match="use one of: age"):
        require(["age"], ["zzz"])


def test_what_is_numbered_after_grouping():
    few, many = Attribute("x", Integers(0, 9)), Attribute("x", Integers(0, 10**9))
    label = Attribute("x", Categories(("a", "b")), other=0)
    assert numbered_later(few, column("x", "x", "INTEGER"))
    assert numbered_later(label, column("x", "x", "VARCHAR"))
    for attribute, shown in ((many, "INTEGER"), (few, "VARCHAR"), (few, "DOUBLE"), (label, "DOUBLE")):
        assert not numbered_later(attribute, column("x", "x", shown))
