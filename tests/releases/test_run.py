"""Running a plan: what is charged, when, and what happens when something breaks."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.releases.conftest import POLICY

import tetraodon as td
from tetraodon.engine import DataRefusal
from tetraodon.ledger.database import Database
from tetraodon.noise.laws import LaplaceNoise
from tetraodon.policy.source import dump_policy
from tetraodon.releases.codec import plan_document


def test_a_release_is_charged_its_certificate_and_settled(
    policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger
) -> None:
    release = td.release(td.plan(policy), table, ledger=ledger)
    (entry,) = ledger.entries(policy.dataset)
    assert entry.charged == release.plan.certificate.epsilon == policy.epsilon
    assert entry.state == "settled"
    assert set(entry.document) >= {"policy", "plan", "certificate"}


def test_exact_answers_are_exact_and_noisy_ones_are_near(
    policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger
) -> None:
    release = td.release(td.plan(policy, epsilon=2), table, ledger=ledger)
    blocks = release["blocks"].to_polars()
    east = table.filter(pl.col("region") == "east").height
    assert blocks["count"].to_list() == [table.height - east, east]
    assert blocks["lower"].to_list() == blocks["upper"].to_list() == blocks["count"].to_list()
    ages = release["ages"].to_polars()
    assert ages["count"].sum() == pytest.approx(table.height)  # the number of records is known


def test_the_charge_stands_when_a_crash_follows_it(
    policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LaplaceNoise, "draw", crash)
    with pytest.raises(KeyboardInterrupt):
        td.release(td.plan(policy), table, ledger=ledger)
    (entry,) = ledger.entries(policy.dataset)
    assert entry.state == "reserved"
    assert ledger.account(policy.dataset).charged == 1


def test_no_noise_is_drawn_before_the_charge_is_committed(
    policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen = []
    draw = LaplaceNoise.draw

    def watched(*arguments: Any) -> Any:
        with td.Ledger(tmp_path / "ledger.db") as other:  # what another process would see
            seen.append(other.account(policy.dataset).charged)
        return draw(*arguments)

    monkeypatch.setattr(LaplaceNoise, "draw", watched)
    td.release(td.plan(policy), table, ledger=ledger)
    assert set(seen) == {Fraction(1)}


def test_a_release_asks_the_ledger_four_times(
    policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How the account stands, what was released before, to be charged, and to be settled: each is a transaction."""
    plan = td.plan(policy, epsilon="0.1")
    td.release(plan, table, ledger=ledger)
    asked: list[str] = []
    for name in ("reading", "writing"):
        real = getattr(Database, name)

        def watched(self: Database, *args: Any, real: Any = real, name: str = name, **more: Any) -> Any:
            asked.append(name)
            return real(self, *args, **more)

        monkeypatch.setattr(Database, name, watched)
    td.release(plan, table, ledger=ledger)
    assert asked == ["reading", "reading", "writing", "writing"]


def test_the_budget_runs_out(policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger) -> None:
    plan = td.plan(policy)
    for _ in range(2):
        td.release(plan, table, ledger=ledger)
    with pytest.raises(td.errors.BudgetExhausted, match="Fix:"):
        td.release(plan, table, ledger=ledger)
    assert ledger.account(policy.dataset).left == 0


def test_an_empty_table_is_refused_without_detail_recorded_and_free(
    policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger
) -> None:
    with pytest.raises(DataRefusal):
        td.release(td.plan(policy), table.head(0), ledger=ledger)
    assert len(ledger.refusals(policy.dataset)) == 1
    assert ledger.entries(policy.dataset) == ()


def test_a_missing_column_costs_nothing(policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger) -> None:
    with pytest.raises(td.errors.TableError, match="age"):
        td.release(td.plan(policy), table.drop("age"), ledger=ledger)
    assert ledger.entries(policy.dataset) == ()


