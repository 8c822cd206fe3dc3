"""Columns of open text: what a policy may say of them, and that saying it again changes nothing."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import tetraodon as td
from tetraodon.policy.policy import NamesItem, OpenText

BASE: dict[str, Any] = {
    "dataset": "d",
    "attributes": {"age": {"integer": [0, 99]}, "postcode": {"open": "text", "longest": 8, "trim": True}},
    "budget": {"epsilon": 1, "delta": "1e-6"},
    "release": [{"name": "areas", "names": "postcode", "share": 2}],
}


def test_it_is_read_and_written() -> None:
    policy = td.load_policy(BASE)
    assert policy.open == (OpenText("postcode", 8, trim=True),)
    assert policy.names == (NamesItem("areas", "postcode", Fraction(2)),)
    assert policy.domain.names == ("age",)
    assert td.load_policy(policy.document) == policy
    assert td.load_policy(policy.document).document == policy.document


def test_what_is_left_out_is_secret_and_of_a_usual_length() -> None:
    policy = td.load_policy(BASE | {"attributes": {"age": {"integer": [0, 99]}, "postcode": {"open": "text"}}})
    assert policy.open == (OpenText("postcode", 100, trim=False, secret=True),)
    public = td.load_policy({**policy.document, "secrets": {"postcode": "public"}})
    assert not public.open[0].secret
    assert td.load_policy(public.document) == public


def test_other_policies_say_what_they_said() -> None:
    document = td.load_policy({"dataset": "d", "attributes": {"x": ["a"]}, "budget": {"epsilon": 1}}).document
    assert document["secrets"] == {"x": "everything"}
    assert document["release"] == []


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"attributes": {"age": {"integer": [0, 9]}, "postcode": {"open": "number"}}}, "write one of: text"),
        ({"attributes": {"age": {"integer": [0, 9]}, "postcode": {"open": "text", "unit": "m"}}}, "has no unit"),
        ({"attributes": {"age": {"integer": [0, 9]}, "postcode": {"open": "text", "longest": 0}}}, "longest"),
        ({"attributes": {"postcode": {"open": "text"}}}, "there is no attribute"),
        ({"secrets": {"postcode": {"within": 3}}}, "all or nothing"),
        ({"individuals": {"key": "postcode", "at most": 2}}, "says whose row it is"),
        ({"release": [{"name": "areas", "names": "age"}]}, "age is not declared as open text"),
        ({"release": [{"name": "areas", "names": "postcode", "whole": True}]}, "means nothing for `names`"),
        ({"release": [{"name": "areas", "names": "postcode", "count": "all"}]}, "both"),
        ({"release": [{"name": "a/b", "names": "postcode"}]}, "name of a file"),
        ({"release": [{"name": "areas", "names": "postcode", "share": 0}]}, "share"),
        ({"release": [{"name": "one", "count": "all"}, {"name": "one", "names": "postcode"}]}, "two items"),
        ({"release": [{"name": "one", "histogram": "postcode"}]}, "no attribute 'postcode'"),
        ({"release": [{"name": "one", "count": "postcode = 'N1'"}]}, "postcode"),
    ],
)
def test_what_it_cannot_be_is_refused(changes: dict[str, Any], match: str) -> None:
    with pytest.raises(td.TetraodonError, match=match):
        td.load_policy(BASE | changes)


def test_a_length_is_checked_in_python_too() -> None:
    with pytest.raises(td.PolicyError, match="longest"):
        OpenText("postcode", 1001)
    with pytest.raises(td.PolicyError, match="name of a file"):
        NamesItem("../x", "postcode")


def test_the_promise_says_what_happens_to_names() -> None:
    text = td.explain(BASE).text
    assert "Names that nobody listed" in text
    assert "only if enough people have it" in " ".join(text.split())
    assert "1e-06" in text
    assert "Names that nobody listed" not in td.explain({**BASE, "attributes": {"x": ["a"]}, "release": []}).text


def test_open_text_alone_may_be_the_secret() -> None:
    document = BASE | {"presence": "public", "secrets": {"age": "public"}}
    assert "This policy has no secret" not in td.explain(document).text
    assert (
        "This policy has no secret" in td.explain(document | {"secrets": {"age": "public", "postcode": "public"}}).text
    )
