"""Groups by columns of public tables: the same answers as conditions that list what is in each group."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.errors import QueryError
from tetraodon.views.channel import SetChannel
from tetraodon.views.view import View

DOMAIN = Domain(
    (
        Attribute("age", Integers(20, 24)),
        Attribute("nation", Categories(("American", "British", "Indian", "Other")), other=0),
        Attribute("score", Integers(1, 6)),
    )
)
LANDS = "country,continent,gdp\nBritish,Europe,20000\nIndian,Asia,5000\nAmerican,America,30000\nFrench,Europe,1\n"
PLACES = "who,years,set\nIndian,20,a\nBritish,21,a\nIndian,22,b\nBritish,20,b\n"
JOIN = "from people p join lands l on l.country = p.nation"


@pytest.fixture
def view(tmp_path: Path) -> View:
    rows = [(20 + n % 5, ("American", "British", "Indian", "Other")[n % 4], 1 + n % 6) for n in range(0, 60, 2)]
    pl.DataFrame(rows, schema=list(DOMAIN.names), orient="row").write_parquet(tmp_path / "tuples.parquet")
    (tmp_path / "lands.csv").write_text(LANDS)
    (tmp_path / "sets.csv").write_text(PLACES)
    public = {"lands": tmp_path / "lands.csv", "sets": tmp_path / "sets.csv"}
    return View("people", DOMAIN, SetChannel(Fraction(1, 2), Fraction(1, 10)), tmp_path / "tuples.parquet", 40, public)


@pytest.mark.parametrize("asked", ["count(*)", "sum(score)", "avg(score + age)", "count(distinct score)"])
def test_a_group_is_what_meets_its_rows(view: View, asked: str) -> None:
    found = view.ask(f"select l.continent, {asked} {JOIN} where age > 20 group by l.continent")
    listed = {"America": "American", "Asia": "Indian", "Europe": "British"}
    alone = {
        land: view.ask(f"select {asked} from people where age > 20 and nation = '{nation}'")
        for land, nation in listed.items()
    }
    assert {key: [one.value, *one.interval] for key, one in found.items()} == {
        key: pytest.approx([one.value, *one.interval]) for key, one in alone.items()
    }


def test_several_cells_are_one_group_and_attributes_group_beside(view: View) -> None:
    found = view.ask(
        "select s.set, age, count(*) as n from people join sets s on s.who = nation and s.years = age group by 1, age"
    )
    assert len(found) == 10
    assert found["a", 20] == pytest.approx(view.ask("age = 20 and nation = 'Indian'"))
    assert found["b", 24] == 0
    both = view.ask("select s.set, count(*) from people join sets s on s.years = age and nation = s.who group by set")
    assert both["b"] == view.ask("(age = 22 and nation = 'Indian') or (age = 20 and nation = 'British')")


def test_groups_are_chosen_and_ordered(view: View) -> None:
    ordered = view.ask(f"select continent, count(*) as n {JOIN} group by continent order by continent desc limit 2")
    assert list(ordered) == ["Europe", "Asia"]
    chosen = view.ask(f"select gdp, count(*) as n {JOIN} group by gdp having n > -1000 order by n")
    assert set(chosen) == {"20000", "30000", "5000"}


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        (f"select l.planet, count(*) {JOIN} group by l.planet", "no column planet"),
        (f"select l.gdp, count(*) {JOIN} group by l.continent", "selected but not grouped by"),
        (f"select count(*) {JOIN} group by l.gdp + 1", "no attribute"),
    ],
)
def test_what_is_not_there_is_refused(view: View, asked: str, what: str) -> None:
    with pytest.raises(QueryError, match=what):
        view.ask(asked)


def test_tables_with_gaps_or_nobody_are_refused(view: View, tmp_path: Path) -> None:
    question = f"select l.continent, count(*) {JOIN} group by l.continent"
    for lands, what in (
        ("country,continent\nBritish,\nIndian,Asia\n", "gaps"),
        ("country,continent\nx,y\n", "no value"),
    ):
        (tmp_path / f"{what}.csv").write_text(lands)
        with pytest.raises(QueryError, match=what):
            replace(view, public={"lands": tmp_path / f"{what}.csv"}).ask(question)
