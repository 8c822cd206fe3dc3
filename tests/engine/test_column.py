from __future__ import annotations

import pytest

from tetraodon.domain import Attribute, Categories, Integers
from tetraodon.engine.column import Column, ColumnReport, Kind, numbered_later, require, require_key
from tetraodon.engine.duckdb_source import column
from tetraodon.errors import TableError


def test_misuse():
    with pytest.raises(TableError, match="at most 38 digits"):
        Column("x", "x", Kind.DECIMAL, "DECIMAL", 39, 2)
    with pytest.raises(TableError, match="the key is of type BLOB"):
        require_key(column("x", "BLOB"))
    with pytest.raises(TableError, match="use one of: age"):
        require(["age"], ["zzz"])


def test_what_is_numbered_after_grouping():
    few, many = Attribute("x", Integers(0, 9)), Attribute("x", Integers(0, 10**9))
    label = Attribute("x", Categories(("a", "b")), other=0)
    assert numbered_later(few, column("x", "INTEGER"))
    assert numbered_later(label, column("x", "VARCHAR"))
    for attribute, shown in ((many, "INTEGER"), (few, "VARCHAR"), (few, "DOUBLE"), (label, "DOUBLE")):
        assert not numbered_later(attribute, column("x", shown))


def test_a_column_of_another_type_has_values_and_none_can_be_read():
    assert ColumnReport("a", 3, 1, 2, 0).another_type
    for parts in ((3, 1, 1, 0), (3, 3, 0, 0), (0, 0, 0, 0)):
        assert not ColumnReport("a", *parts).another_type


def test_a_report_adds_up():
    assert ColumnReport("a", 3, 0, 0, 0).fits
    assert not ColumnReport("a", 3, 1, 1, 1).fits
    for parts in ((2, 1, 1, 1), (1, -1, 0, 0)):
        with pytest.raises(TableError, match="does not add up"):
            ColumnReport("a", *parts)
