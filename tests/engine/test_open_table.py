"""Finding the engine of a table."""

from __future__ import annotations

import datetime as dt
import shutil
import subprocess
import sys
import traceback
from pathlib import Path

import duckdb
import pytest
from tests.engine import toy_source
from tests.engine.tables import FORMS, table
from tests.services import forms

import tetraodon
from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.engine import DataRefusal, Individuals, open_table
from tetraodon.engine.open_table import ADDRESSES, is_query, read_query
from tetraodon.errors import TableError

# -- open table -------------------------------------------------------------------------------------
# Bad tables, a test each; and nothing of a table in any error.


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


# -- row query --------------------------------------------------------------------------------------
# A query in place of a table: columns as they are, one table and a condition as text; anything else is refused.


@pytest.mark.parametrize(
    ("text", "columns", "condition", "origin"),
    [
        ("select * from 'people.csv'", None, "", "people.csv"),
        ("SELECT age, sex FROM 'p.parquet' WHERE age>=18", {"age", "sex"}, "age >= 18", "p.parquet"),
        ('select "home id" from "db.duckdb#t" where sex in (\'f\')', {"home id"}, "sex IN ('f')", "db.duckdb#t"),
        ("select *, age from 'p.csv' where not a = 1 or b is null", None, "NOT a = 1 OR b IS NULL", "p.csv"),
    ],
)
def test_a_query_is_read(text: str, columns: set[str] | None, condition: str, origin: str) -> None:
    found = read_query(text)
    assert (found.columns, found.condition, found.origin) == (columns, condition, origin)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select age from 'p.csv'; drop table people", "more than one statement"),
        ("select age from 'p.csv' limit 3", "more than columns"),
        ("select distinct age from 'p.csv'", "more than columns"),
        ("select age from 'p.csv' group by age", "more than columns"),
        ("select age from 'p.csv' order by age", "more than columns"),
        ("with t as (select 1) select * from 'p.csv'", "more than columns"),
        ("select a from 'p.csv' union all select a from 'q.csv'", "no SELECT of the rows"),
        ("select a.age from 'p.csv' a", "renames or computes"),
        ("select age from 'p.csv' a", "in quotes"),
        ("select age from 'p.csv', 'q.csv'", "more than columns"),
        ("select age from 'p.csv' join 'q.csv' using (age)", "more than columns"),
        ("select age from people", "in quotes"),
        ("select age from read_csv('p.csv')", "in quotes"),
        ("select age from (select * from 'p.csv')", "in quotes"),
        ("select age from \"select * from 'p.csv'\"", "another query"),
        ("select 1", "renames or computes"),
        ("select age as sex from 'p.csv'", "renames or computes"),
        ("select age as age from 'p.csv'", "renames or computes"),
        ("select age * 10 as age from 'p.csv'", "renames or computes"),
        ("select cast(x as varchar) as p from 'p.csv'", "renames or computes"),
        ("select count(*) from 'p.csv'", "renames or computes"),
        ("select * exclude (age) from 'p.csv'", "renames or computes"),
        ("select * replace (age * 2 as age) from 'p.csv'", "renames or computes"),
        ("select * rename (age as sex) from 'p.csv'", "renames or computes"),
        ("select columns('a.*') from 'p.csv'", "renames or computes"),
        ("select t.* from 'p.csv' t", "renames or computes"),
        ("select from 'p.csv'", "selects no column"),
        ("select * from 'p.csv' where", "cannot be read"),
        ("select * from 'p.csv' where " + "(" * 5000, "cannot be read"),
        ("select " + "age, " * 5000 + "age from 'p.csv'", "cannot be read"),
    ],
)
def test_whatever_is_more_than_that_is_refused(query: str, message: str) -> None:
    with pytest.raises(TableError, match=message):
        read_query(query)


def test_an_engine_selects_nothing() -> None:
    """A condition that nobody has priced counts no row."""
    assert is_query("select age from 'people.csv'")
    with pytest.raises(TableError, match="a query is no table"):
        open_table("select * from 'people.csv' where sex = 'f'", Domain((Attribute("age", Integers(0, 9)),)))


# -- one more engine --------------------------------------------------------------------------------
# An engine is one file and its row in the suite: nothing else of the package is touched.


PROGRAM = """
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.engine import open_table
with open_table({address!r}, Domain((Attribute("age", Integers(0, 9)),))) as engine:
    print(engine.counts([("age",)])[0].codes.tolist(), type(engine._table).__module__)
"""


def test_a_file_of_its_own_is_enough(tmp_path):
    """A copy of the package with that one file more opens, and counts, the tables of the new engine."""
    copy = tmp_path / "tetraodon"
    shutil.copytree(Path(tetraodon.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(toy_source.__file__, copy / "engine" / "toy_source.py")
    with duckdb.connect(str(tmp_path / "t.db")) as made:
        made.execute("CREATE TABLE people AS SELECT 7 AS age")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n" + PROGRAM.format(
        address=f"toy:{tmp_path}/t.db#people"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0] == "[[7]] tetraodon.engine.toy_source"


def test_every_file_of_that_name_is_an_engine():
    files = Path(open_table.__code__.co_filename).parent.glob("*_source.py")
    assert {"duckdb_source", "postgres_source", "spark_source", "ibis_source"} <= {file.stem for file in files}
    assert {"postgresql://", "postgres://", "spark:"} == set(ADDRESSES)
