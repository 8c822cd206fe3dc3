"""Problems are told together, in the order of the file, in our own words."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from tetraodon.errors import DomainError, PolicyError, Refused
from tetraodon.policy.document import PolicyDocument
from tetraodon.policy.load import load_policy
from tetraodon.policy.section import exact
from tetraodon.policy.source import Problems, parse

SOURCE = parse(b"a: 1\nb:\n  c: 2\n", "p.yaml")


def test_no_problem_stops_nothing() -> None:
    Problems(SOURCE).stop()


def test_the_first_of_the_file_is_raised_with_the_text_of_all() -> None:
    problems = Problems(SOURCE)
    with problems.at("b", "c"):
        raise DomainError("second", fix="do this")
    with problems.at("a"):
        exact("x")
    with problems.at("b", "c"):
        raise DomainError("second", fix="do this")
    with pytest.raises(PolicyError) as caught:
        problems.stop()
    assert str(caught.value).splitlines() == [
        "p.yaml line 1: a: 'x' is not a finite number. Fix: write a number such as 3, 0.1, 1e-6 or 1/3.",
        "p.yaml line 3: b.c: second. Fix: do this.",
    ]
    assert caught.value.what == "'x' is not a finite number"
    assert caught.value.where == "p.yaml line 1: a"


def test_a_refusal_stays_a_refusal() -> None:
    problems = Problems(SOURCE)
    with problems.at("a"):
        raise Refused("no", fix="wait")
    with pytest.raises(Refused, match="line 1"):
        problems.stop()


def test_other_errors_are_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError), Problems(SOURCE).at("a"):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    "data", [{}, {"dataset": {}}, {"known": 5, "release": {"a": 1}}, {"attributes": 5, "table": []}]
)
def test_no_message_of_the_validator_is_shown_raw(data: dict) -> None:
    problems = Problems(SOURCE)
    with pytest.raises(ValidationError) as raw:
        PolicyDocument.model_validate(data)
    problems.add_shape_errors(raw.value)
    with pytest.raises(PolicyError) as caught:
        problems.stop()
    text = str(caught.value)
    assert "this is not understood" not in text
    assert not any(detail["msg"] in text for detail in raw.value.errors() if detail["type"] != "tetraodon")


@pytest.mark.parametrize(
    ("changed", "fix"),
    [
        ({"attackers": [{"chain": {"alogn": "time"}}]}, "did you mean 'along'?"),
        ({"attackers": [{"grups": "home"}]}, "did you mean 'groups'?"),
        ({"adversary": {"posterior": 0.2, "prior": {"x": 2}}}, "use one of: k, d"),
    ],
)
def test_the_keys_that_are_offered_are_those_of_the_place(changed: dict, fix: str) -> None:
    base = {"dataset": "d", "attributes": {"a": "boolean"}, "budget": {"epsilon": 1}}
    with pytest.raises(PolicyError, match="is not known here") as caught:
        load_policy(base | changed)
    assert fix in str(caught.value)


def test_a_part_that_is_wrong_does_not_hide_the_next() -> None:
    problems = Problems(SOURCE)
    for place, what in ((("b", "c"), "second"), (("a",), "first")):
        with problems.part():
            with problems.at(*place):
                raise DomainError(what, fix="do this")
            problems.stop()
            raise AssertionError("not reached")
    with problems.part():
        problems.stop()  # nothing is wrong with this part
    with pytest.raises(PolicyError) as caught:
        problems.stop()
    told = ["p.yaml line 1: a: first. Fix: do this.", "p.yaml line 3: b.c: second. Fix: do this."]
    assert str(caught.value).splitlines() == told
    assert caught.value.__notes__ == ["More may be found once this is put right: the rest of the file rests on it."]


def test_a_part_swallows_nothing_that_was_not_noted() -> None:
    with pytest.raises(DomainError, match="not noted"), Problems(SOURCE).part():
        raise DomainError("not noted", fix="do this")


WRONG = """dataset: d
attributes: {age: {integer: [0, 9]}, sex: [f, m]}
secrets: {sex: public}
known: [{count: agee = 3, is: 1}]
budget: {epsilon: 0}
adversary: {prior: {d: 2}, posterior: 0.5}
release: [{name: m, mean: agee}]
"""


def test_all_mistakes_of_a_file_are_told_in_one_wave(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(WRONG)
    with pytest.raises(PolicyError) as caught:
        load_policy(file)
    assert [line.split(": ")[:2] for line in str(caught.value).splitlines()] == [
        ["p.yaml line 4", "known.1"],
        ["p.yaml line 5", "budget.epsilon"],
        ["p.yaml line 6", "adversary"],
        ["p.yaml line 7", "release.1"],
    ]
    assert caught.value.__notes__ == []  # everything was looked at


@pytest.mark.parametrize(
    "line", ["secrets: {agee: public}", "attributes: {age: {integer: [9, 0]}, sex: [f, m]}", "budgett: 3"]
)
def test_what_rests_on_a_mistake_may_have_more(line: str) -> None:
    text = "\n".join([*(old for old in WRONG.splitlines() if old.split(":")[0] != line.split(":")[0]), line])
    with pytest.raises(PolicyError) as caught:
        load_policy(yaml.safe_load(text))
    assert caught.value.__notes__ == ["More may be found once this is put right: the rest of the file rests on it."]
