from __future__ import annotations

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.engine.duckdb_source import quoted, text
from tetraodon.errors import TableError

STORABLE = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


@given(STORABLE, STORABLE.filter(bool))
def test_whatever_is_in_a_name_or_label_stays_in_it(label, name):
    found = duckdb.execute(f"SELECT {text(label)} AS {quoted(name)}")
    assert found.description[0][0] == name
    assert found.fetchall() == [(label,)]


@pytest.mark.parametrize("string", ["a\0b", "\ud800"])
def test_what_no_database_can_store_is_refused(string):
    for write in (quoted, text):
        with pytest.raises(TableError, match="no database can store"):
            write(string)
