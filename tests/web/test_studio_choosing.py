"""The questions that lead to a policy: how much may be learnt, how much the decision needs, and both side by side."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from tests.web.studio_fixtures import POLICY, Visitor

import tetraodon as td
from tetraodon.errors import PolicyError
from tetraodon.policy.words import odds
from tetraodon.web.studio_figures import BeliefAllowed, needed


@pytest.mark.parametrize("before", [Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2)])
@pytest.mark.parametrize("after", [Fraction(51, 100), Fraction(9, 10), Fraction(999, 1000)])
@pytest.mark.parametrize(("steps", "releases"), [(1, 1), (3, 1), (2, 7)])
def test_what_is_allowed_keeps_the_belief_and_a_little_more_does_not(
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


def test_what_errors_need_is_what_a_plan_says() -> None:
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
