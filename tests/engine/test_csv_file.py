"""CSV files as the world writes them."""

from __future__ import annotations

import gzip
import tracemalloc
from fractions import Fraction

import pytest

from tetraodon.domain import Attribute, Categories, Domain, Grid, Integers
from tetraodon.engine import Counts, CsvFormat, DataRefusal, open_table
from tetraodon.errors import TableError

TOWN = Attribute("town", Categories(("Zürich", "Genève", "x", "?")), missing=3, other=3)
COST = Attribute("cost", Grid(Fraction(0), Fraction(100), Fraction(1, 2)))
AGE = Attribute("age", Integers(0, 120))
DOMAIN = Domain((TOWN, COST, AGE))
MARKER = "SECRET-MARKER"
EXPECTED = [[0, 25, 40], [1, 3, 7]]


def count(path, csv=None, domain=DOMAIN) -> Counts:
    with open_table(path, domain, csv=csv) as engine:
        return engine.counts([domain.names])[0]


def written(path, text: str, encoding: str = "utf-8"):
    data = text.encode(encoding)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16", "cp1252"])
@pytest.mark.parametrize("name", ["table.csv", "table.txt.gz"])
def test_separators_ends_and_encodings(name, encoding, separator, end, tmp_path):
    lines = ["town,cost,age,rest", "Zürich,12.5,40,x", "Genève,1.5,7,y"]
    text = end.join(lines).replace(",", separator) + end
    stated = CsvFormat(encoding=encoding) if encoding in ("latin-1", "cp1252") else None
    assert count(written(tmp_path / name, text, encoding), stated).codes.tolist() == EXPECTED


@pytest.mark.parametrize("encoding", ["utf-16-be", "utf-16-le", "mac-roman"])
def test_stated_encodings(encoding, tmp_path):
    path = written(tmp_path / "table.csv", "town;cost;age\nZürich;12,5;40\nGenève;1,5;7\n", encoding)
    assert count(path, CsvFormat(encoding=encoding)).codes.tolist() == EXPECTED


@pytest.mark.parametrize("layout", [None, CsvFormat(decimal=","), CsvFormat(separator=";")])
def test_decimal_commas(layout, tmp_path):
    path = written(tmp_path / "t.csv", "town;cost;age\nZürich;12,5;40\nGenève;1,5;7\n")
    assert count(path, layout).codes.tolist() == EXPECTED


def test_a_stated_decimal_mark_is_the_only_one(tmp_path):
    path = written(tmp_path / "t.csv", "cost;age\n12,5;1\n12.5;2\n")
    domain = Domain((COST, AGE))
    assert count(path, CsvFormat(decimal=","), domain).codes.tolist() == [[0, 2], [25, 1]]
    assert count(path, CsvFormat(decimal="."), domain).codes.tolist() == [[0, 1], [25, 2]]
    quoted = written(tmp_path / "q.csv", 'cost,age\n"12,5",1\n12.5,2\n')
    assert count(quoted, None, domain).codes.tolist() == [[0, 1], [25, 2]]
    assert count(quoted, CsvFormat(decimal=","), domain).codes.tolist() == [[0, 2], [25, 1]]


def test_one_record_does_not_change_how_another_is_read(tmp_path):
    domain = Domain((COST,))
    alone = count(written(tmp_path / "a.csv", "cost;x\n12,5;1\n"), None, domain)
    joined = count(written(tmp_path / "b.csv", "cost;x\n12,5;1\n99.5;1\nodd;1\n"), None, domain)
    assert alone.codes.tolist() == [[25]]
    assert [25] in joined.codes.tolist()


def test_quotes(tmp_path):
    text = 'rest,town,cost,age\n"a ""b"", c","Zürich",1,2\nx,Genève,,\n\ny,"",,""\n'
    counts = count(written(tmp_path / "t.csv", text))
    assert counts.codes.tolist() == [[0, 2, 2], [1, 0, 0], [3, 0, 0]]
    assert counts.total == 4


def test_what_a_short_row_lacks_is_missing(tmp_path):
    counts = count(written(tmp_path / "t.csv", "town,cost,age\nGenève\nZürich,1\nZürich,1,2\n"))
    assert counts.codes.tolist() == [[0, 2, 0], [0, 2, 2], [1, 0, 0]]


