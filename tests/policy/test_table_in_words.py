"""What a policy says of the table, in sentences: several rows per person, values that do not belong, known figures."""

from __future__ import annotations

import re

import pytest

import tetraodon as td
from tetraodon.policy.explain import explain
from tetraodon.policy.load import load_policy
from tetraodon.policy.promise_words import fact_in_words, known_in_words, said


def keyed(most: int, **changed: object) -> td.Policy:
    attributes = {"x": {"integer": [0, 9]}, "y": ["a", "b"]}
    person = {"key": "person", "at most": most}
    return td.load_policy(
        {"dataset": "d", "individuals": person, "attributes": attributes, "budget": {"epsilon": 1}, **changed}
    )


@pytest.mark.parametrize(
    ("changed", "cut"),
    [
        ({}, True),
        ({"secrets": {"x": {"within": 9}}}, True),
        ({"secrets": {"x": {"within": 8}}}, False),
        ({"secrets": {"y": "public"}}, False),
        ({"together": "one attribute at a time"}, False),
        ({"together": {"at most": 2}}, True),
    ],
)
def test_people_with_more_rows_are_left_out_unless_any_two_records_are_a_secret(
    changed: dict[str, object], cut: bool
) -> None:
    policy = keyed(3, **changed)
    assert policy.cuts_rows is cut
    (told,) = said("whose_rows", policy, "3 rows")
    assert ("only that many are used" in told) is cut
    assert ("is left out with all of them" in told) is not cut
    assert told in td.explain(policy).text.replace("\n", " ")


def test_a_step_and_its_cost() -> None:
    assert "up to 3 rows" in said("rows_in_a_step", keyed(3))[0]
    assert "3 times that of one row" in said("cost_of_rows", keyed(3))[0]
    assert said("cost_of_rows", keyed(1)) == ()


def test_values_outside_are_refused_or_clamped_and_not_both() -> None:
    view = {**POLICY, "adversary": {"prior": {"d": "0.1"}, "posterior": 0.5}}
    alone = explain(load_policy(view)).text
    assert "a table with a value beyond the ends is refused" in alone
    assert "nearer end" not in alone
    both = " ".join(explain(load_policy({**view, "release": [{"name": "ages", "histogram": "age"}]})).text.split())
    assert "This is how a release reads them." in both
    assert "nearer end" in both


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


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        ({"at least": 1}, "that at least 1 record satisfies x = 3"),
        ({"at most": 100}, "that at most 100 records satisfy x = 3"),
        ({"at least": 1, "at most": 2}, "that at least 1 and at most 2 records satisfy x = 3"),
    ],
)
def test_one_record_is_not_several(ends: dict[str, int], told: str) -> None:
    policy = td.load_policy(
        {
            "dataset": "d",
            "attributes": {"x": {"integer": [0, 9]}},
            "budget": {"epsilon": 1},
            "known": [{"count": "x = 3", **ends}],
        }
    )
    assert known_in_words(policy.known[0], policy.domain) == told
