from __future__ import annotations

from tetraodon.engine.column import Kind
from tetraodon.engine.duckdb_table import column


def test_types_in_the_words_of_duckdb():
    made = column("x", "DECIMAL(10,2)")
    assert (made.kind, made.width, made.scale) == (Kind.DECIMAL, 10, 2)
    assert column("x", "ENUM('SECRET')").shown == "ENUM"
    for shown in ("DECIMAL(10,2)[]", "INTEGER[]", "VARCHAR[3]", "STRUCT(a INTEGER)", "BLOB", "TIME", "BIGNUM"):
        assert column("x", shown).kind is Kind.STRANGE
