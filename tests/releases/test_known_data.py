"""Releases when tables are known: data that contradict them are refused, and released tables agree with them."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.releases.conftest import POLICY

import tetraodon as td
from tetraodon.certificate.certificate import Dataset
from tetraodon.engine import DataRefusal


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
    ledger = td.Ledger(tmp_path / "known.db")
    ledger.open("survey", 2, policy.document)
    made = td.release(plan, table, ledger=ledger, out=tmp_path / "out")
    assert all(check.passed for check in td.verify(tmp_path / "out"))
    ages = made["ages"].to_polars().group_by("region").agg(pl.col("count").sum())
    for region, total in ages.iter_rows():
        assert total == pytest.approx(table.filter(pl.col("region") == region).height)
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
    policy = {
        "dataset": "meter",
        "presence": "public",
        "attributes": {"on": {"integer": [0, 1]}},
        "attackers": [{"chain": chain}],
        "budget": {"epsilon": 1},
        "release": [{"name": "ons", "histogram": "on"}],
    }
    plan = td.plan(td.load_policy(policy))
    ledger = td.Ledger(tmp_path / "chain.db")
    ledger.open("meter", 2, plan.policy.document)
    series = pl.DataFrame({"time": range(6), "on": [0, 0, 0, 1, 1, 0]})
    with pytest.raises(DataRefusal, match="more rows than the `length`"):
        td.release(plan, series, ledger=ledger)
    assert ledger.account("meter").charged == 0
    td.release(plan, series.head(5), ledger=ledger)
    assert ledger.account("meter").charged == 1
