"""Opening a data set once, and seeing what is left."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import POLICY, Run
from typer.testing import CliRunner

import tetraodon as td
from tetraodon.cli.main import app
from tetraodon.ledger.signing import public_key


@pytest.mark.usefixtures("released")
def test_the_shape_of_a_ledger(run_json: Callable[..., Any]) -> None:
    found = run_json("ledger", "show", "people")
    assert set(found) == {"ledger", "datasets"}
    (account,) = found["datasets"]
    assert set(account) == {
        "dataset",
        "total",
        "delta",
        "asked",
        "charged",
        "left",
        "policy_sha256",
        "opened",
        "policy",
        "entries",
        "refusals",
        "waves",
        "corrections",
        "allotments",
    }
    assert (account["total"], account["asked"], account["charged"], account["left"]) == ("3", "1", "1", "2")
    (entry,) = account["entries"]
    assert set(entry) == {
        "id",
        "wave",
        "owner",
        "when",
        "asked",
        "charged",
        "delta",
        "rho",
        "composition",
        "state",
        "settled",
        "release_sha256",
        "items",
    }
    assert entry["items"] == ["ages", "losses", "sexes", "spent"]
    assert set(run_json("ledger", "open", "people.policy.yaml", "--total", "3")) == {
        "ledger",
        "key",
        "dataset",
        "total",
        "delta",
        "charged",
        "left",
        "policy_sha256",
        "opened",
    }


def test_terms_are_set_once(run: Run) -> None:
    run("ledger", "open", "people.policy.yaml")
    run("ledger", "open", "people.policy.yaml", "--total", "1.0")
    assert "another total" in run("ledger", "open", "people.policy.yaml", "--total", "1.1", code=1).stderr


def test_a_path_a_url_or_the_environment(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("ledger", "open", "people.policy.yaml", "--ledger", "one.db")
    run("ledger", "open", "people.policy.yaml", "--ledger", "sqlite:///two.db")
    monkeypatch.setenv("TETRAODON_LEDGER", str(place / "three.db"))
    run("ledger", "open", "people.policy.yaml")
    assert {path.name for path in place.glob("*.db")} == {"one.db", "two.db", "three.db"}
    assert "people" in run("ledger", "show").stdout


def test_a_password_is_never_shown(run: Run) -> None:
    url = "postgresql://ann:hunter2@localhost:1/budget"
    for command in (["ledger", "show"], ["ledger", "open", "people.policy.yaml"]):
        assert "hunter2" not in run(*command, "--ledger", url, code=1).output


def test_a_data_set_that_was_never_opened(run: Run) -> None:
    run("ledger", "open", "people.policy.yaml")
    assert "did you mean 'people'?" in run("ledger", "show", "peeple", code=1).stderr
    Path("other.yaml").write_text(POLICY.replace("dataset: people", "dataset: others"))
    assert "was never opened" in run("release", "other.yaml", "people.csv", code=1).stderr


def test_an_exhausted_budget(run: Run, run_json: Callable[..., Any]) -> None:
    run("ledger", "open", "people.policy.yaml")
    run("release", "people.policy.yaml", "people.csv", "--out", "first")
    error = run_json("release", "people.policy.yaml", "people.csv", "--out", "second", code=1)["error"]
    assert error["type"] == "BudgetExhausted"
    assert "0 left of 1" in error["what"]
    assert not Path("second").exists()


def test_a_ledger_with_nothing_in_it_yet(run: Run) -> None:
    run("ledger", "open", "people.policy.yaml")
    shown = run("ledger", "show").stdout
    assert "people" in shown
    assert "Releases of" not in shown


def test_a_data_set_may_be_opened_with_a_delta(run_json: Callable[..., Any], tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    account = run_json(
        "ledger", "open", "people.policy.yaml", "--total", "3", "--delta", "1e-6", "--ledger", str(other)
    )
    assert (account["total"], account["delta"]) == ("3", "0.000001")


# -- allot command -----------------------------------------------------------------------------------
# Allotments by command: set, listed with what is left of each, spent by their owners, and never above the total.


@pytest.mark.usefixtures("released")
def test_an_owner_spends_their_allotment_and_no_more(run: Run, place: Path, run_json: Callable[..., Any]) -> None:
    def ask(out: str, code: int = 0) -> Any:
        return run("release", "people.policy.yaml", "people.csv", "--owner", "ann", "--out", out, "--json", code=code)

    refused = json.loads(ask("none", 1).stdout)["error"]
    assert "nothing of data set 'people' is allotted to 'ann'" in refused["what"]
    run("ledger", "allot", "people", "ann", "1.5")
    ask("first")
    (one,) = run_json("ledger", "show")["datasets"][0]["allotments"]
    assert (one["amount"], one["spent"], one["left"]) == ("1.5", "1", "0.5")
    assert json.loads(ask("second", 1).stdout)["error"]["type"] == "BudgetExhausted"
    assert not (place / "second").exists()
    assert [e["owner"] for e in run_json("ledger", "show")["datasets"][0]["entries"]] == [None, "ann"]
    assert "ann" in run("ledger", "show").stdout
    run("ledger", "allot", "people", "ann", "0")
    assert run_json("ledger", "show")["datasets"][0]["allotments"][0]["left"] == "0"


@pytest.mark.usefixtures("released")
def test_what_cannot_be_allotted_or_granted(run: Run) -> None:
    run("ledger", "allot", "people", "ann", "--", "-1", code=2)
    run("ledger", "allot", "people", "ann", "much", code=2)
    run("ledger", "allot", "people", "ann", "1", "--until", "soon", code=2)
    run("ledger", "allot", "nobody", "ann", "1", code=1)
    run("ledger", "allot", "people", " ", "1", code=1)
    assert "a file has no roles" in run("ledger", "grant", "analysts", code=1).stderr


# -- allotments in words -----------------------------------------------------------------------------
# What is allotted to whom is listed with what is left of it, which the total may make less.

KEYS = {"owner", "amount", "spent", "left", "expires", "when"}


@pytest.mark.usefixtures("released")
def test_what_is_allotted_is_listed_with_what_is_left(run: Run, run_json: Callable[..., Any]) -> None:
    assert "Allotments" not in run("ledger", "show").stdout
    made = run_json("ledger", "allot", "people", "ann", "0.5", "--until", "2999-01-01")
    assert set(made) == {"ledger", "dataset", *KEYS}
    assert (made["dataset"], made["amount"], made["spent"], made["left"]) == ("people", "0.5", "0", "0.5")
    assert made["expires"] == "2999-01-01T00:00:00.000000+00:00"
    told = run("ledger", "allot", "people", "bob", "100").stdout
    assert "bob may spend epsilon 100 of people in all; 2 now." in told  # the total wins
    run("ledger", "allot", "people", "cat", "1", "--until", "2020-01-01T12:00:00+02:00")
    (account,) = run_json("ledger", "show")["datasets"]
    assert [set(one) for one in account["allotments"]] == [KEYS] * 3
    assert [(one["owner"], one["left"]) for one in account["allotments"]] == [
        ("ann", "0.5"),
        ("bob", "2"),
        ("cat", "0"),
    ]
    shown = " ".join(run("ledger", "show", "people").stdout.split())
    assert "Allotments of people" in shown
    assert "ann 0.5 0 0.5 2999-01-01 00:00" in shown
    assert "bob 100 0 2 no end" in shown


# -- audit command -----------------------------------------------------------------------------------
# The audit in words and in JSON, and what a noted hash or a release adds to it.


@pytest.mark.usefixtures("released")
def test_a_ledger_that_holds(run: Run, run_json: Callable[..., Any]) -> None:
    found = run_json("ledger", "audit")
    assert set(found) == {"ledger", "holds", "records", "last_hash", "problems"}
    assert (found["holds"], found["records"], found["problems"]) == (True, 4, [])
    told = run("ledger", "audit", "--after", found["last_hash"])
    assert told.exit_code == 0
    assert "is what its chain says: 4 records" in told.stdout
    assert found["last_hash"] in told.stdout


@pytest.mark.usefixtures("released")
def test_what_was_changed_or_rolled_back_is_told(run: Run, place: Path) -> None:
    told = run("ledger", "audit", "--after", "ab" * 32, code=1)
    assert "is not in the chain" in " ".join(told.stdout.split())
    raw = sqlite3.connect(place / "tetraodon.db")
    raw.execute("DROP TRIGGER entries_fix")
    raw.execute("UPDATE entries SET charged = '0'")
    raw.commit()
    raw.close()
    told = run("ledger", "audit", code=1)
    assert "NOT what it was" in told.stdout
    assert "entry 1" in told.stdout


@pytest.mark.usefixtures("released")
def test_a_release_is_compared(run: Run, place: Path, run_json: Callable[..., Any]) -> None:
    from tetraodon.ledger import Ledger

    chained = Ledger(place / "tetraodon.db").audit().charges[1]
    folder = place / "stated"
    folder.mkdir()
    for entry, told in (
        ({"entry": 1, "chain": chained}, "settled with"),
        ({"entry": 1, "chain": "ff" * 32}, "another ledger paid"),
        ({"entry": 7, "chain": chained}, "another ledger paid"),
        ({"entry": [], "chain": {}}, "another ledger paid"),
    ):
        (folder / "release.json").write_text(json.dumps({"ledger": entry}))
        result = run("ledger", "audit", "--json", "--release", "stated", code=1)
        assert told in json.loads(result.stdout)["problems"][0]
    for content in ("", "[]", "{}", '{"ledger": 3}', "[" * 99999):
        (folder / "release.json").write_text(content)
        run("ledger", "audit", "--release", "stated", code=2)
    run("ledger", "audit", "--release", "nowhere", code=2)
    assert run_json("ledger", "audit")["holds"]


@pytest.mark.usefixtures("released")
def test_the_hash_in_a_report_shows_that_an_older_ledger_was_put_back(
    run: Run, place: Path, run_json: Callable[..., Any]
) -> None:
    older = (place / "tetraodon.db").read_bytes()
    run("release", "people.policy.yaml", "people.csv", "--out", "second")
    text = re.sub("<[^>]+>", " ", (place / "second" / "report.html").read_text(encoding="utf-8"))
    (noted,) = re.findall(r"has the hash ([0-9a-f]{64}) in the ledger", " ".join(text.split()))
    assert noted == json.loads((place / "second" / "release.json").read_text())["ledger"]["chain"]
    run("verify", "second")
    assert run_json("ledger", "audit", "--after", noted, "--release", "second")["holds"]
    (place / "tetraodon.db").write_bytes(older)
    assert run_json("ledger", "audit", "--release", "release")["holds"]  # by itself nothing is amiss with it
    for option in (("--after", noted), ("--release", "second")):
        (told,) = run_json("ledger", "audit", *option, code=1)["problems"]
        assert "is not in the chain: the ledger is older than" in told


# -- correct command ---------------------------------------------------------------------------------
# A mistyped total is corrected by a confirmed command while nothing is released, and both stay on record.


def test_it_is_told_first_and_done_when_confirmed(run: Run, run_json: Callable[..., Any]) -> None:
    run("ledger", "open", "people.policy.yaml", "--total", "30")
    told = run("ledger", "correct", "people", "--total", "3", code=1).stderr
    assert "the total of people would become 3, and is 30. Fix: if that is right, add --confirm people" in told
    assert run_json("ledger", "show")["datasets"][0]["total"] == "30"
    run("ledger", "correct", "people", "--total", "3", "--confirm", "peeple", code=1)
    assert "is 3 now; it was 30" in " ".join(
        run("ledger", "correct", "people", "--total", "3", "--confirm", "people").stdout.split()
    )
    (account,) = run_json("ledger", "show")["datasets"]
    assert account["total"] == "3"
    assert [(one["total"], one["delta"]) for one in account["corrections"]] == [("3", "0")]
    assert "people: its total was corrected to 3 on" in run("ledger", "show").stdout
    assert run_json("ledger", "audit")["holds"]


def test_what_was_released_from_keeps_its_total(run: Run, run_json: Callable[..., Any]) -> None:
    run("ledger", "open", "people.policy.yaml", "--total", "3")
    found = run_json("ledger", "correct", "people", "--delta", "1e-6", "--confirm", "people")
    assert (found["total"], found["delta"], len(found["corrections"])) == ("3", "0.000001", 1)
    run("release", "people.policy.yaml", "people.csv")
    error = run_json("ledger", "correct", "people", "--total", "9", "--confirm", "people", code=1)["error"]
    assert (error["type"], error["what"]) == ("LedgerError", "'people' was released from already, so its total stands")


def test_nothing_to_correct_is_wrong_use(run: Run) -> None:
    run("ledger", "open", "people.policy.yaml")
    assert "give --total, or --delta" in run("ledger", "correct", "people", code=2).stderr


def test_waves_of_a_population(run: Run, run_json: Callable[..., Any]) -> None:
    for wave in ("jan", "feb"):
        text = POLICY.replace("dataset: people", f"dataset: {wave}\npopulation: panel").replace(
            "epsilon: 1", "epsilon: 0.5"
        )
        Path(f"{wave}.yaml").write_text(text)
    told = " ".join(run("ledger", "open", "jan.yaml", "--total", "2").stdout.split())
    assert "panel is open" in told
    assert "jan and every other data set that names it share this total" in told
    assert "to panel; 1.5 left" in run("release", "jan.yaml", "people.csv", "--out", "one").stdout
    assert "has epsilon 1.5 left of 2" in " ".join(run("plan", "feb.yaml").stdout.split())
    run("release", "feb.yaml", "people.csv", "--out", "two")
    run("release", "feb.yaml", "people.csv", "--out", "three")
    run("verify", "two")
    run("ledger", "audit", "--release", "two")
    (account,) = run_json("ledger", "show", "feb")["datasets"]
    assert (account["dataset"], account["charged"]) == ("panel", "1.5")
    assert account["waves"] == [
        {"dataset": "jan", "releases": 1, "asked": "0.5", "charged": "0.5"},
        {"dataset": "feb", "releases": 2, "asked": "1", "charged": "1"},
    ]
    assert [entry["wave"] for entry in account["entries"]] == ["jan", "feb", "feb"]
    shown = run("ledger", "show").stdout
    assert "Waves of the population panel" in shown


# -- key command -------------------------------------------------------------------------------------


def test_the_key_can_go_to_a_file(run: Run, run_json: Callable[..., Any], place: Path) -> None:
    opened = run_json("ledger", "open", "people.policy.yaml")
    found = run_json("ledger", "key")
    assert set(found) == {"ledger", "fingerprint", "public_key", "pem", "signs", "why_not", "earlier"}
    assert (found["fingerprint"], found["signs"], found["earlier"]) == (opened["key"], True, [])
    told = run("ledger", "key")
    assert public_key(told.stdout).fingerprint == found["fingerprint"]
    assert found["fingerprint"][:4] + " " in told.stderr
    assert (place / "tetraodon.key").stat().st_mode & 0o777 == 0o600


def test_a_lost_key_is_told_and_replaced(run: Run, run_json: Callable[..., Any], place: Path) -> None:
    old = run_json("ledger", "open", "people.policy.yaml")["key"]
    run("ledger", "key", "--new", code=1)
    (place / "tetraodon.key").unlink()
    assert "NOT signed" in run("ledger", "key").stdout
    assert "not there" in run_json("ledger", "key")["why_not"]
    found = run_json("ledger", "key", "--new")
    assert (found["earlier"], found["signs"], found["fingerprint"] != old) == ([old], True, True)


def test_without_a_ledger_there_is_no_key(run: Run) -> None:
    run("ledger", "key", code=1)


# -- reprice command ---------------------------------------------------------------------------------

AGES = """
dataset: small
presence: public
attributes: {age: {integer: [0, 9]}}
secrets: {age: {within: 1}}
budget: {epsilon: 1}
release: [{name: ages, histogram: age}]
"""


@pytest.fixture
def book(tmp_path: Path) -> str:
    (tmp_path / "first.yaml").write_text(AGES)
    (tmp_path / "other.yaml").write_text(AGES + "known: [{count: age <= 4}]\n")
    policy = td.load_policy(tmp_path / "first.yaml")
    path = tmp_path / "ledger.db"
    with td.Ledger(path) as ledger:
        ledger.open("small", 2, policy.document)
    return str(path)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["ledger", "reprice", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_before_any_release(book: str, tmp_path: Path) -> None:
    assert "Nothing has been released" in run("--policy", str(tmp_path / "other.yaml"), "--ledger", book)


def test_a_count_that_has_become_known_multiplies_the_price(book: str, tmp_path: Path) -> None:
    import polars as pl

    policy = td.load_policy(tmp_path / "first.yaml")
    with td.Ledger(book) as ledger:
        td.release(td.plan(policy), pl.DataFrame({"age": [1, 2, 7]}), ledger=ledger)
    told = run("--policy", str(tmp_path / "other.yaml"), "--ledger", book)
    assert "charged 1, and under this policy it has lost 8" in " ".join(told.split())
    document = json.loads(run("--policy", str(tmp_path / "other.yaml"), "--ledger", book, "--json"))
    assert (document["charged"], document["repriced"], document["added_up"]) == ("1", "8", "8")
    assert document["releases"][0]["items"] == ["ages"]
