"""Sentences for every kind of secret."""

from __future__ import annotations

import pytest

from tetraodon.policy.load import load_policy
from tetraodon.policy.secrets_in_words import secret_sentences

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
