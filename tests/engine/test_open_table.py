"""Bad tables, a test each; and nothing of a table in any error."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import traceback

import duckdb
import pytest
from tests.engine.tables import FORMS, table
from tests.services import forms

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.engine import DataRefusal, Individuals, open_table
from tetraodon.errors import TableError

AGE = Attribute("age", Integers(0, 99))
DOMAIN = Domain((AGE,))
DAY = Attribute("age", Dates(dt.date(2000, 1, 1), dt.date(2000, 1, 2)))
LABEL = Attribute("age", Categories(("a", "b")), other=0)
TRUTH = Attribute("age", Booleans(), other=0)
MARKER = "SECRET-MARKER"


def told(error: BaseException) -> str:
    """Everything that a traceback, or somebody who walks the chain, could show."""
    text = "".join(traceback.format_exception(error))
    chain = error.__context__ or error.__cause__
    return text + (told(chain) if chain else "")


@pytest.mark.parametrize("form", forms(*FORMS))
def test_a_missing_column_is_refused_with_the_nearest_name(form, tmp_path):
    with table(form, tmp_path, {"agee": "INTEGER", "x": "INTEGER"}, [(1, 2)]) as source:
        near = "spell it as in the policy" if form == "csv" else "did you mean 'agee'"
        with pytest.raises(TableError, match=rf"no column 'age'.*{near}"):
            open_table(source, DOMAIN)
        near = "column . differs in capitals" if form == "csv" else "did you mean 'x'"
        with pytest.raises(TableError, match=rf"no column 'X'.*{near}"):
            open_table(source, Domain((Attribute("X", Integers(0, 1)),)))
        with pytest.raises(TableError, match="no column 'kee'"):
            open_table(source, Domain((Attribute("x", Integers(0, 1)),)), Individuals("kee"))


@pytest.mark.parametrize("form", forms(*(form for form in FORMS if form not in ("csv", "pandas"))))
@pytest.mark.parametrize(
    ("attribute", "kind"),
    [
        (AGE, "BOOLEAN"),
        (AGE, "DATE"),
        (AGE, "INTEGER[]"),
        (DAY, "INTEGER"),
        (DAY, "TIME"),
        (LABEL, "TIMESTAMP"),
        (LABEL, "STRUCT(a INTEGER)"),
        (TRUTH, "DATE"),
        (LABEL, "BLOB"),
    ],
)
def test_a_column_of_another_type_is_refused_before_counting(form, attribute, kind, tmp_path):
    with table(form, tmp_path, {"age": kind}, [(None,)]) as source:
        with pytest.raises(TableError, match=r"age: the column is of type .* where the policy expects") as refusal:
            open_table(source, Domain((attribute,)))
        assert not isinstance(refusal.value, DataRefusal)


@pytest.mark.parametrize("form", forms(*FORMS))
@pytest.mark.parametrize("attribute", [AGE, DAY, Attribute("age", Grid(*map(AGE.values.number, (0, 9, 1))))])
def test_text_without_one_number_or_date_is_told_by_the_dry_run_alone(form, attribute, tmp_path):
    """With one record more there would be a number: a refusal would say whether that record is there."""
    rows, domain = [(MARKER,), ("b",), (None,)], Domain((attribute,))
    with table(form, tmp_path, {"age": "VARCHAR"}, rows) as source, open_table(source, domain) as engine:
        assert engine.counts([("age",)])[0].counts.tolist() == [3]
        assert engine.dry_run()[0].another_type


@pytest.mark.parametrize("form", forms(*FORMS))
def test_an_empty_table_is_counted(form, tmp_path):
    """Whether anybody is in a table may be a secret; who knows the policy refuses it where it is not."""
    with table(form, tmp_path, {"age": "INTEGER"}, []) as source, open_table(source, DOMAIN) as engine:
        for asked in ([()], [("age",)], [("age",), ()]):
            for group, counts in zip(asked, engine.counts(asked, {(): ["age"]}), strict=True):
                assert (counts.names, counts.total, len(counts.counts)) == (group, 0, 0 if group else 1)
                assert group or counts.sums["age"].tolist() == [0]
        assert engine.dry_run()[0].rows == 0


@pytest.mark.parametrize("form", forms(*FORMS))
def test_a_column_of_nothing_is_missing(form, tmp_path):
    columns = {"age": "VARCHAR", "x": "INTEGER"}
    with table(form, tmp_path, columns, [(None, 1)]) as source, open_table(source, DOMAIN) as engine:
        assert engine.counts([("age",)])[0].codes.tolist() == [[0]]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "*.parquet", "t.duckdb#x", "t.db", "t.csv.gz", "no\nt.tsv"])
def test_a_file_that_is_not_there(name, tmp_path):
    with pytest.raises(TableError, match="there is no such file"):
        open_table(tmp_path / name, DOMAIN)


def test_a_file_that_is_something_else(tmp_path):
    for name in ("t.parquet", "t.duckdb", "t.db"):
        (tmp_path / name).write_text(MARKER * 1000)
        with pytest.raises(TableError) as refusal:
            open_table(tmp_path / name, DOMAIN)
        assert MARKER not in told(refusal.value)
    (tmp_path / "t.docx").write_text(MARKER)
    with pytest.raises(TableError, match="format is not known"):
        open_table(tmp_path / "t.docx", DOMAIN)
    with pytest.raises(TableError, match="a table cannot be a dict"):
        open_table({"age": [1]}, DOMAIN)  # type: ignore[arg-type]


def test_ranges_that_cannot_be_counted():
    with pytest.raises(TableError, match="more than 2\\^63 values"):
        open_table(duckdb.sql("SELECT 1 AS age"), Domain((Attribute("age", Integers(0, 2**63)),)))
    with pytest.raises(TableError, match="no database can store"):
        open_table(duckdb.sql("SELECT 'a' AS age"), Domain((Attribute("age", Categories(("a\0b",)), other=0),)))


def test_the_default_path_imports_nothing_heavy(tmp_path):
    path = tmp_path / "t.parquet"
    duckdb.sql("SELECT 1 AS age").write_parquet(str(path))
    program = (
        "import sys; from tetraodon.domain import *; from tetraodon.engine import *\n"
        f"with open_table({str(path)!r}, Domain((Attribute('age', Integers(0, 9)),))) as e: e.counts([('age',)])\n"
        "print([m for m in ('ibis', 'pandas', 'polars', 'pyarrow', 'scipy', 'psycopg', 'pyspark') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_address_of_three_slashes_is_a_file_of_this_folder(tmp_path, monkeypatch):
    with duckdb.connect(str(tmp_path / "p.duckdb")) as made:
        made.execute("CREATE TABLE people AS SELECT 7 AS age")
    monkeypatch.chdir(tmp_path)
    for address in (
        "duckdb:///p.duckdb#people",
        f"duckdb://{tmp_path}/p.duckdb#people",
        f"duckdb:///{tmp_path}/p.duckdb",
    ):
        with open_table(address, DOMAIN) as engine:
            assert engine.counts([("age",)])[0].codes.tolist() == [[7]]


def test_an_address_that_nobody_serves_is_not_shown():
    with pytest.raises(TableError, match="no engine for this kind of address") as caught:
        open_table(f"mysql://me:{MARKER}@host/db#people", DOMAIN)
    assert MARKER not in told(caught.value)