def test_a_data_set_that_was_never_opened(policy: td.Policy, table: pl.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(td.errors.LedgerError, match="ledger open"):
        td.release(td.plan(policy), table, ledger=tmp_path / "none.db")


def governed(change: dict[str, Any], asked: dict[str, Any], table: pl.DataFrame, tmp_path: Path) -> td.Ledger:
    """Open the ledger under one policy and release under another."""
    governing = td.load_policy({**POLICY, "release": [], **change})
    book = td.Ledger(tmp_path / "governed.db")
    book.open("survey", Fraction(5), governing.document)
    td.release(td.plan(td.load_policy({**POLICY, **asked})), table, ledger=book, allow_dearer=True)
    return book


def test_the_governing_policy_sets_the_price(table: pl.DataFrame, tmp_path: Path) -> None:
    """Noise for {within: 2} protects {within: 8} four times less."""
    wider = {"secrets": {**POLICY["secrets"], "age": {"within": 8}}}
    item = {"release": [{"name": "years", "total": "age"}]}
    book = governed(wider, item, table, tmp_path)
    (entry,) = book.entries("survey")
    assert (entry.asked, entry.charged) == (1, 4)


def test_what_the_governing_policy_protects_for_certain_is_not_told(table: pl.DataFrame, tmp_path: Path) -> None:
    stricter = {"secrets": {**POLICY["secrets"], "region": "everything"}}
    item = {
        "release": [{"name": "blocks", "histogram": ["region"], "bins": {"region": [["north", "south"], ["east"]]}}]
    }
    with pytest.raises(td.errors.Refused, match="governs"):
        governed(stricter, item, table, tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"attributes": {**POLICY["attributes"], "age": {"integer": [20, 30]}}},
        {"attributes": {name: kind for name, kind in POLICY["attributes"].items() if name != "region"}, "secrets": {}},
        {"individuals": {"key": "id", "at most": 2}},
    ],
    ids=["values", "attributes", "individuals"],
)
def test_policies_that_describe_other_data_are_refused(
    change: dict[str, Any], table: pl.DataFrame, tmp_path: Path
) -> None:
    with pytest.raises(td.errors.Refused, match="Fix:"):
        governed(change, {"release": POLICY["release"][:1]}, table, tmp_path)


def test_at_most_k_rows_of_each_person_count(tmp_path: Path) -> None:
    keyed = {
        "tetraodon": 1,
        "dataset": "visits",
        "individuals": {"key": "who", "at most": "2 rows"},
        "attributes": {"ward": ["a", "b"]},
        "budget": {"epsilon": 1000},
        "release": [{"name": "wards", "histogram": ["ward"]}],
    }
    policy = td.load_policy(keyed)
    book = td.Ledger(tmp_path / "visits.db")
    book.open("visits", policy.epsilon, policy.document)
    visits = pl.DataFrame({"who": [1] * 50 + [2], "ward": ["a"] * 50 + ["b"]})
    answer = td.release(td.plan(policy), visits, ledger=book)["wards"].to_polars()
    assert answer["count"].round().to_list() == [2, 1]


def test_facts_that_only_the_asked_policy_knows_are_refused(table: pl.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(td.errors.Refused, match="known"):
        governed({}, {"known": [{"count": "sex = 'Male'"}], "release": POLICY["release"][:1]}, table, tmp_path)


@pytest.mark.parametrize("kind", ["a policy", "a document", "a path", "a plan"])
def test_a_policy_or_its_file_is_planned(
    kind: str, policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, tmp_path: Path
) -> None:
    (tmp_path / "p.yaml").write_text(dump_policy(policy.document))
    given: Any = {
        "a policy": policy,
        "a document": policy.document,
        "a path": tmp_path / "p.yaml",
        "a plan": td.plan(policy),
    }[kind]
    made = td.release(given, table, ledger=ledger)
    assert plan_document(made.plan) == plan_document(td.plan(policy))
    assert ledger.account(policy.dataset).charged == policy.epsilon
