"""What the secrets of an attribute say, as sentences that the graph implies and nothing more."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from tests.policy.mistakes import small

from tetraodon.exact.zcdp import rho_at
from tetraodon.policy.explain import explain
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy
from tetraodon.policy.promise_words import forgiven, people, secret_sentences, shown_epsilon
from tetraodon.policy.promise_words import said as filled_in

NUMBER = {"integer": [0, 9]}


def said(form: object, secret: object, **more: object) -> str:
    document = {
        "dataset": "d",
        "presence": "public",
        "attributes": {"a": form, "b": {"real": [0, 30], "step": 10}},
        "secrets": {} if secret is None else {"a": secret},
        "budget": {"epsilon": 1},
        **more,
    }
    policy = load_policy(document)
    return " ".join(secret_sentences(policy, policy.graph.factors[0]))


@pytest.mark.parametrize(
    ("form", "secret", "words"),
    [
        (NUMBER, None, "Any two values of a are a secret: one step apart."),
        (NUMBER, {"within": 9}, "Any two values of a are a secret: one step apart."),
        (NUMBER, {"blocks": [[0, 9]]}, "Any two values of a are a secret: one step apart."),
        (["x", "y"], {"pairs": [["x", "y"]]}, "Any two values of a are a secret: one step apart."),
        (["x"], "public", "a has a single value: there is nothing to tell apart."),
        (["x", "y"], "public", "a is not protected: anyone may learn it from a release."),
        (["x", "y"], {"blocks": [["x"], ["y"]]}, "a is not protected: anyone may learn it from a release."),
        (
            NUMBER,
            {"within": 2.5},
            "at most 2 apart are a secret: one step apart. Values further apart are protected less",
        ),
        (NUMBER, {"blocks": [[0, 3], [4, 9]]}, "The blocks are: 0 to 3; 4 to 9. Which of the blocks a person is in is"),
        (["x", "y", "z"], {"blocks": [["x", "z"], ["y"]]}, "The blocks are: x and z; y."),
        (NUMBER, {"blocks": [[n, n] for n in range(8)] + [[8, 9]]}, "; and 1 more."),
        (NUMBER, {"pairs": [[0, 1], [1, 3]]}, "one step apart: 0 and 1; 1 and 3. Two values joined by a chain"),
        (NUMBER, {"pairs": [[n, n + 1] for n in range(9)]}, "; and 1 more."),
        ({"ordered": ["l", "m", "h"]}, {"within": 1}, "that are at most 1 rank apart"),
        ({"date": ["2020-01-01", "2020-12-31"]}, {"within": 7}, "that are at most 7 days apart"),
    ],
)
def test_what_is_said(form: object, secret: object, words: str) -> None:
    assert words in said(form, secret)


@pytest.mark.parametrize("secret", [{"within": 2}, {"blocks": [[0, 3], [4, 9]]}, {"pairs": [[0, 1]]}, "public"])
def test_presence_leaves_nothing_unprotected(secret: object) -> None:
    words = said(NUMBER, secret, presence="secret")
    assert "two steps apart, because it is a secret whether a person is in the data" in words
    assert "not protected" not in words
    keyed = said(NUMBER, secret, individuals={"key": "k", "at most": 2})
    assert "because it is a secret how many rows a person has" in keyed


def test_a_joint_metric() -> None:
    together = {"metric": "l2", "over": ["a", "b"], "within": 3}
    words = said(NUMBER, None, together=together)
    assert "a and b are measured together. Two points at most 3 apart in the l2 metric are a secret" in words
    assert "No step changes b, whose grid is wider than that: b is not protected." in words
    hidden = said(NUMBER, None, together=together, presence="secret")
    assert "not protected" not in hidden


def policy(**budget: object) -> Policy:
    return load_policy({"dataset": "d", "attributes": {"a": {"integer": [0, 9]}}, "budget": budget})


def passed(policy: Policy) -> str:
    (told,) = filled_in("forgiven", policy, *forgiven(policy))
    return told


def test_the_numbers_are_those_of_the_budget() -> None:
    told = passed(policy(epsilon=1, delta="1e-6"))
    assert "1 in 1,000,000" in told
    assert "1 in 500,000" in told
    assert "1 in 268,941" in told  # 1 / (1e-6 (1 + e))
    assert told in explain(policy(epsilon=1, delta="1e-6")).parts[0].sentences
    assert "delta" not in " ".join(explain(policy(epsilon=1)).parts[0].sentences).lower()


def test_a_budget_in_zcdp_says_so() -> None:
    found = policy(rho="0.5")
    assert "rho 0.5 in zCDP" in passed(found)
    assert shown_epsilon(found.epsilon) == "5.222"
    assert shown_epsilon(Fraction(1, 10)) == "0.1"


def test_odds_twice_as_far_come_up_as_seldom_as_is_said() -> None:
    """Gaussian noise at the rho that the budget allows: the loss is normal with mean rho and variance 2 rho."""
    for epsilon in (0.1, 1.0, 5.0):
        rho = float(rho_at(Fraction(str(epsilon)), Fraction(1, 10**6)))
        far = (epsilon + math.log(2) - rho) / math.sqrt(2 * rho)
        assert math.erfc(far / math.sqrt(2)) / 2 <= 2e-6


def test_those_with_a_rule_come_first_and_the_rest_are_everybody_else() -> None:
    groups = {"by": "c", "rules": {"c": "none", "b": {"secrets": {"x": {"within": 2}}}}}
    policy = load_policy(small(secrets={"c": "public"}, groups=groups))
    found = people(policy)
    assert [(own.whom, own.by, own.codes) for own in found] == [
        ("people whose c is b", "c", (1,)),
        ("people whose c is c", "c", (2,)),
        ("everybody else", "c", (0,)),
    ]
    assert [own.policy.graph.has_edges for own in found] == [True, False, True]
    assert all(own.policy.graph == policy.graph.of_group(own.codes[0]) for own in found)
    assert found[1].one == (0, 0, 2, 0, 0, 0)


def test_groups_that_share_their_secrets_are_told_together() -> None:
    policy = load_policy(small(secrets={"c": "public"}, groups={"by": "c", "rules": {"a": "none", "b": "none"}}))
    assert [own.whom for own in people(policy)] == ["people whose c is a or b", "everybody else"]
