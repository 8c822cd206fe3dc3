"""CSV files: their outside, and their lines."""

from __future__ import annotations

import csv
import gzip
import itertools
import os
import re
import tempfile
import threading
import tracemalloc
from collections import Counter
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tetraodon.domain import Attribute, Categories, Domain, Grid, Integers
from tetraodon.engine import Counts, CsvFormat, DataRefusal, Individuals, open_table
from tetraodon.engine.csv_table import LONGEST_LINE, clean, examine, mended, piped
from tetraodon.errors import TableError

# -- csv file ---------------------------------------------------------------------------------------
# CSV files as the world writes them.


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


# -- csv lines --------------------------------------------------------------------------------------
# A line of a CSV file is a record of its own, whatever bytes are in the others.


CSV_LINES_TOWN = Attribute("town", Categories(("Köln", "Bonn", "?", "!")), missing=2, other=3)
CSV_LINES_AGE = Attribute("age", Integers(0, 99), missing=99)
CSV_LINES_DOMAIN = Domain((CSV_LINES_TOWN, CSV_LINES_AGE))
KOELN, NOTHING = (0, 30), (2, 99)
HEADER, RECORD = b"town,age,note", "Köln,30,x".encode()


def cells(lines: list[bytes], csv_format: CsvFormat | None = None, end: bytes = b"\n") -> Counter[tuple[int, ...]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(end.join((HEADER, *lines, b"")))
        with open_table(path, CSV_LINES_DOMAIN, csv=csv_format) as engine:
            found = engine.counts([CSV_LINES_DOMAIN.names])[0]
        return Counter(
            {tuple(codes): int(n) for codes, n in zip(found.codes.tolist(), found.counts.tolist(), strict=True)}
        )


MALFORMED = {
    "a byte that is no UTF-8, in a column that is not declared": (b"Bonn,7,\xff", (1, 7)),
    "a byte that is no UTF-8, in a label": (b"K\xf6ln,7,x", (2, 7)),
    "a comma too many": (b"Bonn,7,x,y", NOTHING),
    "commas at the end": (b"Bonn,7,x,,", (1, 7)),
    "too few fields": (b"Bonn,7", (1, 7)),
    "one field": (b"Bonn", (1, 99)),
    "a bare carriage return": (b"Bonn\r7,x,y", NOTHING),
    "two carriage returns": (b"Bonn,7,x\r\r", NOTHING),
    "a carriage return before the line feed": (b"Bonn,7,x\r", (1, 7)),
    "a quotation mark that is not closed": (b'Bonn,7,"x', NOTHING),
    "a quotation mark that is not closed, first": (b'"Bonn,7,x', NOTHING),
    "a quotation mark inside": (b'Bonn,7,5" pipe', (1, 7)),
    "text after a quotation mark": (b'"Bonn"x,7,x', NOTHING),
    "a blank after a quotation mark": (b'"Bonn" ,7,x', NOTHING),
    "a blank before a quotation mark": (b' "Bonn",7,x', (3, 7)),
    "all is quoted": (b'"Bonn","7","a ""b"", c"', (1, 7)),
    "nothing": (b"", NOTHING),
    "a null byte": (b"Bonn,7,\0", (1, 7)),
    "a line that is too long": (b"Bonn,7," + b"x" * LONGEST_LINE, NOTHING),
    "a line that just fits": (b"Bonn,7," + b"x" * (LONGEST_LINE - 7), (1, 7)),
}


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("odd", MALFORMED)
def test_a_malformed_line_is_its_own_record_and_nobody_elses(odd, end):
    line, own = MALFORMED[odd]
    own = NOTHING if line.endswith(b"\r") and end == b"\r\n" else own  # one return of two is inside
    for before, after in ((0, 1000), (500, 500), (1000, 0)):
        lines = [RECORD] * before + [line] + [RECORD] * after
        assert cells(lines, end=end) == Counter({KOELN: 1000}) + Counter([own])


BYTES = b'a,"\n\r \t;1K\xc3\xb6\xff\0'
LINES = st.lists(st.sampled_from([bytes([byte]) for byte in BYTES if byte != 10]), max_size=12).map(b"".join)
GOOD = st.sampled_from(["Köln,30,x", "Bonn,7,", ",,", '"Bonn","8","a, b"', 'Köln,9,"a ""b"""']).map(str.encode)


def split(line: str, width: int) -> tuple[str, ...] | None:
    """The fields of a well-formed line, by the rule in plain Python."""
    found: list[str] = []
    with suppress(csv.Error):
        found = next(csv.reader([line], strict=True), [])
    while len(found) > width and not found[-1]:
        found.pop()
    return tuple(found) if len(found) == width else None


def alone(line: bytes, encoding: str = "utf-8") -> tuple[int, int]:
    """What a line reads as, by looking at nothing else."""
    text = line.removesuffix(b"\r").decode(encoding, "surrogateescape")
    short = [found for width in (3, 2, 1) if "\r" not in text and (found := split(text, width))]
    town, age = ((*short[0], "", "")[:2]) if short else ("", "")
    towns = {"": 2, "Köln": 0, "Bonn": 1, "?": 2} | dict.fromkeys([town] if _broken(town) else [], 2)
    number = re.fullmatch("[ \\t]*([0-9]{1,20})[ \\t]*", age)
    return towns.get(town, 3), min(int(number[1]), 99) if number else 99


def _broken(cell: str) -> bool:
    return any("\udc80" <= letter <= "\udcff" for letter in cell)


@settings(max_examples=80, deadline=None)
@given(
    lines=st.lists(GOOD | LINES | st.binary(max_size=9), min_size=1, max_size=6),
    end=st.sampled_from([b"\n", b"\r\n"]),
)
@example(lines=[b"Bonn,7,x", b'"', b'"'], end=b"\n")
def test_whatever_the_lines_are_each_counts_as_if_it_were_alone(lines, end):
    """So whatever one line becomes, the others count as before, and none is lost or added."""
    lines = [line.replace(b"\n", b"") for line in lines]
    assert cells(lines, end=end) == Counter(alone(line + end[:-1]) for line in lines)


@settings(max_examples=20, deadline=None)
@given(lines=st.lists(LINES, min_size=1, max_size=6), encoding=st.sampled_from(["latin-1", "cp1252", "shift_jis"]))
def test_stated_encodings_are_read_line_by_line_too(lines, encoding):
    assert cells(lines, CsvFormat(encoding=encoding)) == Counter(alone(line, encoding) for line in lines)


@pytest.mark.parametrize("width", [1, 2])
def test_where_a_file_is_clean_duckdb_reads_what_mending_gives(width, tmp_path):
    """All lines of up to four characters: DuckDB's own reader refuses the file or agrees to the letter."""
    import duckdb

    from tetraodon.engine.duckdb_source import _csv, _file

    path, native = tmp_path / "t.csv", 0
    good = ",".join("z" * width)
    with duckdb.connect() as connection:
        for letters in itertools.chain(*(itertools.product('a," ', repeat=length) for length in range(1, 5))):
            line = "".join(letters)
            path.write_text("\n".join((",".join("hk"[:width]), good, line, good, "")))
            file = examine(path, CsvFormat(separator=","), ())
            if not clean(file):
                continue
            rows = None
            with suppress(duckdb.Error):
                rows = connection.execute(f"FROM {_csv(_file(path), file)}").fetchall()
            expected = split(line, width)
            assert (rows is None) == (expected is None), line
            if rows is not None and expected is not None:
                native += 1
                assert [tuple(cell or "" for cell in row) for row in rows] == [("z",) * width, expected, ("z",) * width]
    assert native > 30


def test_only_lines_that_need_it_are_rewritten(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b\n1,2\n1,"2"\n3\n4,5')
    assert b"".join(mended(examine(path, CsvFormat(), ()))) == b'1,2\n"1","2"\n"3",""\n4,5\n'


def test_a_malformed_line_belongs_to_nobody_where_people_have_keys(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('town,age,p\nBonn,1,a\nBonn,2,b\nBonn,3,"c\nBonn,4,d\n')
    with open_table(path, CSV_LINES_DOMAIN, Individuals("p", 1)) as engine:
        assert engine.counts([("age",)])[0].codes.tolist() == [[1], [2], [4]]


def test_separated_by_blanks(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('town age\nBonn 7\n"Köln" 8\n')
    with open_table(path, CSV_LINES_DOMAIN, csv=CsvFormat(separator=" ")) as engine:
        assert engine.counts([CSV_LINES_DOMAIN.names])[0].codes.tolist() == [[0, 8], [1, 7]]


@pytest.mark.parametrize("field", [b'""""', b'"""x"', b'""""""', b'"x"', b'"x""y"', b"x", b'x""y'])
def test_a_field_too_many_is_too_many_beside_columns_that_are_not_asked_for(field, tmp_path):
    """DuckDB takes no notice of one with a doubled mark; what it said depended on another line's form."""
    path = tmp_path / "t.csv"
    path.write_bytes(b'town,age,note,a,b,c\nBonn,7,,,,".",' + field + b"\n")
    with open_table(path, CSV_LINES_DOMAIN) as engine:
        assert engine.counts([CSV_LINES_DOMAIN.names])[0].codes.tolist() == [list(NOTHING)]


def test_a_byte_order_mark_on_the_first_record_stays_there():
    """It was dropped from the lines that are mended, so that another line decided whether it was part of the label."""
    line = "\ufeffKöln,30,x".encode()
    assert cells([line]) == Counter({(3, 30): 1})
    assert cells([line, b'Bonn,7,"x']) == Counter({(3, 30): 1, NOTHING: 1})


def test_whoever_reads_no_further_ends_the_writing():
    before, threads = len(os.listdir("/dev/fd")), threading.active_count()
    with piped(iter(lambda: b"x" * 2**20, b"")) as path, open(path, "rb") as file:
        assert file.read(3) == b"xxx"
    assert (len(os.listdir("/dev/fd")), threading.active_count()) == (before, threads)


def test_what_breaks_the_stream_is_raised():
    def broken():
        yield b"a"
        raise EOFError

    with pytest.raises(EOFError), piped(broken()) as path, open(path, "rb") as file:
        assert file.read() == b"a"
