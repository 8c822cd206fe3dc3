"""Plans in words and in JSON."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import POLICY, Run

from tetraodon.policy.load import load_policy
from tetraodon.releases.codec import plan_document
from tetraodon.releases.least_epsilon import plan_for_error
from tetraodon.releases.plan import plan


def test_the_shape_of_a_plan(run_json: Callable[..., Any]) -> None:
    found = run_json("plan", "people.policy.yaml")
    keys = {"dataset", "budget", "delta", "epsilon", "certificate", "queries", "target", "notes", "view", "ledger"}
    assert set(found) == keys
    assert (found["dataset"], found["budget"], found["epsilon"], found["target"]) == ("people", 1, 1, None)
    assert set(found["certificate"]) == {"epsilon", "epsilon_exact", "witness", "method", "exact"}
    for query in found["queries"]:
        assert set(query) == {
            "name",
            "asked",
            "mechanism",
            "epsilon",
            "expected_error",
            "error_together",
            "unit",
            "baseline_error",
            "baseline_mechanism",
            "expected_error_if_presence_public",
            "certificate",
            "measurements",
            "table",
        }
        assert query["certificate"]["epsilon"] == query["epsilon"]


def test_it_is_the_library_s_plan(run_json: Callable[..., Any]) -> None:
    document = plan_document(plan(load_policy("people.policy.yaml")))
    found = run_json("plan", "people.policy.yaml")
    assert {key: found[key] for key in ("epsilon", "certificate")} == {
        k: document[k] for k in ("epsilon", "certificate")
    }
    for told, expected in zip(found["queries"], document["queries"], strict=True):
        assert {key: told[key] for key in expected} == expected


def test_another_budget(run_json: Callable[..., Any]) -> None:
    assert run_json("plan", "people.policy.yaml", "--epsilon", "1/3")["certificate"]["epsilon_exact"] == "1/3"


def test_an_error_finds_its_epsilon(run: Run, run_json: Callable[..., Any]) -> None:
    expected = plan_for_error(load_policy("people.policy.yaml"), 300, confidence=90)
    found = run_json("plan", "people.policy.yaml", "--error", "300", "--confidence", "90")
    assert found["epsilon"] == float(expected.epsilon)
    assert (found["target"]["error"], found["target"]["confidence"]) == (300, 90)
    told = " ".join(run("plan", "people.policy.yaml", "--error", "300").stdout.split())
    assert "Every answer is as close to the truth as is wanted, with 95% confidence: ages within ±300 records" in told
    assert "The least epsilon that keeps this is " in told
    assert "budget: {epsilon:" in told


def notes_of(run_json: Callable[..., Any], place: Path, *changes: tuple[str, str]) -> str:
    text = POLICY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (place / "other.yaml").write_text(text)
    return "\n".join(run_json("plan", "other.yaml")["notes"])


def test_what_presence_costs(run_json: Callable[..., Any], place: Path) -> None:
    told = notes_of(run_json, place, ("presence: public", "presence: secret"))
    assert "Whether a person is in the data is secret here. That costs accuracy" in told
    assert "sexes none rather than ±" in told
    assert "in the data rather than not" in told
    found = run_json("plan", "other.yaml")["queries"]
    public = run_json("plan", "people.policy.yaml")["queries"]
    assert [q["expected_error_if_presence_public"] for q in found] == [q["expected_error"] for q in public]


def test_why_items_need_not_add_up(run_json: Callable[..., Any], place: Path) -> None:
    assert "They need not add up" in notes_of(run_json, place)
    alone = POLICY.partition("release:")[2]
    assert "add up" not in notes_of(run_json, place, (alone, "\n  - {name: spent, total: loss}\n"))


def test_a_policy_that_buys_nothing(run_json: Callable[..., Any], place: Path) -> None:
    told = notes_of(
        run_json,
        place,
        (POLICY[POLICY.index("secrets:") : POLICY.index("budget:")], ""),
        (POLICY.partition("release:")[2], "\n  - {name: spent, total: loss}\n"),
    )
    assert "buys nothing over plain differential privacy" in told
    assert "stronger" in notes_of(run_json, place)


def test_a_policy_without_secrets_loses_nothing(run_json: Callable[..., Any], place: Path) -> None:
    told = notes_of(run_json, place, ("age: {within: 5}", "age: public"), ("loss: {within: 10}", "loss: public"))
    assert "loses nothing" in told
    assert told.count("is published exactly: no secret changes it.") == 4


@pytest.mark.parametrize("width", ["60", "200"])
def test_the_table_fits_any_width(run: Run, monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    monkeypatch.setenv("COLUMNS", width)
    told = run("plan", "people.policy.yaml").stdout
    assert "±" in told
    assert "counts by age" in told
    assert "The last column is the error once all items are estimated together" in " ".join(told.split())


def test_a_delta_says_which_noise_it_is(run_json: Callable[..., Any]) -> None:
    found = run_json("plan", "people.policy.yaml", "--delta", "1e-6")
    assert found["delta"] == 1e-6
    gaussian = "rho" in found["certificate"]
    assert any(("Gaussian" if gaussian else "Laplace") in note for note in found["notes"])


VIEW = """\
dataset: people
presence: public
attributes: {age: {integer: [17, 90]}, sex: [Female, Male], loss: {integer: [0, 500]}}
budget: {epsilon: 20}
adversary: {prior: {d: 0.01}, posterior: 0.5, records: 400}
"""


def flat(run: Run, *arguments: str) -> str:
    return " ".join(run(*arguments).stdout.split())


def test_without_a_ledger_a_plan_says_how_to_open_one(run: Run, run_json: Callable[..., Any], place: Path) -> None:
    assert "Whether the ledger covers it is not known yet. tetraodon.db: there is no ledger here yet. Fix: run" in flat(
        run, "plan", "people.policy.yaml"
    )
    found = run_json("plan", "people.policy.yaml")["ledger"]
    assert "no ledger here" in found.pop("why_not")
    assert set(found.values()) == {None}
    assert not (place / "tetraodon.db").exists()


@pytest.mark.usefixtures("released")
def test_a_plan_that_fits_and_one_that_does_not(run: Run, run_json: Callable[..., Any]) -> None:
    told = flat(run, "plan", "people.policy.yaml")
    assert "It fits the ledger tetraodon.db: people has epsilon 2 left of 3, and this would be charged 1." in told
    assert run_json("plan", "people.policy.yaml")["ledger"] == {
        "ledger": "tetraodon.db",
        "total": "3",
        "left": "2",
        "charge": "1",
        "fits": True,
        "why_not": None,
    }
    told = flat(run, "plan", "people.policy.yaml", "--epsilon", "2.5")
    assert "would refuse this: this release costs epsilon 2.5, and data set 'people' has 2 left of 3. Fix:" in told
    found = run_json("plan", "people.policy.yaml", "--epsilon", "2.5")["ledger"]
    assert (found["charge"], found["fits"]) == ("2.5", False)


@pytest.mark.usefixtures("released")
def test_the_governing_policy_decides(run: Run, run_json: Callable[..., Any], place: Path) -> None:
    (place / "weak.yaml").write_text(POLICY.replace("loss: {within: 10}", "loss: {within: 5}"))
    assert "under the policy that governs the data, which `tetraodon ledger show" in flat(run, "plan", "weak.yaml")
    (place / "none.yaml").write_text(POLICY.replace("loss: {within: 10}", "loss: public"))
    found = run_json("plan", "none.yaml")["ledger"]
    assert (found["charge"], found["fits"]) == (None, False)
    assert "protects something that this release would tell for certain" in found["why_not"]


@pytest.mark.usefixtures("released")
def test_views(run: Run, run_json: Callable[..., Any], place: Path) -> None:
    (place / "view.yaml").write_text(VIEW)
    assert "The ledger tetraodon.db would refuse this: this release costs epsilon" in flat(run, "plan", "view.yaml")
    (place / "both.yaml").write_text(POLICY.replace("epsilon: 1", "epsilon: 20") + VIEW.splitlines()[-1] + "\n")
    found = run_json("plan", "both.yaml")
    assert set(found["view"]["ledger"]) == set(found["ledger"])
    assert not found["view"]["ledger"]["fits"]
