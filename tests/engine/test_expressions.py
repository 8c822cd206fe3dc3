"""How attributes are read from columns: patterns, codes, days, dialects, columns."""

from __future__ import annotations

import datetime as dt
import re
from fractions import Fraction

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp, parse_one
from tests.engine.oracle import encoded

from tetraodon.domain import Attribute, Categories, Grid, Integers
from tetraodon.engine import dialect as dialect_room
from tetraodon.engine.column import Column, ColumnReport, Kind, numbered_later, require, require_key
from tetraodon.engine.dialect import Door, call, name, number, op, selected, string
from tetraodon.engine.duckdb_source import DUCKDB, column
from tetraodon.engine.expressions import (
    DAY,
    EPOCH,
    INSTANT,
    WHOLE,
    GridCodes,
    days,
    decimals_of_doubles,
    grid_codes,
    number_pattern,
)
from tetraodon.engine.postgres_source import POSTGRES
from tetraodon.engine.spark_source import SPARK
from tetraodon.errors import TableError

# -- text patterns ----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["1", "-1.5", "+.5", "5.", "1e-3", " 7\t"])
def test_numbers(text):
    assert re.fullmatch(number_pattern("."), text)
    assert re.fullmatch(number_pattern(","), text.replace(".", ","))
    assert re.fullmatch(number_pattern(".,"), text)


@pytest.mark.parametrize("text", ["", ".", "1_0", "0x1", "nan", "inf", "1.2.3", "1,2", "e5", "1 2", "1\n", "١"])
def test_not_numbers(text):
    assert not re.fullmatch(number_pattern("."), text)
    assert not re.fullmatch(WHOLE, text)


def test_dates():
    for text in ("2020-01-01", "2020-01-01 10:00", "2020-01-01T10:00:00.5"):
        assert re.fullmatch(DAY, text)
        assert not re.fullmatch(INSTANT, text)
    for text in ("2020-01-01T10:00:00Z", "2020-01-01 10:00:00.25+05:30", "2020-01-01 10:00:00-05"):
        assert re.fullmatch(INSTANT, text)
        assert not re.fullmatch(DAY, text)
    for text in ("0001-01-01", "0010-12-31", "0300-06-30", "4000-10-10 23:59:59"):
        assert re.fullmatch(DAY, text)
    impossible = ("0000-01-01", "2020-00-01", "2020-13-01", "2020-01-00", "2020-01-32", "2020-01-01 24:00")
    impossible += ("2020-01-01 10:60", "2020-01-01T10:00:60Z", "2020-01-01T10:00:00+24:00", "2020-01-01T10:00:00+01:60")
    for text in ("2020-1-1", "20200101", "01/02/2020", " 2020-01-01", *impossible):
        assert not re.fullmatch(f"{DAY}|{INSTANT}", text)


# -- grid codes -------------------------------------------------------------------------------------


FRACTIONS = st.fractions(-50, 50, max_denominator=12)
GRIDS = st.builds(
    lambda low, step, steps: Grid(low, low + step * steps, step),
    FRACTIONS,
    st.fractions(Fraction(1, 9), 5, max_denominator=9),
    st.integers(0, 40),
)
RANGES = st.builds(lambda low, size: Integers(low, low + size), st.integers(-50, 50), st.integers(0, 40))


@given(GRIDS | RANGES, st.sampled_from([1, 10, 100, 7]), st.integers(-9000, 9000))
def test_it_is_what_the_domain_says(values, units, number):
    attribute = Attribute("x", values)
    steps = grid_codes(values, units)
    expected = encoded(attribute, Fraction(number, units))
    if number < steps.first:
        assert expected == 0
    elif number > steps.last:
        assert expected == attribute.size - 1
    else:
        assert steps.code(number) == expected


def test_what_does_not_fit_is_refused():
    with pytest.raises(TableError, match="too wide or too fine"):
        GridCodes(0, 2**126, 1, 0, 1)
    with pytest.raises(TableError, match="finer than the 15 digits"):
        decimals_of_doubles(Grid(Fraction(0), Fraction(10**9), Fraction(1, 10**7)))


def test_digits_of_doubles():
    assert decimals_of_doubles(Integers(0, 10**30)) == 0
    assert decimals_of_doubles(Grid(Fraction(0), Fraction(100), Fraction(1))) == 13
    assert decimals_of_doubles(Grid(Fraction(-(10**20)), Fraction(0), Fraction(10**10))) == 0


# -- days -------------------------------------------------------------------------------------------
# Days as they are written, read by DuckDB and by the calendar; others are asked in test_conformance_of_days.py.


def read(text: str, form: str) -> int | None:
    query = selected(
        {"day": days(Column("d", "d", Kind.TEXT, "text"), name("d"), DUCKDB, form)},
        exp.Table(this=exp.Var(this=f"(SELECT '{text}' AS d)")),
    )
    return duckdb.execute(DUCKDB.text(query)).fetchone()[0]  # type: ignore[index,no-any-return]


@pytest.mark.parametrize(
    ("text", "form", "day"),
    [
        ("2026-01-18", "", dt.date(2026, 1, 18)),
        ("2026-01-18T23:30:00-02:00", "", dt.date(2026, 1, 19)),
        ("18.01.2026", "DD.MM.YYYY", dt.date(2026, 1, 18)),
        ("18/01/2026", "DD/MM/YYYY", dt.date(2026, 1, 18)),
        ("01/18/2026", "MM/DD/YYYY", dt.date(2026, 1, 18)),
        ("18.01.2026", "", None),
        ("31.02.2026", "DD.MM.YYYY", None),
        ("2026-01-18", "DD.MM.YYYY", None),
        ("soon", "", None),
    ],
)
def test_a_day_is_the_day_that_is_written_or_none(text: str, form: str, day: dt.date | None) -> None:
    assert read(text, form) == (None if day is None else (day - EPOCH).days)


