"""Releases from selections of a table: the condition is priced as `where`, and the policy speaks of the whole table."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tetraodon as td
from tetraodon.ledger.account import JOINTLY
from tetraodon.releases.counting import count, selected

PEOPLE: dict[str, Any] = {
    "dataset": "d",
    "presence": "public",
    "attributes": {"region": ["north", "south"], "ill": "boolean"},
    "secrets": {"ill": "everything", "region": "public"},
    "budget": {"epsilon": 1},
    "release": [{"name": "ill", "histogram": "ill"}],
}
KEYED = {"individuals": {"key": "person", "at most": 1}, "secrets": {"region": "everything", "ill": "everything"}}


@pytest.fixture
def book(tmp_path: Path) -> td.Ledger:
    return td.Ledger(tmp_path / "l.db")


def write(rows: list[tuple[str, bool]], to: Path, **more: list[Any]) -> str:
    regions, ill = zip(*rows, strict=True)
    pl.DataFrame({"region": regions, "ill": ill, **more}).write_parquet(to)
    return str(to)


def apart(plan: td.Plan, one: str, two: str, governing: td.Policy) -> Fraction:
    """What a plan's noise loses between two tables: the sum of |difference| / scale."""
    answers = [count(plan, table, governing) for table in (one, two)]
    lost = Fraction(0)
    for item in plan:
        for m, here, there in zip(item.measurements, *(a[item.name] for a in answers), strict=True):
            gap = int(abs(here - there).sum())
            assert m.scale or not gap, "told for certain"
            lost += Fraction(gap) / m.scale if gap else 0
    return lost


def test_what_is_known_of_the_table_is_not_known_of_a_part(tmp_path: Path, book: td.Ledger) -> None:
    """[4 ill, 1 well] in the north or [5, 0]: the number of ill people is the same, as a southerner makes up for it."""
    policy = td.load_policy({**PEOPLE, "known": [{"marginal": ["ill"]}]})
    five = [("north", True)] * 4
    one = write([*five, ("north", False), ("south", True)], tmp_path / "one.parquet")
    two = write([*five, ("north", True), ("south", False)], tmp_path / "two.parquet")
    assert td.plan(policy)["ill"].mechanism == "exact"
    book.open("d", 5, policy)
    made = td.release(policy, f"select * from '{one}' where region = 'north'", ledger=book)
    assert 0 < apart(made.plan, one, two, policy) <= book.account("d").charged == 1


def test_selections_of_one_person_lose_what_all_their_rows_do(tmp_path: Path, book: td.Ledger) -> None:
    """A person who moves is in two selections, and one with a row in each region has more rows than `at most`."""
    policy = td.load_policy({**PEOPLE, **KEYED})
    home = [("north", True)] * 5
    one = write([*home, ("north", True)], tmp_path / "one.parquet", person=[*"abcdef"])
    two = write([*home, ("south", False)], tmp_path / "two.parquet", person=[*"abcdef"])
    book.open("d", 9, policy)
    plans = []
    for asked in ("", " where region = 'north'", " where region = 'south'", " where ill = true"):
        plans.append(td.release(policy, f"select * from '{one}'{asked}", ledger=book, allow_dearer=True).plan)
    lost = sum(apart(plan, one, two, policy) for plan in plans)
    assert lost <= book.account("d").charged
    both = write([("north", True), ("south", True)], tmp_path / "both.parquet", person=["f", "f"])
    found = [td.plan(selected(policy, f"select * from '{both}' where region = '{r}'")[0]) for r in ("north", "south")]
    assert [count(plan, both, policy)["ill"][0].sum() for plan in found] == [1, 0]  # the first of their rows, anywhere


@pytest.mark.parametrize(("noise", "price"), [("laplace", Fraction(1)), ("gaussian", None)])
def test_a_condition_on_a_secret_is_priced_in_one_release(tmp_path: Path, noise: str, price: Fraction | None) -> None:
    budget = {"epsilon": 1, "delta": "1e-6"} if noise == "gaussian" else {"epsilon": 1}
    more = {"individuals": {"key": "person", "at most": 2}, "budget": budget}
    policy = td.load_policy({**PEOPLE, **KEYED, **more, "presence": "secret"})
    asked, _ = selected(policy, "select * from 'people.parquet' where region = 'north'")
    plan = td.plan(asked, noise=noise)
    one = write([("north", True)] * 2, tmp_path / "one.parquet", person=["f", "f"])
    two = write([("south", True)] * 2, tmp_path / "two.parquet", person=["f", "f"])
    answers = [count(plan, table, policy)["ill"] for table in (one, two)]
    gaps = [abs(here - there).ravel().tolist() for here, there in zip(*answers, strict=True)]
    scales = [m.scale for m in plan["ill"].measurements]
    if price is not None:
        lost = sum((Fraction(sum(gap)) / scale for gap, scale in zip(gaps, scales, strict=True)), Fraction(0))
        assert lost <= plan.epsilon == price
    else:
        lost = sum(
            (Fraction(sum(g * g for g in gap)) / (2 * s * s) for gap, s in zip(gaps, scales, strict=True)), Fraction(0)
        )
        assert plan.certificate.rho is not None
        assert 0 < lost <= plan.certificate.rho


