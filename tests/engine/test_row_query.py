"""A query in place of a table: it selects rows one by one, on every engine alike, and anything else is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.engine.tables import postgres_table
from tests.services import needs_postgres

from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.engine import open_table
from tetraodon.engine.row_query import is_query, read_query
from tetraodon.errors import TableError

COLUMNS = {"age": "BIGINT", "sex": "VARCHAR", "born": "DATE", "pay": "DOUBLE"}
RECORDS = [(age, ("F", "M", " m ")[age % 3], f"19{age + 30}-05-06", age / 2) for age in range(18, 48)]
AGES = Domain((Attribute("age", Integers(0, 60)),))
SEXES = Domain((Attribute("sex", Categories(("f", "m", "other")), other=2),))


@pytest.fixture(params=["parquet", "csv", "duckdb", pytest.param("postgres", marks=needs_postgres)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The same table in a form that a query can name."""
    if request.param == "postgres":
        return str(postgres_table(COLUMNS, RECORDS))
    file = tmp_path / f"people.{request.param}"
    with duckdb.connect(str(file) if request.param == "duckdb" else ":memory:") as connection:
        connection.execute(f"CREATE TABLE people ({', '.join(f'{n} {kind}' for n, kind in COLUMNS.items())})")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", RECORDS)
        if request.param != "duckdb":
            connection.execute(f"COPY people TO '{file}' (FORMAT {request.param})")
    return str(file)


def counted(query: str, domain: Domain) -> dict[int, int]:
    with open_table(query, domain) as engine:
        [found] = engine.counts([domain.names])
    return dict(zip(found.codes[:, 0].tolist(), found.counts.tolist(), strict=True))


def test_rows_and_columns_are_selected_where_the_table_is(place: str) -> None:
    older = counted(f"select * from '{place}' where CAST(age AS integer) >= 30 and not sex = 'F'", AGES)
    assert older == {age: 1 for age, sex, *_ in RECORDS if age >= 30 and sex != "F"}
    twice = counted(f"SELECT cast(2 * cast(age as int) - 30 as integer) AS age FROM '{place}' WHERE sex IN ('F')", AGES)
    assert twice == {2 * age - 30: 1 for age, sex, *_ in RECORDS if sex == "F"}
    named = counted(f"select cast(lower(trim(sex)) as text) as sex from '{place}'", SEXES)
    assert named == {0: 10, 1: 20}
    renamed = counted(f"select sex as kind, age from '{place}' where born is not null", AGES)
    assert renamed == {age: 1 for age, *_ in RECORDS}
    chosen = "case when cast(age as int) < 30 then 'f' else coalesce(sex, 'm') end"
    assert counted(f"select cast({chosen} as text) as sex from '{place}'", SEXES) == {0: 12, 2: 18}


@pytest.mark.parametrize(
    "query",
    [
        "select age from '{}'; drop table people",
        "select age from '{}' limit 3",
        "select distinct age from '{}'",
        "select age from '{}' group by age",
        "select cast(count(*) as int) as age from '{}'",
        "select cast(max(age) as int) as age from '{}'",
        "select age from '{0}' join '{0}' using (age)",
        "select age from '{0}', '{0}'",
        "select age from '{0}' where age > (select avg(age) from '{0}')",
        "select age from '{0}' where exists (select 1 from '{0}')",
        "select age from '{0}' where age in (select age from '{0}')",
        "with t as (select age from '{}') select age from t",
        "select age from '{0}' union all select age from '{0}'",
        "select cast(row_number() over () as int) as age from '{}'",
        "select cast(random() * 60 as int) as age from '{}'",
        "select age from '{}' where random() < 0.5",
        "select age from '{}' using sample 10%",
        "select age from '{}' tablesample 10%",
        "select cast(getenv('HOME') as text) as age from '{}'",
        "select age from read_csv('{}')",
        "select age from (select age from '{}')",
        "select age from \"select age from '{}'\"",
        "select age from people",
        "select people.age from '{}' people",
        "select t.age from '{}' as t",
        "select * exclude (sex) from '{}'",
        "select * replace (1 as age) from '{}'",
        "select columns('age') from '{}'",
        "select age + 1 as age from '{}'",
        "select cast(age as int) from '{}'",
        "select cast(age as blob) as age from '{}'",
        "select age, sex as age from '{}'",
        "select height from '{}'",
        "select age from '{}' order by age",
        "select age from '{}' where sex = 3",
        "select age from '{}' where",
        "with",
        "select age",
        "from '{}' select age offset 2",
        "insert into '{}' values (1)",
        "select age from '{}' -- x\n; select 1",
    ],
)
def test_what_looks_at_other_rows_or_is_not_known_is_refused(query: str, tmp_path: Path) -> None:
    file = tmp_path / "people.parquet"
    duckdb.sql(f"COPY (SELECT 40 AS age, 'F' AS sex) TO '{file}'")
    with pytest.raises(TableError) as caught:
        counted(query.format(file), AGES)
    assert caught.value.fix
    assert str(file) not in caught.value.what


def test_what_a_condition_asks_for_and_what_is_kept() -> None:
    query = read_query(
        "select age, sex as kind, cast(pay as int) as pay from 'x.csv' where age > 3 or not born is null"
    )
    assert query.asked_of == {"age", "born"}
    assert query.kept(["age", "sex", "pay"]) == {"age"}
    assert read_query("select * from 'x.csv'").kept(["age", "sex"]) == {"age", "sex"}


def test_a_path_is_no_query() -> None:
    found: list[Any] = ["select.csv", "people.csv", "selected people.parquet", None, Path("select")]
    assert not any(is_query(source) for source in found)
    assert read_query("select * from 'postgresql://ann@db/census#house.people'").origin.endswith("#house.people")


def test_a_query_that_is_too_long_is_refused() -> None:
    with pytest.raises(TableError, match="cannot be read"):
        read_query("select age from 'x.csv' where " + "age = 1 or " * 2000 + "age = 2")
