"""Figures of the studio: errors, odds, beliefs, locked cells, attacks."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from tests.web.studio_fixtures import POLICY, Visitor

import tetraodon as td
from tetraodon.attacks.gallery import find
from tetraodon.errors import PolicyError, QueryError
from tetraodon.policy.explain import odds
from tetraodon.web.studio_figures import (
    MOST_COLUMNS,
    MOST_POINTS,
    BeliefAllowed,
    figures,
    fitting_attacks,
    guessers,
    household,
    locked_cells,
    needed,
    played,
)


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


def test_a_file_that_cannot_be_planned_has_a_reason_and_no_figures() -> None:
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


# -- studio choosing -------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2)])
@pytest.mark.parametrize("after", [Fraction(51, 100), Fraction(9, 10), Fraction(999, 1000)])
@pytest.mark.parametrize(("steps", "releases"), [(1, 1), (3, 1), (2, 7)])
def test_the_allowed_epsilon_keeps_the_belief_and_a_little_more_does_not(
    before: Fraction, after: Fraction, steps: int, releases: int
) -> None:
    belief = BeliefAllowed(before, after, steps, releases)
    epsilon = Fraction(belief.allowed_text)
    assert epsilon == Fraction(belief.allowed)
    a_bit = Fraction(Decimal(1).scaleb(belief.allowed.adjusted() - 2))

    def believed(epsilon: Fraction) -> Fraction:
        grown = before / (1 - before) * Fraction(odds(epsilon, steps * releases))
        return grown / (1 + grown)

    assert before < believed(epsilon) <= after < believed(epsilon + a_bit)


def test_beliefs_that_do_not_grow_are_refused() -> None:
    for said in (("50", "50", "1", "1"), ("0", "50", "", ""), ("10", "100", "", ""), ("10", "20", "0", "1")):
        with pytest.raises(PolicyError):
            BeliefAllowed.read(*said)
    for said in (("ten", "50", "", ""), ("10", "50", "1.5", ""), ("10", "50", "", "-1")):
        with pytest.raises(PolicyError):
            BeliefAllowed.read(*said)
    assert BeliefAllowed.read("10", "25", "2", "") == BeliefAllowed(Fraction(1, 10), Fraction(1, 4), 2, 1)


def test_the_epsilon_that_errors_need_is_that_of_the_plan() -> None:
    assert needed(POLICY) == {"problem": "", "needed": None}
    for error, enough in (("40", True), ("4", False)):
        text = POLICY.replace("histogram: age}", f"histogram: age, error: {error}}}")
        found = needed(text)
        least = td.plan_for_error(text)
        assert (found["needed"], found["driven"]) == (str(float(least.policy.epsilon)), ["ages"])
        assert found["enough"] is enough is (least.policy.epsilon <= 1)
    assert needed("dataset: [")["problem"]
    assert needed(POLICY.replace("histogram: age}", "mean: age, error: 1}"))["problem"]  # of how many records?


def test_every_answer_is_a_change_with_its_reason(visitor: Visitor) -> None:
    sent = (
        ("secret", {"name": "age", "secret": "everything", "reason": "they might lose their job"}),
        ("set", {"path": '["presence"]', "value": "secret", "reason": "only patients are in it"}),
        ("attackers", {"who": "groups", "column": "home", "most": "4", "reason": "families answer alike"}),
        ("target", {"path": '["release", 0]', "error": "40", "reason": "below 40 the school closes"}),
        ("belief", {"before": "10", "after": "25", "steps": "1", "releases": "2", "reason": "so agreed"}),
    )
    for form, fields in sent:
        assert visitor.send(form, back="choose", **fields) == (303, "")
    meant = POLICY
    for old, new in (
        ("  age: {within: 5}", "  # they might lose their job\n  age: everything"),
        ("presence: public", "# only patients are in it\npresence: secret"),
        ("- {name: ages, histogram: age}", "# below 40 the school closes\n- {name: ages, histogram: age, error: 40}"),
        (
            "budget: {epsilon: 1}",
            "# belief may grow from 10% to 25% between values 1 step(s) apart, after 2 such release(s)\n# so agreed\n"
            "budget: {epsilon: 0.549}",
        ),
    ):
        assert old in meant
        meant = meant.replace(old, new)
    assert visitor.studio.editor.text == meant + "# families answer alike\nattackers: [{groups: home, at most: 4}]\n"
    assert "allows epsilon 0.549" in visitor.see("/choose")


def test_published_figures_are_one_of_the_answers_and_end_chains_of_steps(visitor: Visitor) -> None:
    assert visitor.send("known", about=["sex"], reason="yearbook", back="choose")[0] == 303
    assert visitor.send("known", condition="age < 30", back="choose")[0] == 303
    assert (
        td.load_policy(visitor.studio.editor.text).known
        == td.load_policy(POLICY + "known: [{marginal: [sex]}, {count: age < 30}]\n").known
    )
    assert visitor.send("known", about=["sex"], condition="age < 30", back="choose")[0] == 400
    assert visitor.send("belief", before="10", after="25", steps="2", releases="1", back="choose")[0] == 400
    assert visitor.send("belief", before="10", after="25", steps="1", releases="1", back="choose")[0] == 303
    assert "the exact table by sex" in visitor.see("/choose")


def test_a_budget_in_zcdp_gives_way_and_a_delta_stays(visitor: Visitor) -> None:
    editor = visitor.studio.editor
    editor.replace(POLICY.replace("{epsilon: 1}", "{rho: 0.1, delta: 1e-7}"))
    assert visitor.send("belief", before="10", after="25", back="choose")[0] == 303
    assert "budget: {epsilon: 1.09, delta: 1e-7}" in editor.text
    editor.replace(POLICY.replace("{epsilon: 1}", "{epsilon: 1, delta: 1e-7}"))
    gaussian = td.plan(editor.text, epsilon="0.5")
    assert gaussian.policy.delta > 0
    found = visitor.json("/figures?epsilon=0.5")
    assert [item["error"] for item in found["items"]] == [item.expected_error for item in gaussian]


# -- studio locked cells ---------------------------------------------------------------------------


def knowing(*known: dict[str, Any]) -> td.Policy:
    return td.load_policy(
        {
            "dataset": "d",
            "presence": "public",
            "attributes": {"age": {"integer": [0, 29]}, "sex": ["F", "M"], "area": ["n", "s", "e"]},
            "budget": {"epsilon": 1},
            "known": list(known),
        }
    )


@pytest.mark.parametrize(
    ("fact", "heads", "first", "cells"),
    [
        ({"marginal": ["sex", "area"], "is": [1, 2, 3, 4, 5, 6]}, ("n", "s", "e"), ("F", ("1", "2", "3")), 6),
        ({"marginal": ["area"]}, ("n", "s", "e"), ("records", ("", "", "")), 3),
        ({"count": "age < 10", "is": 1200}, ("",), ("records", ("1,200",)), 1),
        ({"blocks": {"age": [[0, 9], [10, 29]]}}, ("0..9", "10..29"), ("records", ("", "")), 2),
        ({"rectangle": {"age": [3, 5]}}, ("",), ("records", ("",)), 1),
        ({"marginal": ["sex", "area", "age"]}, tuple("01234567"), ("F and n", ("",) * MOST_COLUMNS), 180),
    ],
)
def test_known_figures_are_drawn_as_cells(
    fact: dict[str, Any], heads: tuple[str, ...], first: tuple[str, tuple[str, ...]], cells: int
) -> None:
    policy = knowing(fact)
    drawn = locked_cells(policy.known[0], policy.domain)
    assert (drawn.heads, drawn.rows[0], drawn.cells) == (heads, first, cells)
    assert drawn.left == cells - sum(len(row) for _, row in drawn.rows)
    assert (drawn.left > 0) is (cells > 6)


def test_known_figures_are_seen_and_taken_out_by_themselves(visitor: Visitor) -> None:
    editor = visitor.studio.editor
    editor.replace(POLICY + "known:\n- {marginal: [sex]}  # yearbook\n- {count: age < 30}\n")
    page = visitor.see("/known")
    assert page.count('class="lock"') == 3
    assert page.index("Everybody is taken to know the exact table by sex: 2 locked cells") < page.index(
        "satisfy age &lt; 30: 1 locked cell."
    )
    assert visitor.send("remove", path='["known", 0]', back="known")[0] == 303
    assert editor.text == POLICY + "known:\n- {count: age < 30}\n"
    editor.replace(POLICY + "known:\n- {count: nonsense}\n")
    assert "1 known figure of the file cannot be drawn yet" in visitor.see("/known")


def test_a_household_is_drawn_with_all_its_rows(visitor: Visitor) -> None:
    assert visitor.see("/known").count("<circle") == 1
    assert visitor.send("attackers", who="groups", column="home", most="5", back="known")[0] == 303
    page = visitor.see("/known")
    assert page.count("<circle") == 5
    assert "all 5 rows of a home" in page
    assert household(td.load_policy(visitor.studio.editor.path)) == 5
    assert visitor.send("attackers", who="groups", column="home", most="500", back="known")[0] == 303
    assert "12 are drawn" in visitor.see("/known")
    assert visitor.send("attackers", who="groups", back="known")[0] == 400
    assert visitor.send("attackers", who="independent", back="known")[0] == 303
    assert household(td.load_policy(visitor.studio.editor.path)) == household(None) == 1


def test_the_fitting_attack_is_played_as_in_the_gallery(visitor: Visitor) -> None:
    assert [attack.name for attack in fitting_attacks(None)] == ["known-sums", "all-or-none"]
    story = find("all-or-none").run()
    page = visitor.see("/attack?name=all-or-none")
    assert f"{story.attacked:.3g}" in page
    assert f"{story.defended:.3g}" in page
    got, allowed, left = (share for _, _, share in played("all-or-none")["bars"])
    assert got == 100
    assert left <= allowed < got
    with pytest.raises(QueryError):
        played("nonsense")
    assert visitor.ask("GET", "/attack?name=nonsense")[0] == 400
