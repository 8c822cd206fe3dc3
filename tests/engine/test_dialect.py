"""Names and texts stay what they are, whatever is in them; operators keep their order."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from tetraodon.engine import dialect as dialect_room
from tetraodon.engine.dialect import Door, call, name, number, op, selected, string
from tetraodon.engine.duckdb_source import DUCKDB
from tetraodon.engine.postgres_source import POSTGRES
from tetraodon.engine.spark_source import SPARK
from tetraodon.errors import TableError

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
