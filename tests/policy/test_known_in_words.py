"""Known facts in words, and a promise that then speaks of single steps only."""

from __future__ import annotations

import re

import tetraodon as td
from tetraodon.policy.known_in_words import fact_in_words

POLICY = {
    "dataset": "d",
    "attributes": {"sex": ["F", "M"], "age": {"integer": [0, 99]}},
    "secrets": {"age": {"within": 5}},
    "together": "one attribute at a time",
    "known": [
        {"count": "all"},
        {"count": "sex = 'F'"},
        {"marginal": ["sex", "age"], "bins": {"age": [[0, 17], [18, 99]]}},
        {"rectangle": {"age": [10, 20]}},
    ],
    "budget": {"epsilon": 1},
}


def test_every_kind_of_fact() -> None:
    policy = td.load_policy(POLICY)
    assert [fact_in_words(entry.fact, policy.domain) for entry in policy.known] == [
        "how many records there are",
        "how many records satisfy sex = 'F'",
        "the exact table by sex and groups of age",
        "how many records have age 10 to 20",
    ]


def test_only_single_steps_are_bounded() -> None:
    for presence in ("public", "secret"):
        told = td.explain(td.load_policy({**POLICY, "presence": presence}))
        assert "Everybody is taken to know the exact table by sex and groups of age." in told.text
        assert {example.steps for example in told.examples} <= {None, 1}
        assert not re.search(r"two steps|more step|odds multiply|two values that two", told.text)
        assert "No other exact figure" in " ".join(told.text.split())
    nothing = td.explain(td.load_policy({**POLICY, "known": []}))
    assert "known already" not in nothing.text
