"""The sandbox holds what it was given and can reach nothing else."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import polars
import pyarrow
import pytest
from pyarrow import parquet

import tetraodon as td
from tests.views.test_publish import POLICY, people
from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers, Values
from tetraodon.engine import DataRefusal
from tetraodon.errors import PolicyError, QueryError, ReleaseError, TableError
from tetraodon.query.condition.nodes import Reading
from tetraodon.query.condition.public_tables import beside
from tetraodon.query.condition.read import read_condition
from tetraodon.views.side_tables import TUPLES, Sandbox
from tetraodon.views.tuple_files import sql_code, sql_type, sql_value

DOMAIN = Domain((Attribute("age", Integers(0, 3)), Attribute("score", Integers(1, 2))))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM '{file}'",
        "COPY (SELECT 1) TO '{file}'",
        "ATTACH '{file}'",
        "SET enable_external_access = true",
        "SET threads = 1",
        "INSTALL httpfs",
    ],
)
def test_nothing_outside_can_be_reached(sql: str, tmp_path: Path) -> None:
    file = tmp_path / "secret.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(QueryError):
        Sandbox(DOMAIN).run(sql.format(file=file))
    with pytest.raises(duckdb.Error):
        Sandbox(DOMAIN, {"side": file}).run("SELECT 1").execute(sql.format(file=file))
    assert file.read_text() == "a,b\n1,2\n"


def test_variables_of_the_program_are_out_of_reach() -> None:
    table = duckdb.sql("SELECT 1 AS x").pl()  # noqa: F841
    with pytest.raises(QueryError):
        Sandbox(DOMAIN).run("SELECT * FROM table")


def test_public_tables_come_from_files_and_frames(tmp_path: Path) -> None:
    (tmp_path / "side.csv").write_text("country,gdp\nA,1\nB,2\n")
    duckdb.sql("SELECT 7 AS seven").write_parquet(str(tmp_path / "more.parquet"))
    frame = duckdb.sql("SELECT 'x' AS y").pl()
    sandbox = Sandbox(
        DOMAIN, {"side": tmp_path / "side.csv", "more": str(tmp_path / "more.parquet"), "odd name": frame}
    )
    assert sandbox.public == {"side": ("country", "gdp"), "more": ("seven",), "odd name": ("y",)}
    assert sandbox.run("SELECT sum(gdp) FROM side").fetchall() == [(3,)]


@pytest.mark.parametrize("table", ["nowhere.csv", 3])
def test_an_unreadable_public_table(table: object) -> None:
    with pytest.raises(TableError, match="side") as caught:
        Sandbox(DOMAIN, {"side": table})
    assert "nowhere" not in str(caught.value)


def test_what_reads_public_tables_is_true_false_or_unknown_cell_by_cell() -> None:
    sandbox = Sandbox(DOMAIN, {"side": duckdb.sql("SELECT * FROM (VALUES (1), (NULL)) AS t(x)").pl()})
    codes = {0: np.arange(4).reshape(4, 1), 1: np.arange(2).reshape(1, 2)}
    asked = Reading(
        "tetraodon_row.a0 + tetraodon_row.a1 IN (SELECT x FROM side WHERE tetraodon_row.a0 < 2)", ((0, 4), (1, 2))
    )
    true, false = sandbox.holds(asked, codes)
    assert true.tolist() == [[True, False], [False, False], [False, False], [False, False]]
    assert false.tolist() == [[False, False], [False, False], [True, True], [True, True]]
    true, false = sandbox.holds(Reading("EXISTS (SELECT 1 FROM side)", ()), {})
    assert (true.item(), false.item()) == (True, False)


@pytest.mark.parametrize(
    ("asked", "where"),
    [
        ("age + score in (select n from side)", lambda age, score: age + score == 3),
        ("age / 2 in (select n / 2 from side)", lambda age, _: age == 3),
        ("age * 4000000000000000000 > (select n from side)", lambda age, _: age > 0),
        ("cast(age as varchar) = (select cast(n as varchar) from side)", lambda age, _: age == 3),
        ("nullif(cast(age as varchar), '2') <> (select min(cast(n as varchar)) from side)", lambda age, _: age < 2),
        ("cast('2026-01-01' as date) + age = (select day from side)", lambda age, _: age == 2),
        ("(age > score) = (select yes from side)", lambda age, score: age > score),
        ("age in (select n from side) or score = 1", lambda age, score: age == 3 or score == 1),
    ],
)
def test_what_is_outside_a_subquery_is_computed_before_it(
    asked: str, where: Callable[[int, int], bool], tmp_path: Path
) -> None:
    side = duckdb.sql("SELECT 3 AS n, DATE '2026-01-03' AS day, true AS yes").pl()
    duckdb.sql("SELECT * FROM range(4) AS a(age), range(1, 3) AS s(score)").write_parquet(str(tmp_path / "t.parquet"))
    sandbox = Sandbox(DOMAIN, {"side": side})
    sandbox.hold(tmp_path / "t.parquet")
    truth = read_condition(asked, beside(DOMAIN, "people", sandbox.public))
    expected = [[int(where(age, score)) for score in (1, 2)] for age in range(4)]
    assert sandbox.counts(truth, (0, 1)).tolist() == expected
    assert sandbox.counts(truth, ()).item() == sum(map(sum, expected))


def test_tuples_outside_the_domain_are_refused(tmp_path: Path) -> None:
    duckdb.sql("SELECT 4 AS age, 1 AS score").write_parquet(str(tmp_path / "t.parquet"))
    sandbox = Sandbox(DOMAIN)
    sandbox.hold(tmp_path / "t.parquet")
    with pytest.raises(ReleaseError, match="not in its domain"):
        sandbox.counts(None, (0,))


def test_a_large_file_stays_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tetraodon.views.side_tables.LARGE", 0)
    duckdb.sql("SELECT 3 AS age, 1 AS score").write_parquet(str(tmp_path / "t.parquet"))
    duckdb.sql("SELECT 4 AS x").write_parquet(str(tmp_path / "other.parquet"))
    sandbox = Sandbox(DOMAIN)
    sandbox.hold(tmp_path / "t.parquet")
    assert sandbox.run("SELECT c0 FROM tetraodon_tuples").fetchall() == [(3,)]
    with pytest.raises(QueryError):
        sandbox.run(f"SELECT * FROM read_parquet('{tmp_path / 'other.parquet'}')")


def test_names_of_our_own_are_kept(tmp_path: Path) -> None:
    (tmp_path / "side.csv").write_text("a\n1\n")
    with pytest.raises(TableError, match="does not start with"):
        Sandbox(DOMAIN, {"tetraodon_tuples": tmp_path / "side.csv"})
    assert Sandbox(DOMAIN, {"tuples": tmp_path / "side.csv"}).public == {"tuples": ("a",)}


def test_files_are_large_by_their_values_and_not_by_their_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal rows compress to next to nothing, and would fill the memory."""
    monkeypatch.setattr("tetraodon.views.side_tables.LARGE", 1000)
    size = len(DOMAIN.attributes)
    rows = {a.name: [int(a.number(0))] * (1000 // size + 1) for a in DOMAIN}
    polars.DataFrame(rows).write_parquet(tmp_path / "tuples.parquet")
    sandbox = Sandbox(DOMAIN)
    sandbox.hold(tmp_path / "tuples.parquet")
    [(kind,)] = sandbox.connection.execute(
        f"SELECT table_type FROM information_schema.tables WHERE table_name = '{TUPLES}'"
    ).fetchall()
    assert kind == "VIEW"
    assert sandbox.run(f"SELECT count(*) FROM {TUPLES}").fetchall() == [(1000 // size + 1,)]


def test_a_public_table_that_unfolds_without_end_is_refused(tmp_path: Path) -> None:
    """Half a megabyte of Parquet that holds two gigabytes of text."""
    words = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 4000, pyarrow.int32()), ["x" * 500_000])
    parquet.write_table(pyarrow.table({"a": words}), tmp_path / "side.parquet", compression="zstd")
    assert (tmp_path / "side.parquet").stat().st_size < 1_000_000
    with pytest.raises(TableError, match="more than 400MB"):
        Sandbox(DOMAIN, {"side": tmp_path / "side.parquet"})


def test_a_path_is_no_pattern(tmp_path: Path) -> None:
    (tmp_path / "side[12].csv").write_text("a\n1\n")
    (tmp_path / "side1.csv").write_text("b\n2\n")
    assert Sandbox(DOMAIN, {"side": tmp_path / "side[12].csv"}).public == {"side": ("a",)}


# -- side check --------------------------------------------------------------------------------------
# The protected table does not travel with its view, in whatever form.

FORMS: dict[str, Callable[[Path], None]] = {
    "raw.csv": lambda place: people().write_csv(place / "raw.csv"),
    "raw.parquet": lambda place: people().write_parquet(place / "raw.parquet"),
    "shuffled.csv": lambda place: people().sample(fraction=1, shuffle=True, seed=1).write_csv(place / "shuffled.csv"),
    "more.csv": lambda place: people().with_columns(z=polars.lit(1)).write_csv(place / "more.csv"),
    "less.csv": lambda place: people().select("score", "age").write_csv(place / "less.csv"),
}


def publish(place: Path, public: str) -> td.View:
    people().write_csv(place / "table.csv")
    (place / "policy.yaml").write_text(json.dumps({**POLICY, "public": {"raw": public}}))
    policy = td.load_policy(place / "policy.yaml")
    with td.Ledger(place / "ledger.db") as book:
        book.open("people", 20, policy.document)
        try:
            return td.publish(policy, place / "table.csv", ledger=book, accept_exposure=True, out=place / "view")
        except (PolicyError, DataRefusal):
            assert not book.entries("people")
            raise


def test_its_own_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="the table that is to be protected"):
        publish(tmp_path, "table.csv")
    assert not (tmp_path / "view").exists()


@pytest.mark.parametrize("form", FORMS)
def test_a_copy_is_refused(tmp_path: Path, form: str) -> None:
    FORMS[form](tmp_path)
    with pytest.raises((PolicyError, DataRefusal), match="to be protected"):
        publish(tmp_path, form)
    assert not (tmp_path / "view").exists()


def test_a_lookup_table_is_not(tmp_path: Path) -> None:
    (tmp_path / "regions.csv").write_text("nation,gdp\nI,5000\nA,9000\n")
    assert publish(tmp_path, "regions.csv").public["raw"].read_text().startswith("nation,gdp")


# -- sql value ---------------------------------------------------------------------------------------
# Values in the database are the values of the domain, exactly wherever decimals can be exact.

CASES: list[tuple[Values, str]] = [
    (Integers(-3, 5), "BIGINT"),
    (Integers(10**20, 10**20 + 3), "HUGEINT"),
    (Grid(Fraction(-1, 4), Fraction(3, 4), Fraction(1, 8)), "DECIMAL(5, 3)"),
    (Grid(Fraction(0), Fraction(1000), Fraction(100)), "DECIMAL(6, 0)"),
    (Grid(Fraction(-1), Fraction(1), Fraction(1, 3)), "DOUBLE"),
    (Dates(dt.date(1999, 12, 30), dt.date(2000, 1, 3)), "DATE"),
    (Booleans(), "BOOLEAN"),
    (Categories(("O'Brien", 'a"b', "")), "VARCHAR"),
]


@pytest.mark.parametrize(("values", "kind"), CASES)
def test_every_code_has_its_value(values: Values, kind: str) -> None:
    attribute = Attribute("x", values, other=0)
    assert sql_type(attribute) == kind
    found = duckdb.sql(f"SELECT {sql_value(attribute, 'range')} AS v FROM range({attribute.size}) ORDER BY range")
    assert str(found.types[0]).replace(",", ", ") == kind
    codes = duckdb.sql(f"SELECT {sql_code(attribute, 'v')} AS c FROM found").fetchall()
    assert [code for (code,) in codes] == list(range(attribute.size))
    for code, (value,) in enumerate(found.fetchall()):
        if kind == "DOUBLE":
            assert value == float(attribute.number(code))
        elif isinstance(value, Decimal):
            assert Fraction(value) == attribute.number(code)
        else:
            assert value == attribute.value(code)
