"""What `plan` says of errors that are wanted."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import POLICY, Run

import tetraodon as td
from tetraodon.cli.plan_words import no_protection, percent, target_document, targets_in_words
from tetraodon.releases.least_epsilon import wanted_of


def flat(run: Run, *arguments: str, code: int = 0) -> str:
    return " ".join(run(*arguments, code=code).output.split())


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
