"""Problems are told together, in the order of the file, in our own words."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tetraodon.errors import DomainError, PolicyError, Refused
from tetraodon.policy.document import PolicyDocument
from tetraodon.policy.load import load_policy
from tetraodon.policy.problems import Problems
from tetraodon.policy.source import parse
from tetraodon.policy.typed import exact

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