def test_a_column_of_another_type_is_refused() -> None:
    with pytest.raises(TableError, match="not expected"):
        days(Column("d", "d", Kind.BOOLEAN, "boolean"), name("d"), DUCKDB, "")


# -- dialect ----------------------------------------------------------------------------------------
# Names and texts stay what they are, whatever is in them; operators keep their order.


STORABLE = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
HOSTILE = st.text(st.sampled_from("'\"`\\;-/*$%{}\n a"), max_size=8)


@given(STORABLE | HOSTILE, (STORABLE | HOSTILE).filter(bool))
def test_whatever_is_in_a_name_or_label_stays_in_it(label, title):
    source = exp.Table(this=exp.Var(this="(SELECT 1)"))
    found = duckdb.execute(DUCKDB.text(selected({title: string(label)}, source)))
    assert found.description[0][0] == title
    assert found.fetchall() == [(label,)]


@pytest.mark.parametrize("dialect", [DUCKDB, POSTGRES, SPARK], ids=lambda dialect: dialect.name)
@given(label=HOSTILE, title=HOSTILE.filter(bool))
def test_a_statement_stays_one_statement_in_every_dialect(dialect, label, title):
    """Read back by a parser of the same dialect, there is one name and one text. The engines themselves are asked by
    the hostile names of test_conformance_of_words.py."""
    query = selected({title: string(label)}, exp.Table(this=exp.Var(this="t")))
    again = parse_one(dialect.text(query), dialect=dialect.name)
    assert [each.this for each in again.find_all(exp.Literal)] == [label]
    assert [each.alias for each in again.selects] == [title]


@given(st.lists(st.integers(-9, 9), min_size=4, max_size=4), st.lists(st.sampled_from("+-*"), min_size=3, max_size=3))
def test_operators_bring_their_brackets(numbers, signs):
    kinds = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul}
    a, b, c, d = map(number, numbers)
    tree = op(kinds[signs[0]], a, op(kinds[signs[1]], b, op(kinds[signs[2]], c, d)))
    w, x, y, z = numbers
    expected = eval(f"{w} {signs[0]} ({x} {signs[1]} ({y} {signs[2]} {z}))")
    assert duckdb.execute(f"SELECT {DUCKDB.text(tree)}").fetchall() == [(expected,)]


@pytest.mark.parametrize("given_text", ["a\0b", "\ud800"])
def test_what_no_database_can_store_is_refused(given_text):
    for write in (name, string):
        with pytest.raises(TableError, match="no database can store"):
            write(given_text)


def test_a_door_leads_to_its_own_sources():
    door = Door(addresses=("x:",), objects="decimal", open=lambda source: source)
    assert door.leads_to("x:people")
    assert not door.leads_to("people.csv")
    assert not door.leads_to(call("F"))
    assert not Door(addresses=("x:",), open=lambda source: source).leads_to(1)


def test_a_query_is_written_once_and_read_from_any_origin(monkeypatch):
    monkeypatch.setattr(dialect_room, "_WRITTEN", {})
    monkeypatch.setattr(dialect_room, "MOST_WRITTEN", 2)
    asked = []

    def query(origin):
        asked.append(origin)
        return selected({"x": string("origin_")}, origin)

    for source in ("(SELECT 1)", "(SELECT 2)"):
        made = DUCKDB.written("one", query, source)
        assert made == DUCKDB.text(selected({"x": string("origin_")}, exp.Table(this=exp.Var(this=source))))
    assert len(asked) == 1
    for key in ("two", "three", "one"):
        DUCKDB.written(key, query, "t")
    assert len(asked) == 4
    assert len(dialect_room._WRITTEN) == 2
    assert POSTGRES.written("one", query, "t")
    assert len(asked) == 5


# -- column -----------------------------------------------------------------------------------------


def test_misuse():
    with pytest.raises(TableError, match="at most 38 digits"):
        Column("x", "x", Kind.DECIMAL, "DECIMAL", 39, 2)
    with pytest.raises(TableError, match="the key is of type BLOB"):
        require_key(column("x", "BLOB"))
    with pytest.raises(TableError, match="use one of: age"):
        require(["age"], ["zzz"])


def test_what_is_numbered_after_grouping():
    few, many = Attribute("x", Integers(0, 9)), Attribute("x", Integers(0, 10**9))
    label = Attribute("x", Categories(("a", "b")), other=0)
    assert numbered_later(few, column("x", "INTEGER"))
    assert numbered_later(label, column("x", "VARCHAR"))
    for attribute, shown in ((many, "INTEGER"), (few, "VARCHAR"), (few, "DOUBLE"), (label, "DOUBLE")):
        assert not numbered_later(attribute, column("x", shown))


def test_a_column_of_another_type_has_values_and_none_can_be_read():
    assert ColumnReport("a", 3, 1, 2, 0).another_type
    for parts in ((3, 1, 1, 0), (3, 3, 0, 0), (0, 0, 0, 0)):
        assert not ColumnReport("a", *parts).another_type


def test_a_report_adds_up():
    assert ColumnReport("a", 3, 0, 0, 0).fits
    assert not ColumnReport("a", 3, 1, 1, 1).fits
    for parts in ((2, 1, 1, 1), (1, -1, 0, 0)):
        with pytest.raises(TableError, match="does not add up"):
            ColumnReport("a", *parts)
