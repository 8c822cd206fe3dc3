"""Figures of a text: what it promises and costs, and releases that could come out of it, as numbers to draw."""

from __future__ import annotations

from fractions import Fraction

from tests.web.studio_fixtures import POLICY, Visitor

import tetraodon as td
from tetraodon.web.studio_figures import MOST_POINTS, figures, guessers


def test_figures_are_those_of_the_plan(visitor: Visitor) -> None:
    found = visitor.json("/figures?epsilon=0.5")
    plan = td.plan(POLICY, epsilon="0.5")
    assert [(item["name"], item["error"], item["plain"]) for item in found["items"]] == [
        (item.name, item.expected_error, item.baseline_error) for item in plan
    ]
    assert (found["guessers"], found["odds"]) == (63, "1.65")
    assert visitor.studio.editor.text == POLICY


def test_of_a_hundred_guessers_at_most_so_many_are_right() -> None:
    assert [guessers(Fraction(epsilon)) for epsilon in ("0.001", "1/2", "1", "3", "50")] == [51, 63, 74, 96, 100]


def test_what_cannot_be_planned_says_why_and_has_no_figures() -> None:
    found = figures(POLICY.replace("epsilon: 1", "epsilon: 0"))
    assert (found["items"], found["epsilon"]) == ([], None)
    assert "Fix:" in found["problem"]
    assert figures(POLICY.partition("release:")[0]) == {"items": [], "problem": "", "epsilon": None}


def test_of_long_answers_some_numbers_are_drawn_and_all_lines_are_equally_long(visitor: Visitor) -> None:
    long = POLICY.replace("[20, 59]", "[0, 9999]").replace("histogram: age", "cdf: age")
    assert visitor.send("text", text=long)[0] == 303
    ages, sexes = visitor.json("/simulate?people=500&shape=flat")["items"]
    for item in (ages, sexes):
        assert len(item["releases"]) == 3
        assert {len(line) for line in item["releases"]} == {len(item["truth"])}
    assert MOST_POINTS // 2 <= len(ages["truth"]) <= MOST_POINTS
    assert sexes["truth"] == [250, 250]
    assert sexes["releases"] == [[250, 250]] * 3  # it is public, and exact


def test_quantiles_are_drawn_as_quantiles(visitor: Visitor) -> None:
    asked = POLICY.replace("- {name: sexes, histogram: sex}", "- {name: middle, median: age, by: sex}")
    assert visitor.send("text", text=asked)[0] == 303
    (item,) = (item for item in visitor.json("/simulate?people=4000&shape=flat")["items"] if item["name"] == "middle")
    assert len(item["truth"]) == 2
    assert all(20 <= value <= 59 for line in (item["truth"], *item["releases"]) for value in line)
