from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib import import_module

import duckdb
import polars as pl
import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.engine import duckdb_source as duckdb_table
from tetraodon.engine import open_table
from tetraodon.engine.column import Kind
from tetraodon.engine.duckdb_source import (
    SMALL_FILES,
    SMALL_FRAMES,
    PrivateFolder,
    SmallTables,
    column,
    remove_abandoned,
)
from tetraodon.engine.open_table import opened

door = import_module("tetraodon.engine.open_table")
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
    monkeypatch.setattr(door, "SMALL_FRAMES", SmallTables(files=False))
    monkeypatch.setattr(door, "SMALL_FILES", SmallTables(files=True))
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
        door.SMALL_FRAMES.cursor().execute("SELECT * FROM frame")


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
        assert door._shared(source) is not None
    monkeypatch.setattr(door, "SMALL", 5)
    for source in (FRAME, tmp_path / "t.parquet", str(tmp_path / "t.csv"), tmp_path / "none.csv", "frame", 3):
        assert door._shared(source) is None
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


HOLD = """
from tetraodon.engine.duckdb_source import PrivateFolder
folder = PrivateFolder()
(folder.path / "spill").write_text("SECRET")
print(folder.path.name, flush=True)
input()
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


def test_a_killed_process_leaves_nothing_to_the_next(place):
    with subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, stdin=subprocess.PIPE) as process:
        assert process.stdout is not None
        name = process.stdout.readline().decode().strip()
        remove_abandoned()
        assert os.listdir(place) == [name]  # its process lives
        assert (place / name / "spill").exists()
        os.kill(process.pid, signal.SIGKILL)
    folder = PrivateFolder()
    assert os.listdir(place) == [folder.path.name]
    folder.remove()
    assert os.listdir(place) == []


def test_what_is_not_ours_stays(place):
    (place / "tetraodon-mine").mkdir()
    (place / "elsewhere").mkdir()
    (place / "elsewhere" / "lock").write_text("")
    (place / "tetraodon-link").symlink_to(place / "elsewhere")
    remove_abandoned()
    assert sorted(os.listdir(place)) == ["elsewhere", "tetraodon-link", "tetraodon-mine"]
    assert (place / "elsewhere" / "lock").exists()


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_no_file_is_copied(encoding, small, place, monkeypatch):
    monkeypatch.setattr(door, "SMALL", 1000 if small else 0)
    path = place / "t.csv"
    path.write_text("age\n1\n", encoding=encoding)
    with open_table(path, Domain((Attribute("age", Integers(0, 9)),))) as engine:
        engine.counts([("age",)])
        files = [name for _, _, names in os.walk(place) for name in names]
    assert sorted(files) == (["t.csv"] if small else ["lock", "t.csv"])
    assert os.listdir(place) == ["t.csv"]


def test_whoever_opens_a_small_table_removes_what_was_abandoned_too(place):
    with subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, stdin=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
    assert len(os.listdir(place)) == 1
    (place / "t.csv").write_text("age\n1\n")
    with open_table(place / "t.csv", Domain((Attribute("age", Integers(0, 9)),))):
        assert os.listdir(place) == ["t.csv"]