def test_columns_that_differ_by_case_are_two_columns(tmp_path):
    path = written(tmp_path / "t.csv", "AGE,age,Age\n1,2,3\n")
    assert count(path, None, Domain((Attribute("Age", Integers(0, 9)), AGE))).codes.tolist() == [[3, 2]]


def test_a_path_is_taken_at_its_word(tmp_path):
    text = "town,cost,age\nZürich,12.5,40\nGenève,1.5,7\n"
    written(tmp_path / "ta.csv", "town,cost,age\n?,0,0\n")
    assert count(written(tmp_path / "t[ab]'*.csv", text)).codes.tolist() == EXPECTED


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "no header"),
        ("\nage\n1\n", "no header"),
        ("town,cost,age,age\na,1,2,3\n", "two columns are named"),
        ("town,cost\na,1\n", "no column 'age'"),
    ],
)
def test_headers_that_are_refused(text, what, tmp_path):
    with pytest.raises(TableError, match=what):
        open_table(written(tmp_path / "t.csv", text), DOMAIN)


@pytest.mark.parametrize("text", [f"{MARKER},17\n{MARKER},18\n", f"{MARKER}\n", f"name,{MARKER},cost,town\n1,2,3,4\n"])
def test_a_header_that_may_be_a_record_is_never_shown(text, tmp_path):
    (tmp_path / "link.csv").symlink_to(written(tmp_path / "t.csv", text))
    for name in ("t.csv", "link.csv"):
        with pytest.raises(TableError, match="the CSV file has no column") as refusal:
            open_table(tmp_path / name, DOMAIN)
        assert MARKER not in repr(refusal.value)
        assert refusal.value.__context__ is None


def test_a_name_that_differs_in_capitals_is_told_by_its_place(tmp_path):
    with pytest.raises(TableError, match=r"no column 'age'.*column 3 differs in capitals or blanks only"):
        open_table(written(tmp_path / "t.csv", "town,cost, Age\na,1,2\n"), DOMAIN)


def test_a_header_that_unpacks_without_end_is_refused_at_once(tmp_path):
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wb", 1) as file:
        for _ in range(200):
            file.write(b"a" * 2**20)
    tracemalloc.start()
    with pytest.raises(TableError, match="first line of the CSV file is longer than 131,072 bytes"):
        open_table(path, DOMAIN)
    assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    tracemalloc.stop()


def test_a_line_that_unpacks_without_end_is_one_record(tmp_path):
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write("town,cost,age\nZürich,1,2\n".encode())
        for _ in range(50):
            file.write(b"a" * 2**20)
        file.write("\nZürich,1,3".encode())
    tracemalloc.start()
    counts = count(path)
    assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    tracemalloc.stop()
    assert counts.codes.tolist() == [[0, 2, 2], [0, 2, 3], [3, 0, 0]]


@pytest.mark.parametrize(
    "layout",
    [
        {"separator": "ab"},
        {"separator": '"'},
        {"decimal": ";"},
        {"encoding": "klingon"},
        {"encoding": "cp037"},
        {"encoding": "rot13"},
    ],
)
def test_formats_that_do_not_exist(layout):
    with pytest.raises(TableError):
        CsvFormat(**layout)


def test_files_that_are_not_what_they_say(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(b"not gzip")
    with pytest.raises(TableError, match="cannot be read"):
        open_table(tmp_path / "t.csv.gz", DOMAIN)
    whole = gzip.compress(b"town,cost,age\n" + b"a,1,2\n" * 10**5)
    (tmp_path / "t.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataRefusal, match="cannot be read"):
        open_table(tmp_path / "t.csv.gz", DOMAIN)
    for text in ("größe\n1\n", '"a\n1\n', "a\r1\r2\r"):
        with pytest.raises(TableError, match="first line of the CSV file cannot be read"):
            open_table(written(tmp_path / "t.csv", text, "latin-1"), DOMAIN)


def test_a_file_that_breaks_while_it_is_read_is_refused(tmp_path):
    whole = gzip.compress(b"town,cost,age\n" + b"a,1,2,3\n" * 10**5)
    (tmp_path / "t.csv.gz").write_bytes(whole)
    with open_table(tmp_path / "t.csv.gz", DOMAIN) as engine:
        (tmp_path / "t.csv.gz").write_bytes(whole[: len(whole) // 2])
        with pytest.raises(DataRefusal, match="cannot be counted"):
            engine.counts([("age",)])
