"""Tables in DuckDB: SQL, folders, sources."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib import import_module

import duckdb
import pandas
import polars
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.engine import DataRefusal, open_table
from tetraodon.engine import duckdb_source as duckdb_table
from tetraodon.engine.column import Kind
from tetraodon.engine.duckdb_source import (
    SMALL_FILES,
    SMALL_FRAMES,
    PrivateFolder,
    SmallTables,
    column,
    quoted,
    remove_abandoned,
    text,
)
from tetraodon.engine.open_table import opened
from tetraodon.errors import TableError

# -- duckdb sql -------------------------------------------------------------------------------------


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


# -- duckdb table -----------------------------------------------------------------------------------


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


# -- duckdb source ----------------------------------------------------------------------------------


DOMAIN = Domain((Attribute("age", Integers(0, 99)),))
MARKER = "SECRET-MARKER"


def test_tables_of_a_duckdb_file(tmp_path):
    path = tmp_path / 'data "1".duckdb'
    with duckdb.connect(str(path)) as made:
        made.execute('CREATE TABLE "a#""b" AS SELECT 7 AS age; CREATE SCHEMA s; CREATE VIEW s.v AS SELECT 8 AS age')
    for source, code in ((f'{path}#a#"b', 7), (f"duckdb://{path}#s.v", 8)):
        with open_table(source, DOMAIN) as engine:
            assert engine.counts([("age",)])[0].codes.tolist() == [[code]]
    with pytest.raises(TableError, match=r"did you mean 's\.v'"):
        open_table(f"{path}#s.w", DOMAIN)
    with pytest.raises(TableError, match="several tables"):
        open_table(path, DOMAIN)


def test_a_view_in_a_duckdb_file_reads_no_other_file(tmp_path):
    (tmp_path / "other.csv").write_text("age\n5\n")
    with duckdb.connect(str(tmp_path / "t.db")) as made:
        made.execute(f"CREATE VIEW v AS SELECT * FROM read_csv('{tmp_path}/other.csv')")
    with open_table(tmp_path / "t.db", DOMAIN) as engine, pytest.raises(DataRefusal):
        engine.counts([("age",)])


def test_several_parquet_files(tmp_path):
    for number in range(3):
        duckdb.sql(f"SELECT {number} AS age").write_parquet(str(tmp_path / f"part-{number}.parquet"))
    with open_table(tmp_path / "part-*.parquet", DOMAIN) as engine:
        assert engine.counts([("age",)])[0].codes.tolist() == [[0], [1], [2]]


@pytest.mark.parametrize("other", ["'5' AS age", "'x' AS age", "5 AS years", "5::DECIMAL(4, 1) AS age"])
def test_parquet_files_of_several_types_are_refused_whatever_is_in_them(other, tmp_path):
    duckdb.sql("SELECT 1 AS age, 2 AS rest").write_parquet(str(tmp_path / "a.parquet"))
    duckdb.sql(f"SELECT {other}, 'x' AS rest").write_parquet(str(tmp_path / "b.parquet"))
    with pytest.raises(TableError, match="not of the same type in all files") as refusal:
        open_table(tmp_path / "*.parquet", DOMAIN)
    assert not isinstance(refusal.value, DataRefusal)


def test_whole_numbers_that_no_double_holds_are_read_from_text_and_reals():
    domain = Domain((Attribute("age", Integers(0, 10**17)),))
    for number, code in (
        ("'50000000000000001'", 5 * 10**16 + 1),
        ("5e16::DOUBLE", 5 * 10**16),
        ("1e18::DOUBLE", 10**17),
    ):
        with open_table(duckdb.sql(f"SELECT {number} AS age"), domain) as engine:
            assert engine.counts([("age",)])[0].codes.tolist() == [[code]]


def test_labels_of_a_frame_are_not_in_its_type():
    nested = polars.DataFrame({"age": [{MARKER: 1}]})
    with pytest.raises(TableError) as error:
        open_table(nested, DOMAIN)
    assert MARKER not in str(error.value)


def test_odd_objects_do_not_change_a_column_of_a_frame():
    frame = pandas.DataFrame({"age": pandas.Series([1] * 5000 + ["x", None, 2.5], dtype=object)})
    with open_table(frame, DOMAIN) as engine:
        counts = engine.counts([("age",)])[0]
    assert (counts.codes.tolist(), counts.counts.tolist()) == ([[0], [1], [3]], [2, 5000, 1])


def test_a_polars_query_is_run_for_the_columns_it_needs():
    query = polars.LazyFrame({"age": [1, 2], "rest": ["1", "x"]}).with_columns(polars.col("rest").cast(int))
    with open_table(query, DOMAIN) as engine:
        assert engine.counts([()])[0].total == 2
    with pytest.raises(TableError, match="did you mean 'age'"):
        open_table(query, Domain((Attribute("ages", Integers(0, 9)),)))


def test_a_polars_query_that_fails_is_not_quoted():
    query = polars.LazyFrame({"age": [MARKER]}).with_columns(polars.col("age").cast(int))
    with pytest.raises(DataRefusal) as refusal:
        open_table(query, DOMAIN)
    assert MARKER not in str(refusal.value)
    assert refusal.value.__context__ is None


def test_a_relation_leaves_nothing_in_its_connection():
    with duckdb.connect() as connection:
        with open_table(connection.sql("SELECT 5 AS age"), DOMAIN) as engine:
            engine.counts([("age",)])
        assert connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall() == []
        relation = connection.sql("SELECT 5 AS age")
    with pytest.raises(TableError, match="cannot be opened"):
        open_table(relation, DOMAIN)
