"""What is said of people with several rows is what happens to them."""

from __future__ import annotations

import pytest

import tetraodon as td
from tetraodon.policy.rows_in_words import cost_of_rows, rows_in_a_step, whose_rows


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
    assert ("only that many are used" in whose_rows(policy)) is cut
    assert ("is left out with all of them" in whose_rows(policy)) is not cut
    assert whose_rows(policy) in td.explain(policy).text.replace("\n", " ")


def test_a_step_and_its_cost() -> None:
    assert "up to 3 rows" in rows_in_a_step(keyed(3))
    assert "3 times that of one row" in cost_of_rows(keyed(3))[0]
    assert cost_of_rows(keyed(1)) == []
