from __future__ import annotations

import ibis
import polars
import pytest

from tetraodon.engine.ibis_backend import SUPPORTED, IbisBackend
from tetraodon.engine.ibis_expression import END
from tetraodon.errors import TableError


def test_every_backend_let_in_is_known_to_the_expressions():
    assert set(SUPPORTED) == set(END)


def test_untried_backends_are_refused_by_name():
    with pytest.raises(TableError, match="counting with polars is not supported"):
        IbisBackend(ibis.polars.connect({"t": polars.DataFrame({"age": [1]})}).table("t"))
    with pytest.raises(TableError, match="not a table"):
        IbisBackend(ibis.literal(1))


def test_the_options_of_ibis_are_put_back():
    before = ibis.options.sql.fuse_selects
    table = ibis.memtable(polars.DataFrame({"a": [1, 2]}))
    assert IbisBackend(table).fetch(table.aggregate(n=table.count()))["n"].tolist() == [2]
    assert ibis.options.sql.fuse_selects is before
