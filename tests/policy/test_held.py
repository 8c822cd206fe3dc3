"""A policy file while it is written: what is wrong with it, and as much of a policy as can be looked at already."""

from __future__ import annotations

import pytest

from tetraodon.errors import PolicyError
from tetraodon.policy.draft import starter
from tetraodon.policy.load import load_policy, parse_partial

TEXT = """\
dataset: people
presence: public
attributes:
  age: {integer: [0, 99]}
  sex: [F, M]
secrets: {age: {within: 5}}
budget: {epsilon: 1}
release:
- {name: ages, histogram: age}
- {name: broken, histogram: nobody}
- {name: sexes, histogram: sex}
- {name: worse, mean: sex}
"""


def test_every_problem_has_its_path_line_words_and_fix() -> None:
    with pytest.raises(PolicyError) as caught:
        load_policy(TEXT)
    found = caught.value.problems
    assert [(problem.path[:2], problem.line) for problem in found] == [(("release", 1), 10), (("release", 3), 12)]
    assert all(problem.what and problem.fix for problem in found)
    assert parse_partial(TEXT).problems == found


def test_a_finished_file_is_its_policy() -> None:
    text = TEXT.replace("nobody", "sex").replace("mean: sex", "mean: age")
    held = parse_partial(text)
    assert held.problems == held.left_out == ()
    assert held.policy == load_policy(text)


def test_unfinished_questions_are_left_out_and_keep_their_place_in_the_file() -> None:
    held = parse_partial(TEXT)
    assert held.left_out == (("release", 1), ("release", 3))
    assert held.policy is not None
    assert [item.name for item in held.policy.items] == ["ages", "sexes"]
    # once the column is taken out, a question about it is unfinished too: its place is counted in the file
    held = parse_partial(TEXT.replace("[F, M]", "CONFIRM").replace("nobody", "age"))
    assert held.policy is not None
    assert sorted(held.left_out, key=str) == [("attributes", "sex"), ("release", 2), ("release", 3)]
    assert [item.name for item in held.policy.items] == ["ages", "broken"]


def test_a_fresh_draft_can_be_held() -> None:
    held = parse_partial(starter([("age", "integer"), ("member", "boolean")], "people"))
    assert held.policy is not None
    assert held.policy.domain.names == ("member",)
    assert [problem.path for problem in held.problems] == [("attributes", "age", "integer", n) for n in (0, 1)]
    assert parse_partial(starter([("age", "integer")], "people")).policy is None  # no column is left


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{age: {within: 5}}", "{age: {within: -5}}"),
        ("{age: {within: 5}}", "{height: public}"),
        ("presence: public", "presence: maybe"),
        ("budget:", "attackers: [everybody]\nbudget:"),
        ("budget:", "known: [{count: nobody = 3, is: 4}]\nbudget:"),
        ("budget:", "individuals: {key: id, at most: none}\nbudget:"),
        ("budget:", "groups: {by: nobody, rules: {F: none}}\nbudget:"),
        ("budget:", "sekrets: {}\nbudget:"),
        ("dataset: people", "dataset: [people"),
    ],
)
def test_a_promise_is_never_shown_without_a_part_of_it(old: str, new: str) -> None:
    held = parse_partial(TEXT.replace(old, new))
    assert held.policy is None
    assert held.problems


def test_what_is_beside_the_promise_may_be_unfinished() -> None:
    held = parse_partial(TEXT.replace("budget: {epsilon: 1}", "budget: {epsilon: much}\npublisher: {contakt: x}"))
    assert held.policy is not None
    assert {("budget",), ("publisher",)} <= {*held.left_out}
