"""Counting a table, and refusing one that is not as its policy says."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from contextlib import nullcontext
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.engine.tables import table as made_table
from tests.policies import policy_document, public_policy
from tests.releases.conftest import POLICY
from tests.releases.made import kept
from tests.services import forms, needs_postgres, postgres

import tetraodon as td
from tetraodon.certificate.certificate import Dataset
from tetraodon.domain import Attribute, Categories, Domain, Grid, Integers
from tetraodon.engine import ColumnReport, DataRefusal, open_table
from tetraodon.exact.arrays import LARGEST
from tetraodon.ledger.account import JOINTLY
from tetraodon.policy.policy import UNREADABLE
from tetraodon.queries import histogram, total
from tetraodon.query.kinds import linear
from tetraodon.releases.counting import (
    Fitness,
    added_by,
    check_readable,
    count,
    exact_answer,
    fitness,
    group_of,
    open_policy_table,
    selected,
)
from tetraodon.releases.pricing import check_same_data

# -- counting ---------------------------------------------------------------------------------------

AMOUNT = Attribute("amount", Grid(Fraction(-1), Fraction(3), Fraction(1, 4)), missing=2)
HUGE = Attribute("huge", Integers(0, 2**40))
DOMAIN = Domain((AMOUNT, Attribute("sex", Categories(("f", "m")), other=0), HUGE))
TABLE = pl.DataFrame(
    {"amount": [0.25, -9.0, None, 2.75, 3.0], "sex": ["f", "m", "f", "m", "m"], "huge": [2**35, 0, 1, 2, 2**40]}
)


@pytest.mark.parametrize(
    "query", [total("amount"), total("amount", by=["sex"]), total("huge", by=["sex"]), histogram("sex"), total("huge")]
)
def test_sums_made_by_the_engine_are_those_of_the_counts(query):
    asked = linear(query, DOMAIN)
    with open_table(TABLE, DOMAIN) as engine:
        [plain] = engine.counts([asked.names])
        [counts] = engine.counts([group_of(asked)], added_by([asked]))
    assert exact_answer(asked, DOMAIN, counts).tolist() == asked.evaluate(DOMAIN, plain.codes, plain.counts).tolist()


def test_what_the_engine_adds_up():
    assert added_by(linear(q, DOMAIN) for q in (total("amount"), total("huge"), histogram("sex"))) == {(): ["amount"]}
    assert group_of(linear(total("amount", by=["sex"]), DOMAIN)) == ("sex",)
    assert group_of(linear(total("huge", by=["sex"]), DOMAIN)) == ("sex", "huge")


def test_a_sum_that_is_too_long_is_cut_off():
    wide = Attribute("wide", Grid(Fraction(10**18), Fraction(10**18 + 10), Fraction(1)))
    domain = Domain((wide,))
    asked = linear(total("wide"), domain)
    with open_table(pl.DataFrame({"wide": [10**18] * 5}), domain) as engine:
        [counts] = engine.counts([()], {(): ["wide"]})
    assert exact_answer(asked, domain, counts).tolist() == [LARGEST]


# -- readable ---------------------------------------------------------------------------------------
# A table that cannot be read as its policy says is refused before the charge; what becomes what is told in words.


def policy(attribute: Any, **more: Any) -> td.Policy:
    base = {"dataset": "d", "presence": "public", "budget": {"epsilon": 1}, "attributes": {"x": attribute}}
    return td.load_policy({**base, "release": [{"name": "q", "histogram": "x"}], **more})


def refused(made: td.Policy, values: list[Any], folder: Path) -> td.errors.DataRefusal | list[str]:
    """The refusal, after a look at the ledger; or what was warned of."""
    warned: list[str] = []
    with td.Ledger(f"sqlite:///{folder}/{len(list(folder.iterdir()))}.db") as ledger:
        ledger.open("d", 1, made)
        try:
            td.release(
                made, pl.DataFrame({"x": values}), ledger=ledger, out=folder / "out", force=True, warn=warned.append
            )
        except td.errors.DataRefusal as refusal:
            assert ledger.account("d").left == 1
            assert [one.kind for one in ledger.refusals("d")] == ["table-refused"]
            assert not (folder / "out").exists()
            return refusal
        assert ledger.account("d").left == 0
    return warned


DAYS = {"date": ["2026-01-01", "2026-12-31"]}
CASES = [
    (DAYS, ["18.01.2026"] * 100, r"format.*DD\.MM\.YYYY"),
    ({**DAYS, "missing": "2026-01-01"}, ["18.01.2026"] * 100, r"format.*DD\.MM\.YYYY"),
    ({"integer": [0, 50]}, [None] * 44 + [15] * 56, "`missing:`"),
    ({"integer": [0, 50]}, ["12 USD"] * 2 + ["15"] * 98, "how numbers are written"),
    (["f", "m"], [" m"] * 50 + ["f"] * 50, "`other:`.*trim"),
    ("boolean", ["perhaps"] * 50 + ["true"] * 50, "`other:`"),
]


@pytest.mark.parametrize(("attribute", "values", "fix"), CASES)
def test_what_would_be_wrong_in_silence_is_refused_before_the_charge(
    attribute: Any, values: list[Any], fix: str, tmp_path: Path
) -> None:
    found = refused(policy(attribute), values, tmp_path)
    assert isinstance(found, td.errors.DataRefusal)
    assert found.where == "x"
    assert re.search(fix, found.fix)
    assert not any(letter.isdigit() for letter in found.what)


@pytest.mark.parametrize(
    ("attribute", "values"),
    [
        ({**DAYS, "format": "DD.MM.YYYY"}, ["18.01.2026"] * 100),
        ({"integer": [0, 50], "missing": 0}, [None] * 44 + [15] * 56),
        ({"integer": [0, 50], "missing": 0}, ["NA"] * 44 + ["15"] * 56),
        ({"integer": [0, 50]}, [99] * 50 + [15] * 50),
        ({"categories": ["f", "m"], "other": "f"}, [" m"] * 50 + ["f"] * 50),
        ({"categories": ["f", "m"], "trim": "true"}, [" m"] * 50 + ["f"] * 50),
    ],
)
def test_what_is_written_down_is_released_without_a_word(attribute: Any, values: list[Any], tmp_path: Path) -> None:
    assert refused(policy(attribute), values, tmp_path) == []


def test_the_policy_sets_how_much_may_be_amiss(tmp_path: Path) -> None:
    values = [None] * 3 + [15] * 97
    assert isinstance(refused(policy({"integer": [0, 50]}), values, tmp_path), td.errors.DataRefusal)
    warned = refused(policy({"integer": [0, 50]}, table={"unreadable": "3%"}), values, tmp_path)
    assert isinstance(warned, list)
    assert len(warned) == 1
    assert "curator only" in warned[0]
    assert not any(letter.isdigit() for letter in warned[0])
    assert refused(policy({"integer": [0, 50]}, table={"unreadable": "100%"}), values, tmp_path) == []


def test_nothing_of_it_is_in_the_folder(tmp_path: Path) -> None:
    """Two tables that differ in what was unreadable, and not in what was counted, have the same files but for noise."""
    made = policy({"integer": [0, 9], "missing": 3}, table={"unreadable": "90%"}, secrets={"x": "public"})
    folders = []
    for place, values in enumerate((["3"] * 10, ["three"] * 5 + ["3"] * 5)):
        with td.Ledger(f"sqlite:///{tmp_path}/{place}.db") as ledger:
            ledger.open("d", 1, made)
            td.release(made, pl.DataFrame({"x": values}), ledger=ledger, out=tmp_path / f"out{place}")
        folders.append(json.loads((tmp_path / f"out{place}" / "release.json").read_text()))
    assert {key: value for key, value in folders[0].items() if key not in ("ledger", "files")} == {
        key: value for key, value in folders[1].items() if key not in ("ledger", "files")
    }


def test_the_share_is_compared_exactly() -> None:
    attribute = policy({"integer": [0, 50]}).domain["x"]
    assert Fitness(attribute, ColumnReport("x", 100, 1, 0, 99)).refusal(UNREADABLE) is None
    assert Fitness(attribute, ColumnReport("x", 100, 1, 1, 0)).refusal(UNREADABLE) is not None
    assert Fitness(attribute, ColumnReport("x", 0, 0, 0, 0)).refusal(UNREADABLE) is None


def test_all_columns_are_named_at_once() -> None:
    made = td.load_policy(
        {"dataset": "d", "attributes": {"x": {"integer": [0, 9]}, "y": ["a", "b"]}, "budget": {"epsilon": 1}}
    )
    reports = [ColumnReport("x", 10, 5, 0, 0), ColumnReport("y", 10, 0, 0, 5), ColumnReport("key", 10, 9, 0, 0)]
    with pytest.raises(td.errors.DataRefusal) as refusal:
        check_readable(made, fitness(made, reports))
    assert refusal.value.where == "x and y"


def test_decimals_where_whole_numbers_are_declared_are_mentioned_and_not_refused(tmp_path: Path) -> None:
    checked = td.check(policy({"integer": [0, 9]}), pl.DataFrame({"x": [1.0, 2.5, 3.0, 4.0]}))
    assert checked.becomes == ("x: 25.0% of the rows have decimals and count as the nearest whole number.",)
    assert not checked.refusals
    warned: list[str] = []
    with td.Ledger(tmp_path / "l.db") as ledger:
        ledger.open("d", 1, policy({"integer": [0, 9]}))
        td.release(
            td.plan(policy({"integer": [0, 9]})), pl.DataFrame({"x": [1.0, 2.5]}), ledger=ledger, warn=warned.append
        )
    assert "rounded to whole numbers" in warned[0]


# -- known data -------------------------------------------------------------------------------------
# Releases when tables are known: data that contradict them are refused, and released tables agree with them.


def with_known(table: pl.DataFrame, *, off: int = 0, **changed: Any) -> td.Policy:
    regions = [table.filter(pl.col("region") == name).height for name in ("north", "south", "east")]
    known = [{"marginal": "region", "is": [regions[0] + off, *regions[1:]]}, {"count": "sex = 'Male'"}]
    items = [{"name": "ages", "histogram": ["region", "age"]}, {"name": "sexes", "histogram": ["sex"]}]
    return td.load_policy({**POLICY, "known": known, "release": items, **changed})


def test_data_that_contradict_what_is_known_are_refused_before_anything_is_spent(
    table: pl.DataFrame, tmp_path: Path
) -> None:
    plan = td.plan(with_known(table, off=1))
    ledger = td.Ledger(tmp_path / "known.db")
    ledger.open("survey", 2, plan.policy.document)
    with pytest.raises(DataRefusal, match="entry 1 of `known`") as refusal:
        td.release(plan, table, ledger=ledger)
    assert not any(character.isdigit() for character in str(refusal.value).replace("entry 1", ""))
    assert ledger.account("survey").charged == 0
    assert len(ledger.refusals("survey")) == 1


@pytest.mark.parametrize("off", [0, 1])
def test_what_the_governing_policy_knows_counts_even_if_the_file_leaves_it_out(
    table: pl.DataFrame, tmp_path: Path, off: int
) -> None:
    plan = td.plan(with_known(table, known=[], release=[{"name": "ages", "histogram": ["age"]}]))
    few = {name: POLICY["attributes"][name] for name in ("age", "sex")}
    secrets = {name: POLICY["secrets"][name] for name in ("age", "sex")}
    fewer = td.plan(with_known(table, known=[], attributes=few, secrets=secrets, release=[{"name": "a", "cdf": "age"}]))
    with td.Ledger(tmp_path / "known.db") as ledger:
        ledger.open("survey", 200, with_known(table, off=off).document)
        if off:
            with pytest.raises(DataRefusal, match="entry 1 of `known`"):
                td.release(plan, table, ledger=ledger, allow_dearer=True)
            assert ledger.account("survey").charged == 0
        else:
            td.release(plan, table, ledger=ledger, allow_dearer=True)
        with pytest.raises(DataRefusal) if off else nullcontext():  # although it does not declare the region
            td.release(fewer, table, ledger=ledger, allow_dearer=True)


def test_released_tables_agree_with_what_is_known(table: pl.DataFrame, tmp_path: Path) -> None:
    policy = with_known(table)
    plan = td.plan(policy)
    assert plan["sexes"].mechanism == "exact"
    assert isinstance(plan.certificate.witness, tuple)
    assert isinstance(plan.certificate.witness[0], Dataset)
    made = kept(plan, table, tmp_path)
    ages = made["ages"].to_polars().group_by("region").agg(pl.col("count").sum())
    for region, many in ages.iter_rows():
        assert many == pytest.approx(table.filter(pl.col("region") == region).height)
    assert made["sexes"].to_polars()["count"].to_list() == [
        table.filter(pl.col("sex") == sex).height for sex in ("Female", "Male")
    ]


def test_the_account_of_somebody_who_knows_less_is_charged_what_it_costs_there(
    table: pl.DataFrame, ledger: td.Ledger
) -> None:
    """The governing policy does not know the table by region, so repeating it exactly would break its promise."""
    with pytest.raises(td.errors.Refused, match=r"tell for certain|does not know"):
        td.release(td.plan(with_known(table)), table, ledger=ledger)


@pytest.mark.parametrize("most", [1, 3])
def test_known_counts_and_people_with_a_key_are_refused(most: int) -> None:
    """Even with one row each: what is known counts rows of people with more, who are left out of a release."""
    keyed = {"key": "id", "at most": most}
    with pytest.raises(td.errors.Refused, match="one row each"):
        td.load_policy({**POLICY, "individuals": keyed, "known": [{"count": "sex = 'Male'"}], "release": []})


def test_a_series_longer_than_the_policy_says_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    chain = {"along": "time", "transition": [["0.9", "0.1"], ["0.2", "0.8"]], "source": "a study of 2007", "length": 5}
    policy = public_policy(
        dataset="meter",
        attributes={"on": {"integer": [0, 1]}},
        attackers=[{"chain": chain}],
        release=[{"name": "ons", "histogram": "on"}],
    )
    plan = td.plan(td.load_policy(policy))
    ledger = td.Ledger(tmp_path / "chain.db")
    ledger.open("meter", 2, plan.policy.document)
    series = pl.DataFrame({"time": range(6), "on": [0, 0, 0, 1, 1, 0]})
    with pytest.raises(DataRefusal, match="more rows than the `length`"):
        td.release(plan, series, ledger=ledger)
    assert ledger.account("meter").charged == 0
    td.release(plan, series.head(5), ledger=ledger)
    assert ledger.account("meter").charged == 1


# -- same data --------------------------------------------------------------------------------------
# The same bytes are the same records in every release of a data set, whoever asks.

READ_OTHERWISE = {
    "decimal": {"table": {"decimal": ","}},
    "separator": {"table": {"separator": ";"}},
    "encoding": {"table": {"encoding": "latin-1"}},
    "bounds": {"attributes": {**POLICY["attributes"], "age": {"integer": [19, 29]}}},
    "step": {"attributes": {**POLICY["attributes"], "income": {"real": [0, 5], "step": "0.25"}}},
    "missing": {"attributes": {**POLICY["attributes"], "age": {"integer": [20, 29], "missing": 25}}},
    "other": {"attributes": {**POLICY["attributes"], "age": {"integer": [20, 29], "other": 25}}},
    "kind": {"attributes": {**POLICY["attributes"], "sex": {"ordered": ["Female", "Male"]}}},
    "order of values": {"attributes": {**POLICY["attributes"], "sex": ["Male", "Female"]}},
    "another column": {"attributes": {**POLICY["attributes"], "height": {"integer": [0, 9]}}},
    "key": {"individuals": {"key": "id", "at most": 1}},
    "attackers": {"attackers": [{"groups": "home", "at most": 1}]},
}


@pytest.mark.parametrize("what", READ_OTHERWISE)
def test_a_file_that_reads_the_table_otherwise_is_refused(what: str, table: pl.DataFrame, tmp_path: Path) -> None:
    """The same bytes must be the same records in every release of a data set, and nothing is spent on others."""
    here = {"release": [{"name": "h", "histogram": ["age"]}], "secrets": {}, "together": "all at once"}
    table.write_csv(tmp_path / "table.csv")
    with td.Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open("survey", 10, td.load_policy({**POLICY, **here}).document)
        with pytest.raises(td.errors.Refused):
            td.release(
                td.plan(td.load_policy({**POLICY, **here, **READ_OTHERWISE[what]})),
                tmp_path / "table.csv",
                ledger=ledger,
            )
        assert ledger.account("survey").charged == 0
        td.release(
            td.plan(td.load_policy({**POLICY, **here, "title": "another"})), tmp_path / "table.csv", ledger=ledger
        )
        assert ledger.account("survey").charged == 1


@pytest.mark.parametrize("what", ["decimal", "separator", "encoding", "missing"])
def test_views_and_perturbed_tables_are_read_as_the_governing_policy_says(what: str, tmp_path: Path) -> None:
    view = {"prior": {"d": "0.01"}, "posterior": "0.5"}
    here = {"release": [], "secrets": {}, "together": "all at once", "budget": {"epsilon": 20}, "adversary": view}
    asked = td.load_policy({**POLICY, **here, **READ_OTHERWISE[what]})
    with td.Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open("survey", 10, td.load_policy({**POLICY, **here}).document)
        for publish in (td.publish, partial(td.perturb, epsilon=1)):
            with pytest.raises(td.errors.Refused, match="governing policy"):
                publish(asked, tmp_path / "there is none.csv", ledger=ledger, out=tmp_path / "out")


def test_which_rows_of_a_person_are_cut_is_decided_by_all_attributes_of_the_governing_policy() -> None:
    """A file that leaves attributes out, or names them in another order, counts the same rows."""
    whole = policy_document(
        individuals={"key": "p", "at most": 1},
        attributes={"a": {"integer": [0, 1]}, "b": {"integer": [0, 1]}},
        release=[{"name": "h", "histogram": "b"}],
    )
    governing = td.load_policy(whole)
    rows = pl.DataFrame({"p": ["me", "me"], "a": [0, 1], "b": [1, 0]})
    for names in ("ab", "ba", "b"):
        asked = td.load_policy({**whole, "attributes": {name: whole["attributes"][name] for name in names}})
        check_same_data(asked, governing)
        with open_policy_table(asked, rows, governing) as engine:
            assert engine.counts([("b",)])[0].codes.tolist() == [[1]]


def test_columns_that_a_file_leaves_out_still_say_how_the_table_is_read(tmp_path: Path) -> None:
    """A header that holds one column with commas and the other with semicolons is no table of the governing policy."""
    whole = public_policy(attributes={"x": {"integer": [0, 9]}, "z": {"integer": [0, 9]}})
    governing = td.load_policy(whole)
    (tmp_path / "table.csv").write_text("x,y;z\n1,2;3\n4,5;6\n")
    for name in "xz":
        asked = td.load_policy({**whole, "attributes": {name: whole["attributes"][name]}})
        check_same_data(asked, governing)
        with open_policy_table(asked, tmp_path / "table.csv"):
            pass
        with pytest.raises(td.errors.TableError):
            open_policy_table(asked, tmp_path / "table.csv", governing)


def test_people_with_more_rows_are_cut_only_where_the_governing_policy_allows_it() -> None:
    keyed = {"individuals": {"key": "p", "at most": 1}, "together": "all at once", "release": []}
    finer, plain = (td.load_policy({**POLICY, **keyed, "secrets": s}) for s in (POLICY["secrets"], {}))
    assert (finer.cuts_rows, plain.cuts_rows) == (False, True)
    check_same_data(finer, plain)  # leaving people out is safe wherever cutting is
    with pytest.raises(td.errors.Refused, match="more rows than allowed"):
        check_same_data(plain, finer)


# -- selection --------------------------------------------------------------------------------------
# Releases from selections of a table: the condition is priced as `where`, and the policy speaks of the whole table.

PEOPLE: dict[str, Any] = public_policy(
    attributes={"region": ["north", "south"], "ill": "boolean"},
    secrets={"ill": "everything", "region": "public"},
    release=[{"name": "ill", "histogram": "ill"}],
)
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


# -- engines ----------------------------------------------------------------------------------------
# A whole release on every engine: every kind of question has the same exact answer, and no address is written down.

COLUMNS = {"age": "INTEGER", "sex": "VARCHAR", "income": "DOUBLE", "region": "VARCHAR"}


@pytest.mark.parametrize("form", forms("parquet", "csv", "ibis", "postgres", "spark"))
def test_every_question_has_the_same_answer(policy: td.Policy, table: pl.DataFrame, form: str, tmp_path: Path) -> None:
    plan = td.plan(policy)
    expected = count(plan, table)
    with made_table(form, tmp_path, COLUMNS, table.rows()) as source:
        found = count(plan, source)
    assert found.keys() == expected.keys()
    for name, arrays in expected.items():
        assert all(np.array_equal(a, b) for a, b in zip(arrays, found[name], strict=True)), name


@needs_postgres
def test_no_credentials_in_anything_that_is_written(
    policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, tmp_path: Path
) -> None:
    out, said = tmp_path / "release", io.StringIO()
    with made_table("postgres", tmp_path, COLUMNS, table.rows()) as source:
        plan = td.plan(policy)
        td.release(plan, source, ledger=ledger, out=out, progress=lambda stage: print(stage, file=said))
    secret = postgres().passwords["reader"]
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes()
    assert secret not in said.getvalue() + repr(plan)
    assert td.load_release(out)["blocks"].to_polars()["count"].sum() == table.height


# -- checking ---------------------------------------------------------------------------------------
# A policy is checked with and without a table, as the command does it, and nothing is spent.


def test_every_item_has_its_sensitivity(policy: td.Policy) -> None:
    found = td.check(policy)
    assert {name: one.value for name, one in found.sensitivities.items()} == {
        item.name: td.sensitivity(policy, item.query).value for item in policy.items
    }
    assert found.sensitivities["pay"].value == Fraction(1)
    assert (found.columns, found.becomes, found.refusals) == ((), (), ())


def test_a_table_that_fits_and_one_that_does_not(policy: td.Policy, table: pl.DataFrame) -> None:
    found = td.check(policy, table)
    assert [column.name for column in found.columns] == list(policy.domain.names)
    assert all(column.fits for column in found.columns)
    assert found.refusals == ()
    worse = td.check(policy, table.with_columns(region=pl.lit("nowhere")))
    [refusal] = worse.refusals
    assert refusal.where == "region"
    assert worse.becomes == ("region: 100.0% of the rows are not listed and count as north.",)


def test_what_is_no_policy_is_refused() -> None:
    with pytest.raises(td.errors.PolicyError):
        td.check({**POLICY, "budget": {"epsilon": -1}})
