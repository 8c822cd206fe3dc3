"""Comparisons of promises."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import pytest
from tests.policies import public_policy

import tetraodon as td
from tetraodon.releases.compare import compare

# -- compare ----------------------------------------------------------------------------------------
# What-if: errors are those of plans, odds those of the graph, and what buys nothing is said to buy nothing.


def policy(secret: Any = None, item: Any = None, **changes: Any) -> td.Policy:
    document: dict[str, Any] = public_policy(
        dataset="line",
        attributes={"x": {"real": [0, 50], "step": "0.5"}, "sex": ["f", "m"]},
        secrets={"x": secret or {"within": 5}, "sex": "public"},
        release=[{"name": "q", **(item or {"cdf": "x"})}],
    )
    return td.load_policy(document | changes)


def test_errors_are_those_of_the_plans() -> None:
    found = compare(policy(), theta=[0.5, 5, "full"], epsilon=["0.1", 1])
    assert len(found) == 12
    assert found.attribute == "x"
    assert found.pair == ("0", "5")
    for variant in found:
        secret = "everything" if variant.theta == "full" else {"within": variant.theta}
        alone = td.plan(policy(secret), epsilon=variant.epsilon)["q"]
        assert (variant.mechanism.name, variant.expected_error) == (alone.mechanism, alone.expected_error)
        assert variant.odds == pytest.approx(math.exp(variant.epsilon * variant.steps))


def test_steps_are_distances_in_the_graph() -> None:
    found = {v.theta: v for v in compare(policy(), theta=[0.5, 2, 5, "full"], pair=(10, 20)) if not v.matched}
    assert {theta: variant.steps for theta, variant in found.items()} == {"0.5": 20, "2": 5, "5": 2, "full": 1}
    secret = compare(policy(presence="secret"), theta=[0.5], pair=(10, 20))
    assert {variant.steps for variant in secret} == {2}  # through absence


def test_matched_guarantees_are_equal() -> None:
    matched = [v for v in compare(policy(), theta=[0.5, 2, "full"], epsilon=[1]) if v.matched]
    assert {round(variant.odds, 9) for variant in matched} == {round(math.e, 9)}
    assert [variant.epsilon for variant in matched] == [Fraction(1, 10), Fraction(1, 3), 1]
    assert {variant.budget for variant in matched} == {1}


def test_it_says_plainly_when_a_weaker_policy_buys_nothing() -> None:
    found = compare(policy(item={"histogram": ["x"]}), theta=[5, "full"])
    assert "q: theta 5 instead of full buys nothing at epsilon 1" in found.remarks[0]
    gain = compare(policy(), theta=[0.5, "full"], epsilon=[1], pair=(0, 0.5))
    assert not gain.remarks
    assert all(not v.matched or v.epsilon == 1 for v in gain)


def test_items_that_do_not_look_at_the_attribute_are_not_remarked_on() -> None:
    found = compare(policy(item={"histogram": ["sex"]}), theta=[5, "full"])
    assert not found.remarks


def test_without_a_list_the_policy_itself_is_priced() -> None:
    found = compare(policy(), epsilon=[1, 2])
    assert {variant.theta for variant in found} == {"5"}
    assert {variant.epsilon for variant in found} == {1, 2}


def test_the_attribute_can_be_named_and_must_be_clear() -> None:
    two = policy(
        attributes={"x": {"integer": [0, 9]}, "y": {"integer": [0, 9]}},
        secrets={"x": {"within": 1}, "y": {"within": 2}},
    )
    with pytest.raises(td.errors.QueryError, match="not clear"):
        compare(two, theta=[1])
    assert compare(two, theta=[1], attribute="y").attribute == "y"
    with pytest.raises(td.errors.QueryError, match="no theta of its own"):
        compare(policy(), theta=[1], attribute="sex")
    whole = policy("everything")
    assert compare(whole, theta=[1]).pair == ("0", "50")


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"theta": [0.1]}, "reaches no other"),
        ({"theta": ["wide"]}, "theta is not a finite number"),
        ({"theta": [float("nan")]}, "theta is not a finite number"),
        ({"theta": [1], "epsilon": [0]}, "not positive"),
        ({"theta": [1], "epsilon": ["much"]}, "epsilon is not a finite number"),
        ({"theta": [1], "pair": (2, 2)}, "twice"),
        ({"theta": [1], "pair": (2, 99)}, "x"),
        ({"theta": [k / 2 for k in range(1, 99)], "epsilon": [1, 2]}, "too many"),
    ],
)
def test_bad_input_is_refused(wrong: dict[str, Any], match: str) -> None:
    with pytest.raises(td.errors.TetraodonError, match=match):
        compare(policy(), **wrong)


def test_secrets_without_theta_need_a_list() -> None:
    blocks = policy({"blocks": [["0", "25"], ["25.5", "50"]]})
    with pytest.raises(td.errors.QueryError, match="no theta"):
        compare(blocks, attribute="x")
    assert compare(blocks, theta=[1], attribute="x").pair == ("0", "50")


def test_lists_numbers_and_the_words_of_the_command_line_say_the_same() -> None:
    listed = compare(policy(), theta=[1, "full"], epsilon=["0.1", 1])
    assert compare(policy(), "1,full", "0.1, 1") == listed
    assert compare(policy(), theta=1, epsilon=1) == compare(policy(), theta=[1], epsilon=[1])


def test_presence_alone_is_beside_the_others() -> None:
    alone = policy({"within": 1}, presence="secret")
    found = [variant for variant in compare(alone, theta=["none", 1, "full"]) if not variant.matched]
    assert [(variant.theta, variant.steps) for variant in found] == [("none", 2), ("1", 1), ("full", 1)]
    errors = [variant.expected_error for variant in found]
    assert errors == sorted(errors)
    assert compare(policy("public", presence="secret"), attribute="x").variants[0].theta == "none"
    with pytest.raises(td.errors.TetraodonError, match="theta"):
        compare(policy(), theta=["none"])


# -- comparison -------------------------------------------------------------------------------------
# A comparison as text, as data and as a picture.


def test_text_data_and_chart() -> None:
    found = compare(policy(), theta=[0.5, "full"])
    text = str(found)
    assert text.startswith("item  theta  epsilon  comparison ")
    assert "Odds are those between 0 and 5 of x." in text
    assert json.loads(json.dumps(found.document()))["variants"][0]["theta"] == "0.5"
    import vl_convert

    assert vl_convert.vegalite_to_svg(found.chart()).startswith("<svg")


def test_odds_beyond_all_numbers_are_not_written_as_numbers() -> None:
    far = compare(policy(), theta=[0.5], epsilon=[100], pair=(0, 50)).variants[0]
    assert far.odds == math.inf
    assert far.document()["odds"] is None