REFUSED: Mapping[str, str] = {
    "select region, ill, cast(row as varchar) as person from '{}'": "renames or computes",
    "select region, ill, row as person from '{}'": "renames or computes",
    "select ill as region, ill, person from '{}'": "renames or computes",
    "select region, not ill as ill, person from '{}'": "renames or computes",
    "select region, ill from '{}'": "does not select 'person'",
    "select region, person from '{}'": "does not select 'ill'",
    "select * from '{}' where row > 3": "'row'",
    "select * from '{}' where person = 'f'": "'person'",
    "select * from '{}' where region = 'east'": "not a value of region",
    "select * from '{}' where ill is null and region in (select region from 'other')": "",
}


@pytest.mark.parametrize("query", REFUSED)
def test_keys_and_attributes_are_selected_as_they_are(tmp_path: Path, book: td.Ledger, query: str) -> None:
    policy = td.load_policy({**PEOPLE, **KEYED})
    table = write([("north", True)] * 3, tmp_path / "t.parquet", person=["f", "g", "h"], row=[1, 2, 3])
    book.open("d", 5, policy)
    with pytest.raises(td.errors.TetraodonError, match=REFUSED[query] or None):
        td.release(policy, query.format(table), ledger=book)
    assert book.account("d").charged == 0


def test_a_release_from_a_selection_says_whom_it_is_about(tmp_path: Path, book: td.Ledger) -> None:
    policy = td.load_policy(
        {**PEOPLE, "release": [*PEOPLE["release"], {"name": "few", "count": "all", "where": "ill = true"}]}
    )
    table = write([("north", True), ("south", False)] * 50, tmp_path / "t.parquet")
    book.open("d", 9, policy)
    td.release(policy, f"select * from '{table}' where region = 'north'", ledger=book, out=tmp_path / "out")
    release = td.load_release(tmp_path / "out")
    assert [item.item.where for item in release.plan] == ["region = 'north'", "(region = 'north') and (ill = true)"]
    assert "region = 'north'" in (tmp_path / "out" / "report.html").read_text("utf-8").replace("&#39;", "'")
    td.release(policy, f"select ill, region from '{table}' where region = 'south'", ledger=book)
    assert book.account("d").charged == 1  # nobody is in both
    assert [entry.composition for entry in book.entries("d")][1] == JOINTLY


def test_what_is_about_all_rows_takes_no_condition(tmp_path: Path, book: td.Ledger) -> None:
    policy = td.load_policy({**PEOPLE, "secrets": {"region": "everything", "ill": "everything"}})
    table = write([("north", True), ("south", False)] * 50, tmp_path / "t.parquet")
    some = f"select * from '{table}' where region = 'north'"
    book.open("d", 9, policy)
    with pytest.raises(td.errors.Refused, match="the plan is about all rows"):
        td.release(td.plan(policy), some, ledger=book)
    with pytest.raises(td.errors.Refused, match="a view is about all rows"):
        td.publish(policy, some, ledger=book, out=tmp_path / "view")
    with pytest.raises(td.errors.Refused, match="a perturbed table is about all rows"):
        td.perturb(policy, some, epsilon=1, ledger=book, out=tmp_path / "perturbed")
    people = td.load_policy({**PEOPLE, **KEYED, "release": [{"name": "all", "people": "all"}]})
    with pytest.raises(td.errors.TetraodonError, match="about all records"):
        selected(people, some.replace("*", "region, ill, person"))
    assert book.account("d").charged == 0
    td.release(td.plan(policy), f"select * from '{table}'", ledger=book)


# -- what an owner sees of a refusal -----------------------------------------------------------------


@pytest.mark.parametrize("missing", [37, 38])
def test_an_owner_learns_nothing_from_what_their_file_has_refused(
    tmp_path: Path, book: td.Ledger, missing: int
) -> None:
    """Ten files with other `unreadable` shares, columns or facts would bisect how many values are missing."""
    governing = {**PEOPLE, "presence": "secret", "table": {"unreadable": "40%"}}
    table = tmp_path / "t.parquet"
    ill = [None] * missing + [True] * (100 - missing)
    pl.DataFrame({"region": ["north"] * 100, "ill": ill}, schema_overrides={"ill": pl.Boolean}).write_parquet(table)
    book.open("d", 9, governing)
    book.allot("d", "analyst", 9)
    for share in ("0%", "37%", "38%", "100%"):
        for item in ({"histogram": "ill"}, {"histogram": "region"}, {"count": "ill", "where": "region = 'north'"}):
            asked = {**governing, "table": {"unreadable": share}, "release": [{"name": "x", **item}]}
            td.release({**asked, "budget": {"epsilon": "0.00001"}}, table, ledger=book, owner="analyst")


@pytest.mark.parametrize("stated", [4, 5])
def test_whether_an_owner_is_refused_is_decided_by_the_governing_policy(
    tmp_path: Path, book: td.Ledger, stated: int
) -> None:
    """Where a stated fact is wrong, every file of an owner is refused, also one that leaves its attributes out."""
    table = write([("north", True)] * 4 + [("south", False)] * 5, tmp_path / "t.parquet")
    secret = {"region": "everything", "ill": "everything"}
    governing = {**PEOPLE, "secrets": secret, "known": [{"count": "ill = true", "is": stated}]}
    book.open("d", 9, governing)
    book.allot("d", "analyst", 9)
    north = {"release": [{"name": "r", "count": "region = 'north'"}], "known": []}
    only = {"attributes": {"region": ["north", "south"]}, "secrets": {"region": "everything"}}
    for change in ({}, {"known": []}, north, north | only):
        file = {**governing, **change, "budget": {"epsilon": "0.01"}}
        with pytest.raises(td.errors.FailedAfterCharge) if stated == 5 else nullcontext():
            td.release(file, table, ledger=book, owner="analyst", allow_dearer=True)
