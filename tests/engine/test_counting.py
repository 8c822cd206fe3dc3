"""What is DuckDB's own: memory, settings, what is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from importlib import import_module

import duckdb
import pytest

from tetraodon.domain import Attribute, Categories, Domain, Grid, Integers
from tetraodon.engine import Individuals, open_table
from tetraodon.engine.duckdb_source import DuckDBTable

AGE = Domain((Attribute("age", Integers(0, 99)),))


def test_memory_stays_bounded_for_large_tables(tmp_path):
    path = tmp_path / "t.parquet"
    with duckdb.connect() as made:
        made.execute(f"COPY (SELECT range % 120 AS age, hash(range) AS id FROM range(10_000_000)) TO '{path}'")
    program = (
        "from pathlib import Path; from tetraodon.domain import *; from tetraodon.engine import *\n"
        f"with open_table({str(path)!r}, Domain((Attribute('age', Integers(0, 99)),))) as engine:\n"
        "    assert engine.counts([('age',)])[0].total == 10_000_000\n"
        # not getrusage: its peak survives exec, and would be that of the test process
        "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 600 * 1024


def test_a_billion_rows_are_never_written_out():
    billion = duckdb.sql("SELECT range % 100 AS age FROM range(1_000_000_000)").limit(20_000_000)
    with open_table(billion, AGE) as engine:
        counts = engine.counts([("age",)])[0]
    assert counts.total == 20_000_000
    assert len(counts.counts) == 100


@pytest.mark.parametrize(("small", "there"), [(0, 2), (1000, 1)], ids=["a folder of its own", "no folder at all"])
def test_nothing_stays_behind(tmp_path, monkeypatch, small, there):
    monkeypatch.setattr(import_module("tetraodon.engine.open_table"), "SMALL", small)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    path = tmp_path / "t.csv"
    path.write_text("age\n1\n", encoding="utf-16")
    with open_table(path, AGE) as engine:
        engine.counts([("age",)])
        assert len(os.listdir(tmp_path)) == there
    path.write_text("wrong\n1\n", encoding="utf-16")
    with pytest.raises(Exception, match="no column"):
        open_table(path, AGE)
    assert os.listdir(tmp_path) == ["t.csv"]
    monkeypatch.setattr("tempfile.tempdir", None)


def test_a_database_is_only_read_and_settings_are_locked(tmp_path):
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE t AS SELECT 1 AS age")
    with open_table(path, AGE) as engine:
        connection = engine._table.connection  # type: ignore[attr-defined]
        for statement in (
            "INSERT INTO source.t VALUES (2)",
            "SET threads = 1",
            "SELECT * FROM read_text('/etc/hosts')",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(statement)


def test_a_table_whose_rows_belong_to_nobody_is_empty():
    with open_table(duckdb.sql("SELECT 1 AS age, NULL::INTEGER AS k"), AGE, Individuals("k")) as engine:
        assert engine.counts([("age",)])[0].total == 0
        assert engine.dry_run()[-1].missing == 1


def test_a_key_of_doubles_has_no_nan():
    rows = duckdb.sql("SELECT * FROM (VALUES (1, 1.0::DOUBLE), (2, 'nan'::DOUBLE), (3, NULL)) t(age, k)")
    with open_table(rows, AGE, Individuals("k")) as engine:
        assert engine.counts([("age",)])[0].codes.tolist() == [[1]]
        assert engine.dry_run()[-1].missing == 2


def test_the_largest_unsigned_numbers():
    wide = duckdb.sql(f"SELECT unnest(['{2**128 - 1}'::UHUGEINT, NULL, 5]) AS age")
    with open_table(wide, AGE) as engine:
        assert engine.counts([("age",)])[0].codes.tolist() == [[0], [5], [99]]


def test_labels_beyond_a_short_list_match_exactly():
    labels = ("", " ", "a", "A", *map(str, range(100)))
    domain = Domain((Attribute("x", Categories(labels), missing=5, other=6),))
    rows = duckdb.sql("SELECT unnest(['', ' ', '  ', 'a', 'A', 'a ', '7', '07', NULL]) AS x")
    with open_table(rows, domain) as engine:
        counts = engine.counts([("x",)])[0]
    assert dict(zip(counts.codes[:, 0].tolist(), counts.counts.tolist(), strict=True)) == {
        0: 1, 1: 1, 2: 1, 3: 1, 5: 1, 6: 3, 11: 1,
    }  # fmt: skip


def test_what_was_counted_is_not_scanned_again(tmp_path, monkeypatch):
    scans = []
    fetch = DuckDBTable.fetch
    monkeypatch.setattr(DuckDBTable, "fetch", lambda table, query: scans.append(1) or fetch(table, query))
    path = tmp_path / "t.parquet"
    with duckdb.connect() as made:
        made.execute(f"COPY (FROM (VALUES (1, '2.5'), (200, 'x')) t(age, weight)) TO '{path}'")
    domain = Domain((*AGE, Attribute("weight", Grid(Fraction(0), Fraction(9), Fraction(1, 2)))))
    with open_table(path, domain) as engine:
        engine.counts([("age",)])
        assert engine.dry_run({"age"})[0].outside == 1
        assert len(scans) == 1
        assert engine.dry_run()[1].unreadable == 1
    assert len(scans) == 2
