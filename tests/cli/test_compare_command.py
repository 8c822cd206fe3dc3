"""`tetraodon compare`: text, JSON, pictures and refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

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
def test_wrong_use(run_json: Callable[..., Any], wrong: tuple[str, ...]) -> None:
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
