"""Whom a view withstands, in sentences: what is said is never more than what holds."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.policy.adversary import Adversary
from tetraodon.policy.adversary_in_words import beliefs, view_sentences
from tetraodon.policy.load import load_policy

POLICY = {
    "dataset": "people",
    "attributes": {"age": {"integer": [20, 39]}, "nationality": ["American", "British", "Indian"]},
    "budget": {"epsilon": 3},
}


def told(**adversary: object) -> str:
    return " ".join(view_sentences(load_policy({**POLICY, "adversary": {"posterior": 0.5, **adversary}})))


@given(st.fractions(Fraction(1, 10**9), Fraction(1, 2)), st.fractions(Fraction(51, 100), Fraction(99, 100)))
def test_numbers_are_rounded_so_that_they_hold(prior: Fraction, gamma: Fraction) -> None:
    first, second = beliefs(Adversary(d=prior, gamma=gamma), prior)
    before, after = (
        Fraction(number) for number in re.findall(r"probability at most ([\d.e-]+),.* more than ([\d.]+)%", first)[0]
    )
    assert prior * Fraction(999, 1000) <= before <= prior
    assert 100 * gamma <= after <= 100 * gamma * Fraction(1001, 1000)
    kept = re.search(r"fall below ([\d.e-]+) of", second)
    assert kept is not None
    assert Fraction(kept[1]) <= prior / gamma


def test_nothing_is_said_where_nobody_is_named() -> None:
    assert view_sentences(load_policy(POLICY)) == ()


@pytest.mark.parametrize(
    ("adversary", "words"),
    [
        (
            {"prior": {"d": 0.2}},
            "will not believe it with more than 50% after. Nor will their belief in it fall below 0.4",
        ),
        (
            {"prior": {"k": 2}, "records": 6},
            "That prior is 2 times n/m, the average chance of a tuple: 6 records, divided",
        ),
        ({"prior": {"k": 2}}, "with probability at most 2 n/m, that the table has some record"),
        ({"prior": {"k": 2}}, "the number of records, divided by 60 possible tuples"),
        ({"prior": {"d": 0.2}, "kind": "exclusive"}, "of which exactly one is in the table"),
        ({"prior": {"d": 0.2}, "kind": "exclusive"}, "may fall: that cannot be excluded"),
        ({"prior": {"d": 0.2}, "views": 6}, "That holds for all 6 planned views together"),
        ({"prior": {"d": 0.2}, "rows": "distinct"}, "no two records of the table are equal"),
        ({"prior": {"d": 0.2}}, "may be up to epsilon 3"),
    ],
)
def test_what_is_said(adversary: dict, words: str) -> None:
    assert words in told(**adversary)


def test_whoever_links_is_told_of_unless_named() -> None:
    assert "knows a person but for one attribute may read that one" in told(prior={"d": 0.2})
    assert "may read that one" not in told(prior={"d": 0.2}, kind="exclusive")
