from __future__ import annotations

import os
from importlib import import_module

import duckdb
import polars as pl
import pytest

from tetraodon.engine import duckdb_table
from tetraodon.engine.column import Kind
from tetraodon.engine.duckdb_table import SMALL_FILES, SMALL_FRAMES, SmallTables, column
from tetraodon.engine.open_table import opened

open_table = import_module("tetraodon.engine.open_table")
FRAME = pl.DataFrame({"x": [1, 2, 2]})


def test_types_in_the_words_of_duckdb():
    made = column("x", "DECIMAL(10,2)")
    assert (made.kind, made.width, made.scale) == (Kind.DECIMAL, 10, 2)
    assert column("x", "ENUM('SECRET')").shown == "ENUM"
    for shown in ("DECIMAL(10,2)[]", "INTEGER[]", "VARCHAR[3]", "STRUCT(a INTEGER)", "BLOB", "TIME", "BIGNUM"):
        assert column("x", shown).kind is Kind.STRANGE


def sums(table):
    return table.fetch(lambda origin: f"SELECT sum(x)::BIGINT AS s FROM {origin}")["s"].tolist()


def test_small_tables_share_a_database_and_see_nothing_of_each_other(monkeypatch, tmp_path):
    made = []
    connect = duckdb.connect
    monkeypatch.setattr(duckdb_table.duckdb, "connect", lambda *a, **k: made.append(k) or connect(*a, **k))
    monkeypatch.setattr(open_table, "SMALL_FRAMES", SmallTables(files=False))
    monkeypatch.setattr(open_table, "SMALL_FILES", SmallTables(files=True))
    FRAME.write_parquet(tmp_path / "t.parquet")
    first, second = opened(FRAME), opened(pl.DataFrame({"x": [7]}))
    assert (sums(first), sums(second), sums(first)) == ([5], [7], [5])
    first.close()
    assert sums(second) == [7]
    second.close()
    for _ in range(2):
        file = opened(tmp_path / "t.parquet")
        assert sums(file) == [5]
        file.close()
    assert len(made) == 2
    with pytest.raises(duckdb.Error):
        open_table.SMALL_FRAMES.cursor().execute("SELECT * FROM frame")


def test_a_file_that_was_written_anew_is_read_anew(tmp_path):
    path = tmp_path / "t.parquet"
    for values in ([1], [2], [30]):
        pl.DataFrame({"x": values}).write_parquet(path)
        os.utime(path, (0, 0))
        table = opened(path)
        assert sums(table) == values
        table.close()


@pytest.mark.parametrize("shared", [SMALL_FILES, SMALL_FRAMES], ids=["files", "frames"])
def test_nobody_changes_what_is_shared(shared, tmp_path):
    FRAME.write_parquet(tmp_path / "t.parquet")
    cursor = shared.cursor()
    for setting in ("threads = 4", "lock_configuration = false", "enable_external_access = true"):
        with pytest.raises(duckdb.Error):
            cursor.execute(f"SET {setting}")
    told = dict(cursor.execute("SELECT name, value FROM duckdb_settings()").fetchall())
    assert (told["threads"], told["temp_directory"], told["enable_external_file_cache"]) == ("1", "", "false")
    if shared is SMALL_FRAMES:
        with pytest.raises(duckdb.Error):
            cursor.execute(f"SELECT * FROM read_parquet('{tmp_path}/t.parquet')")


def test_large_tables_have_a_database_of_their_own(monkeypatch, tmp_path):
    FRAME.write_parquet(tmp_path / "t.parquet")
    FRAME.write_csv(tmp_path / "t.csv")
    for source in (FRAME, tmp_path / "t.parquet", str(tmp_path / "t.csv")):
        assert open_table._shared(source) is not None
    monkeypatch.setattr(open_table, "SMALL", 5)
    for source in (FRAME, tmp_path / "t.parquet", str(tmp_path / "t.csv"), tmp_path / "none.csv", "frame", 3):
        assert open_table._shared(source) is None
    table = opened(FRAME)
    assert sums(table) == [5]
    folder = table.folder
    assert folder.exists()
    table.close()
    assert not folder.exists()


def test_a_child_makes_its_own():
    """What is shared has no thread, so that a child can leave it alone; it counts with a database of its own."""
    shared = SmallTables(files=False)
    before = shared.cursor()
    child = os.fork()
    if child == 0:
        good = shared.cursor().execute("SELECT 1").fetchall() == [(1,)] and shared._made[0] == os.getpid()
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert before.execute("SELECT 2").fetchall() == [(2,)]
