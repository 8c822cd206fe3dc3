"""Texts that nobody listed, counted: equal on every form of table that tells them, and refused on the others."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.engine.tables import table

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.engine import Individuals, open_table
from tetraodon.errors import TableError

DOMAIN = Domain((Attribute("x", Integers(0, 9)),))
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
RECORDS = [(who // 2, 1, word) for who, word in enumerate(WORDS)]


def counted(form: str, folder: Path, individuals: Individuals | None = None, **how: Any) -> dict[str, int]:
    columns = {"who": "INTEGER", "x": "INTEGER", "word": "VARCHAR"}
    whose = individuals or Individuals()
    with (
        table(form, folder, columns, RECORDS) as source,
        open_table(source, DOMAIN, whose, open_text=["word"]) as engine,
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
    rows = Counter(who for who, _, _ in RECORDS)
    kept = {(who, word) for who, _, word in RECORDS if rows[who] <= most and fit(word)}
    found = counted(form, tmp_path, Individuals("who", most))
    assert found == Counter(word for _, word in kept)
    assert counted(form, tmp_path, Individuals("who", most, cut=True)) == found


def test_numbers_are_spelt_as_labels_are(tmp_path: Path) -> None:
    with (
        table("parquet", tmp_path, {"x": "INTEGER", "code": "INTEGER"}, [(1, 10115), (1, 10115), (2, 7)]) as source,
        open_table(source, DOMAIN, open_text=["code"]) as engine,
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
        open_table(source, DOMAIN, open_text=["word"])
    with (
        table("parquet", tmp_path, {"x": "INTEGER"}, [(1,)]) as source,
        pytest.raises(TableError, match="no column 'word'"),
    ):
        open_table(source, DOMAIN, open_text=["word"])


def test_a_broken_file_is_refused_without_quoting_it(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    with table("parquet", tmp_path, {"x": "INTEGER", "word": "VARCHAR"}, [(1, "secretword")] * 100) as source:
        content = Path(source).read_bytes()
    file.write_bytes(content[:20] + bytes(len(content) // 2 - 20) + content[len(content) // 2 :])
    with pytest.raises(Exception, match="cannot be") as caught, open_table(file, DOMAIN, open_text=["word"]) as engine:
        engine.names("word", longest=20, trim=False)
    assert "secretword" not in str(caught.value)
