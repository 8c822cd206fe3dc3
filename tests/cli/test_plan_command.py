"""Plans in words and in JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import POLICY, Run

import tetraodon as td
from tetraodon.cli.plan_words import no_protection, notes, pair_in_words, percent, target_document, targets_in_words
from tetraodon.domain import Attribute, Integers
from tetraodon.policy.load import load_policy
from tetraodon.query.query import Query, asked_in_words
from tetraodon.releases.codec import plan_document
from tetraodon.releases.least_epsilon import plan_for_error, wanted_of
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
            "interval_reach",
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


def flat(run: Run, *arguments: str, code: int = 0) -> str:
    return " ".join(run(*arguments, code=code).output.split())


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


# -- plan in words -----------------------------------------------------------------------------------

DOMAIN = td.load_policy(
    {
        "dataset": "d",
        "attributes": {"age": {"integer": [0, 9]}, "loss": {"integer": [0, 9], "unit": "USD"}, "sex": ["F", "M"]},
        "budget": {"epsilon": 1},
    }
).domain


@pytest.mark.parametrize(
    ("query", "words", "unit"),
    [
        (td.queries.count(), "records", "records"),
        (td.queries.count("age > 3", by=["sex"]), "records where age > 3 by sex", "records"),
        (td.queries.histogram("age", "sex"), "counts by age and sex", "records"),
        (td.queries.histogram("age", bins={"age": [[0, 4], [5, 9]]}), "counts by age in bins", "records"),
        (td.queries.cdf("age", by=["sex"]), "running counts of age by sex", "records"),
        (td.queries.ranges("age"), "all ranges of age", "records"),
        (td.queries.ranges("age", {"young": [0, 4]}), "1 range of age", "records"),
        (td.queries.ranges("age", [[0, 3], [4, 9]]), "2 ranges of age", "records"),
        (td.queries.total("loss", weight="age"), "sum of loss times age", "USD"),
        (td.queries.mean("loss"), "mean of loss", "USD (sum)"),
        (td.queries.mean("age"), "mean of age", "(sum)"),
        (td.queries.quantiles("age", at=[Fraction(1, 2)]), "median of age", "records"),
    ],
)
def test_questions(query: Query, words: str, unit: str) -> None:
    assert (asked_in_words(query), query.unit(DOMAIN)) == (words, unit)


def test_pairs() -> None:
    one, other = {"age": 1, "loss": 2, "sex": "F"}, {"age": 1, "loss": 9, "sex": "F"}
    units = {
        "loss": Attribute("loss", Integers(0, 9), missing=10, separate=True, unit="USD"),
        "age": Attribute("age", Integers(0, 9), unit="years"),
    }
    assert pair_in_words([one, other], units) == "one person's loss 2 rather than 9 USD"
    assert pair_in_words([one, one | {"loss": "missing"}], units) == "one person's loss 2 rather than missing"
    assert pair_in_words([one | {"age": 2}, one], units) == "one person's age 2 rather than 1 year"
    assert pair_in_words([one, other | {"age": 3}], {"loss": units["loss"]}) == (
        "one person with age 1, loss 2 USD rather than age 3, loss 9 USD"
    )
    assert pair_in_words(["not in the data", one]) == "a person with age 1, loss 2, sex F in the data rather than not"
    assert pair_in_words([{str(n): n for n in range(9)}, "not in the data"]).count(",") == 6


def test_it_is_said_why_counts_of_keyed_rows_are_not_exact() -> None:
    policy = {"dataset": "d", "presence": "public", "attributes": {"sex": ["F", "M"]}, "budget": {"epsilon": 1}}
    keyed = {"individuals": {"key": "id", "at most": 3}, "release": [{"name": "n", "count": "all"}]}
    told = " ".join(notes(td.plan(td.load_policy(policy | keyed)), None))
    assert "how many rows a person has, even though presence is public" in told


@pytest.mark.parametrize(
    ("budget", "many", "said"),
    [
        ({"epsilon": 1, "delta": "1e-6"}, 1, "The noise is Laplace noise: for these items its errors are smaller"),
        (
            {"epsilon": 1, "delta": "1e-6"},
            30,
            "Gaussian, whose errors are smaller for these items than those of Laplace",
        ),
        ({"rho": "1/2"}, 1, "The noise is Gaussian: the loss is rho 0.5 in zCDP"),
    ],
)
def test_which_noise_was_taken_and_why(budget: dict[str, object], many: int, said: str) -> None:
    names = [f"a{place}" for place in range(many)]
    plan = td.plan(
        {
            "dataset": "d",
            "attributes": {name: {"integer": [0, 1]} for name in names},
            "budget": budget,
            "release": [{"name": name, "histogram": name} for name in names],
        }
    )
    assert [note for note in notes(plan, None) if said in note]


# -- targets in words --------------------------------------------------------------------------------


def with_error(item: str, error: str) -> str:
    head, _, tail = POLICY.partition(f"name: {item},")
    assert tail
    return f"{head}name: {item}, error: {error},{tail}"


def test_errors_of_items(run: Run, run_json: Callable[..., Any]) -> None:
    asked = ["plan", "people.policy.yaml", "--error", "ages=30", "--error", "losses=5% from 1000"]
    told = flat(run, *asked, "--confidence", "0.9")
    assert "with 90% confidence: ages within ±30 records" in told
    assert "losses within ±50 records (±5% of answers from 1000 on)" in told
    assert "The least epsilon that keeps this is" in told
    found = run_json(*asked, "--confidence", "90%")["target"]
    assert {item["name"]: (item["allowed"], item["kept"]) for item in found["items"]} == {
        "ages": (30, True),
        "losses": (50, True),
    }
    assert (found["error"], found["confidence"]) == (None, 90)
    assert found["driven_by"]
    assert f"{found['driven_by'][0]} needs it: the others would do with less" in told


@pytest.mark.parametrize("confidence", ["90", "90%", "0.9", "9/10"])
def test_a_confidence_reads_the_same_however_it_is_written(run_json: Callable[..., Any], confidence: str) -> None:
    found = run_json("plan", "people.policy.yaml", "--error", "ages=30", "--confidence", confidence)["target"]
    assert found["confidence"] == 90


@pytest.mark.parametrize(
    "wrong",
    [
        ["--confidence", "90"],
        ["--records", "5"],
        ["--error", "ages=30", "--confidence", "1"],
        ["--error", "ages=30", "--confidence", "100"],
        ["--error", "ages=x"],
        ["--error", "age=5"],
        ["--error", "ages=5%"],
        ["--error", "5", "--epsilon", "1"],
    ],
)
def test_wrong_use(run: Run, wrong: list[str]) -> None:
    assert "Fix:" in run("plan", "people.policy.yaml", *wrong, code=2).stderr


def test_errors_in_the_file_are_told_and_hold_a_release_back(run: Run, run_json: Callable[..., Any]) -> None:
    Path("tight.yaml").write_text(with_error("ages", "2"))
    told = flat(run, "plan", "tight.yaml")
    assert "not kept at this budget, so a release is refused: ages can be off by ±" in told
    assert "and ±2 records is wanted" in told
    found = run_json("plan", "tight.yaml")["target"]
    assert [item["kept"] for item in found["items"]] == [False]
    assert found["epsilon"] > 1
    run("ledger", "open", "tight.yaml", "--total", "9")
    assert "does not keep the errors" in flat(run, "release", "tight.yaml", "people.csv", code=1)
    assert run_json("ledger", "show")["datasets"][0]["charged"] == "0"
    Path("loose.yaml").write_text(with_error("ages", "2000"))
    told = flat(run, "plan", "loose.yaml")
    assert "as close to the truth as is wanted, with 95% confidence: ages within ±2000 records." in told


def test_a_warning_where_nothing_is_protected(run: Run) -> None:
    assert "no protection worth the name" in flat(run, "plan", "people.policy.yaml", "--error", "spent=2")
    assert "no protection worth the name" not in flat(run, "plan", "people.policy.yaml", "--error", "ages=500")
    assert no_protection(Fraction(4)) == []
    (told,) = no_protection(Fraction(5))
    assert f"may be {100 / (1 + 99 * math.exp(-5)):.0f}% sure" in told
    assert "more than 99% sure" in no_protection(Fraction(10**6))[0]


def test_the_parts_one_by_one() -> None:
    policy = td.load_policy(
        {
            "dataset": "d",
            "attributes": {"x": ["a", "b"]},
            "budget": {"epsilon": 1},
            "release": [{"name": "xs", "histogram": "x"}],
        }
    )
    plan, wanted = td.plan(policy), wanted_of(policy, 50)
    assert targets_in_words(plan, wanted, None, "nobody knows.")[0].endswith("xs within ±50 records. nobody knows.")
    found = target_document(plan, wanted, None)
    assert (found["error"], found["confidence"], found["epsilon"], found["driven_by"]) == (50, 95, None, [])
    assert percent(Fraction(999, 1000)) == "99.9%"


def test_the_budget_to_write_says_whether_it_is_spent_once() -> None:
    tables = [{"name": x + y, "histogram": [x, y]} for x, y in ("ab", "bc", "ca")]
    document = {"dataset": "d", "attributes": {name: {"integer": [0, 4]} for name in "abc"}, "release": tables}
    policy = td.load_policy({**document, "budget": {"epsilon": 1, "delta": "1e-6", "once": True}})
    plan = td.plan(policy)
    told = " ".join(targets_in_words(plan, wanted_of(policy, 40), plan))
    assert "delta: 0.000001, once: true}`" in told


# -- compare command ---------------------------------------------------------------------------------

LISTS = ("--attribute", "loss", "--theta", "1,10,full", "--epsilon", "0.1,1")


def test_in_text(run: Run) -> None:
    printed = run("compare", "people.policy.yaml", *LISTS).stdout
    assert "At equal epsilon" in printed
    assert "At a matched guarantee" in printed
    assert "odds between 0 and 10 of loss" in printed
    assert "buys nothing" in printed
    assert "changes nothing for them at equal epsilon: ages, sexes" in " ".join(printed.split())


def test_items_stay_when_theta_changes_none(run: Run) -> None:
    printed = run("compare", "people.policy.yaml", "--attribute", "loss").stdout
    assert "sexes" in printed
    assert "Left out" not in printed


def test_in_json(run_json: Callable[..., Any]) -> None:
    found = run_json("compare", "people.policy.yaml", *LISTS, "--pair", "100,150")
    assert found["pair"] == ["100", "150"]
    assert {variant["theta"] for variant in found["variants"]} == {"1", "10", "full"}
    assert len(found["variants"]) == 4 * 3 * 2 * 2


@pytest.mark.parametrize("name", ["picture.svg", "picture.json"])
def test_pictures(run: Run, place: Path, name: str) -> None:
    run("compare", "people.policy.yaml", *LISTS, "--chart", name)
    text = (place / name).read_text()
    assert text.startswith("<svg") if name.endswith("svg") else "vega-lite" in json.loads(text)["$schema"]


@pytest.mark.parametrize(
    "wrong",
    [
        ("--theta", "1,,2"),
        ("--theta", "wide"),
        ("--epsilon", "much"),
        ("--pair", "3"),
        ("--theta", "1" * 10_000),
        ("--chart", "picture.png"),
        ("--attribute", "loss", "--chart", "nowhere/picture.json"),
    ],
)
def test_wrong_use_of_compare(run_json: Callable[..., Any], wrong: tuple[str, ...]) -> None:
    assert run_json("compare", "people.policy.yaml", *wrong, code=2)["error"]["fix"]


@pytest.mark.parametrize(
    "refused",
    [
        (),
        ("--attribute", "sex"),
        ("--attribute", "loss", "--theta", "0"),
        ("--attribute", "loss", "--epsilon", "0"),
        ("--attribute", "loss", "--pair", "1,900"),
        ("--attribute", "loss", "--pair", "Female,Male"),
        ("--attribute", "x" * 10_000),
    ],
)
def test_refusals(run_json: Callable[..., Any], refused: tuple[str, ...]) -> None:
    assert run_json("compare", "people.policy.yaml", *refused, code=1)["error"]["fix"]


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("", "--attribute: it is not clear which attribute theta is about. Fix: name one of: age, loss."),
        (
            "--attribute sex",
            "--attribute: sex has no theta of its own. Fix: name an ordered attribute measured by itself.",
        ),
        ("--attribute agee", "--attribute: there is no attribute 'agee'. Fix: did you mean 'age'?"),
        (
            "--attribute age --theta 0",
            "--theta: a theta reaches no other value. Fix: list distances of at least 1, or full.",
        ),
        ("--attribute age --epsilon 0", "--epsilon: an epsilon is not positive. Fix: list budgets above zero."),
        ("--attribute age --pair 30,30", "--pair: the pair is one value twice. Fix: name two different values."),
    ],
)
def test_messages_name_the_option(run: Run, typed: str, told: str) -> None:
    assert " ".join(run("compare", "people.policy.yaml", *typed.split(), code=1).stderr.split()) == f"Error: {told}"
