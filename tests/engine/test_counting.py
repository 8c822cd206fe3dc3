"""Counting: passes, cells, individuals, people, names."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter, defaultdict
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.oracle import tally
from tests.engine.tables import FORMS, found, table

from tetraodon.domain import Attribute, Categories, Domain, Grid, Integers
from tetraodon.engine import Individuals, open_table
from tetraodon.engine.counting import LONGEST_SUM, Counts, covering, passes, require_sound, require_summable, summed
from tetraodon.engine.duckdb_source import DuckDBTable
from tetraodon.errors import DataRefusal, DomainError, PolicyError, QueryError, TableError

# -- counting ---------------------------------------------------------------------------------------
# What is DuckDB's own: memory, settings, what is left behind.


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


# -- counts -----------------------------------------------------------------------------------------


CELLS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 1)), max_size=20)


@given(CELLS, st.permutations(["a", "b", "c"]), st.integers(0, 3))
def test_adding_up_is_what_counting_again_finds(cells, names, length):
    codes = np.array(cells, np.int64).reshape(-1, 3)
    counts = summed(("a", "b", "c"), codes, np.ones(len(cells), np.int64))
    asked = tuple(names[:length])
    places = ["abc".index(name) for name in asked]
    expected = Counter(tuple(cell[place] for place in places) for cell in cells)
    found = counts.by(asked)
    rows = [tuple(row) for row in found.codes.tolist()]
    if asked:
        assert rows == sorted(expected)
        assert found.counts.tolist() == [expected[row] for row in rows]
    else:
        assert (rows, found.counts.tolist()) == ([()], [len(cells)])
    assert found.total == len(cells)


def test_misuse():
    with pytest.raises(QueryError, match="do not fit together"):
        Counts(("a",), np.zeros((2, 1), np.int64), np.zeros(3, np.int64))
    with pytest.raises(QueryError, match="not by 'b'"):
        Counts(("a",), np.zeros((1, 1), np.int64), np.ones(1, np.int64)).by(("b",))


@pytest.mark.parametrize(("code", "count"), [(3, 1), (-1, 1)])
def test_what_cannot_be_is_refused(code, count):
    with pytest.raises(DataRefusal):
        require_sound(Counts(("a",), np.array([[code]]), np.array([count])), Domain((Attribute("a", Integers(0, 2)),)))


# -- passes -----------------------------------------------------------------------------------------


DOMAIN = Domain(
    (Attribute("a", Integers(0, 99)), Attribute("b", Integers(0, 99)), Attribute("huge", Integers(0, 10**9)))
)


def test_small_groups_share_a_pass():
    assert passes([("b",), ("a",), ()], DOMAIN) == [("a", "b")]


def test_what_is_inside_a_group_asked_for_costs_nothing():
    done = passes([("huge",), ("huge", "b"), ("a",)], DOMAIN)
    assert done == [("b", "huge"), ("a",)]
    assert [covering(group, done) for group in (("huge",), ("b",), ("a",), ())] == [0, 0, 1, 0]


def test_misuse_of_passes():
    with pytest.raises(DomainError, match="did you mean 'huge'"):
        passes([("hug",)], DOMAIN)
    with pytest.raises(QueryError, match="twice"):
        passes([("a", "a")], DOMAIN)


def test_codes_that_64_bits_may_not_hold_the_sum_of():
    require_summable({(): ["a"]}, DOMAIN)
    assert LONGEST_SUM < 10**9
    with pytest.raises(QueryError, match="too many values to be added up"):
        require_summable({(): ["huge"]}, DOMAIN)


# -- individuals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [("", 1), ("key", 0), ("key", True), ("key", 1.5), (None, 2), (None, 1, True)])
def test_what_makes_no_sense_is_refused(given):
    with pytest.raises(PolicyError):
        Individuals(*given)


def test_every_row_is_somebody_else_by_default():
    assert Individuals() == Individuals(None, 1, cut=False)


@pytest.mark.parametrize(("at_most", "cut"), [(1, True), (2, True), (5, True), (10, False), (13, False)])
def test_at_most_k_rows_per_individual(form, at_most, cut, tmp_path):
    age = Attribute("age", Integers(18, 65), missing=3)
    sex = Attribute("sex", Categories(("f", "m", "x")), missing=2, other=2)
    domain = Domain((age, sex))
    draw = random.Random(at_most)
    keys = [draw.choice(["ann", "bob", "Ann", "cec", None]) for _ in range(60)]
    records = [(draw.choice([None, 20, 30, 99]), draw.choice(["f", "m", "?"])) for _ in keys]
    seen = set()
    for turn in range(2):
        pairs = list(zip(keys, records, strict=True))
        draw.shuffle(pairs)
        (tmp_path / str(turn)).mkdir()
        columns = {"key": "VARCHAR", "age": "INTEGER", "sex": "VARCHAR"}
        rows, who = [(key, *record) for key, record in pairs], Individuals("key", at_most, cut)
        with table(form, tmp_path / str(turn), columns, rows) as source, open_table(source, domain, who) as engine:
            for group in (("age", "sex"), ("sex",), ()):
                counts = found(engine.counts([group])[0])
                assert counts == tally(records, domain, group, at_most, keys, cut)
                seen.add((group, tuple(sorted(counts.items()))))
            report = engine.dry_run()[-1]
        assert report.name == "key"
        assert report.missing == keys.count(None)
        more = [count for key in set(keys) - {None} if (count := keys.count(key)) > at_most]
        assert report.outside == sum(count - at_most if cut else count for count in more)
    assert len(seen) == 3


# -- per person -------------------------------------------------------------------------------------
# People counted rather than rows: equal numbers from every engine, against plain Python.


PER_PERSON_DOMAIN = Domain((Attribute("x", Integers(2, 9)), Attribute("y", Integers(0, 1))))
RECORDS = [
    ("a", 2, 0), ("a", 9, 1), ("b", 9, 0), ("c", 3, 1), ("c", 3, 1), ("c", 99, 0), (None, 5, 0),
    ("d", None, 0), ("e", 4, 0), ("e", 4, 1), ("e", 4, 0), ("e", 4, 0), ("f", 2, 1),
]  # fmt: skip


def oracle(individuals: Individuals, cap: int) -> dict[int, tuple[int, int]]:
    """By number of rows: people, and their capped sums."""
    mine: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for who, x, y in RECORDS:
        if who is not None:
            mine[who].append((2 if x is None else min(max(x, 2), 9), y))
    found: dict[int, tuple[int, int]] = {}
    for rows in mine.values():
        kept = sorted(rows)[: individuals.at_most] if individuals.cut or len(rows) <= individuals.at_most else []
        if kept:
            people, total = found.get(len(kept), (0, 0))
            found[len(kept)] = people + 1, total + min(cap, sum(x for x, _ in kept))
    return found


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("individuals", [Individuals("who", 3), Individuals("who", 2, cut=True)], ids=["out", "cut"])
def test_people_and_their_capped_sums(form: str, individuals: Individuals, tmp_path: Path) -> None:
    columns = {"who": "VARCHAR", "x": "INTEGER", "y": "INTEGER"}
    with (
        table(form, tmp_path, columns, RECORDS) as source,
        open_table(source, PER_PERSON_DOMAIN, individuals) as engine,
    ):
        for cap in (7, 11, 1000):
            found = engine.per_person("x", first=2, step=1, cap=cap)
            told = zip(found.rows.tolist(), found.people.tolist(), found.totals.tolist(), strict=True)
            assert {rows: (people, total) for rows, people, total in told} == oracle(individuals, cap)
        alone = engine.per_person()
        counted = {rows: people for rows, (people, _) in oracle(individuals, 1).items()}
        assert dict(zip(alone.rows.tolist(), alone.people.tolist(), strict=True)) == counted


# -- open names -------------------------------------------------------------------------------------
# Texts that nobody listed, counted: equal on every form of table that tells them, and refused on the others.


OPEN_NAMES_DOMAIN = Domain((Attribute("x", Integers(0, 9)),))
FILES = ("parquet", "csv", "pandas", "polars", "lazy", "arrow", "duckdb", "relation", "ibis")
WORDS = [
    "N1",
    "N1",
    " N1",
    "N1 ",
    "n1",
    "O'Hare",
    'say "x"',
    "a,b",
    "Ängelholm",
    "toolongname",
    "=1+1",
    None,
    "tab\there",
]
OPEN_NAMES_RECORDS = [(who // 2, 1, word) for who, word in enumerate(WORDS)]


def counted(form: str, folder: Path, individuals: Individuals | None = None, **how: Any) -> dict[str, int]:
    columns = {"who": "INTEGER", "x": "INTEGER", "word": "VARCHAR"}
    whose = individuals or Individuals()
    with (
        table(form, folder, columns, OPEN_NAMES_RECORDS) as source,
        open_table(source, OPEN_NAMES_DOMAIN, whose, open_text=["word"]) as engine,
    ):
        return engine.names("word", **({"longest": 9, "trim": False} | how))


def fit(word: str | None, longest: int = 9) -> bool:
    return word is not None and 1 <= len(word) <= longest and word.isprintable()


@pytest.mark.parametrize("form", FILES)
def test_texts_are_counted_as_they_are_spelt(form: str, tmp_path: Path) -> None:
    assert counted(form, tmp_path) == Counter(word for word in WORDS if fit(word))


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_blanks_do_not_count_where_they_are_trimmed(form: str, tmp_path: Path) -> None:
    wanted = Counter(word.strip(" ") for word in WORDS if word is not None and fit(word.strip(" ")))
    assert counted(form, tmp_path, trim=True) == wanted
    assert wanted["N1"] == 4


@pytest.mark.parametrize("form", ["parquet", "csv", "pandas"])
@pytest.mark.parametrize("most", [1, 2])
def test_a_person_has_each_name_once_and_none_with_too_many_rows(form: str, most: int, tmp_path: Path) -> None:
    rows = Counter(who for who, _, _ in OPEN_NAMES_RECORDS)
    kept = {(who, word) for who, _, word in OPEN_NAMES_RECORDS if rows[who] <= most and fit(word)}
    found = counted(form, tmp_path, Individuals("who", most))
    assert found == Counter(word for _, word in kept)
    assert counted(form, tmp_path, Individuals("who", most, cut=True)) == found


def test_numbers_are_spelt_as_labels_are(tmp_path: Path) -> None:
    with (
        table("parquet", tmp_path, {"x": "INTEGER", "code": "INTEGER"}, [(1, 10115), (1, 10115), (2, 7)]) as source,
        open_table(source, OPEN_NAMES_DOMAIN, open_text=["code"]) as engine,
    ):
        assert engine.names("code", longest=8, trim=False) == {"10115": 2, "7": 1}


def test_an_engine_that_tells_numbers_alone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="files and frames only"):
        counted("toy", tmp_path)


def test_a_column_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    with (
        table("parquet", tmp_path, {"x": "INTEGER", "word": "BLOB"}, [(1, b"a")]) as source,
        pytest.raises(TableError, match="expects text"),
    ):
        open_table(source, OPEN_NAMES_DOMAIN, open_text=["word"])
    with (
        table("parquet", tmp_path, {"x": "INTEGER"}, [(1,)]) as source,
        pytest.raises(TableError, match="no column 'word'"),
    ):
        open_table(source, OPEN_NAMES_DOMAIN, open_text=["word"])


def test_a_broken_file_is_refused_without_quoting_it(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    with table("parquet", tmp_path, {"x": "INTEGER", "word": "VARCHAR"}, [(1, "secretword")] * 100) as source:
        content = Path(source).read_bytes()
    file.write_bytes(content[:20] + bytes(len(content) // 2 - 20) + content[len(content) // 2 :])
    with (
        pytest.raises(Exception, match="cannot be") as caught,
        open_table(file, OPEN_NAMES_DOMAIN, open_text=["word"]) as engine,
    ):
        engine.names("word", longest=20, trim=False)
    assert "secretword" not in str(caught.value)
