from __future__ import annotations

import duckdb
import pandas
import polars
import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.engine import DataRefusal, open_table
from tetraodon.errors import TableError

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
