"""Who might attack, in words: what rows depend on, and what a view's attacker may come to believe."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.test_build_attackers import CHAIN, CONTACTS, read

from tetraodon.policy.adversary import Adversary
from tetraodon.policy.explain import explain
from tetraodon.policy.load import load_policy
from tetraodon.policy.promise_words import (
    against_whom,
    beliefs,
    cost_of_dependence,
    kind_of,
    said,
    view_sentences,
)


def test_every_kind_says_what_is_not_covered() -> None:
    for entry in ("independent", {"groups": "home", "at most": 5}, {"chain": CHAIN}, {"contacts": CONTACTS}):
        attackers = read([entry]).attackers
        assert "not covered" in against_whom(attackers)
        assert against_whom(attackers) in explain(read([entry])).document["parts"][-3]["sentences"]


def test_groups_and_chains_say_what_they_cost() -> None:
    assert cost_of_dependence(read(["independent"]).attackers) == ()
    assert "5 rows" in cost_of_dependence(read([{"groups": "home", "at most": 5}]).attackers)[0]
    assert "at most 1.282 times" in cost_of_dependence(read([{"contacts": CONTACTS}]).attackers)[0]
    (told,) = cost_of_dependence(read([{"chain": CHAIN}]).attackers)
    assert told in " ".join(explain(read([{"chain": CHAIN}])).text.split())


def test_only_what_adds_up_is_said_to_add_up() -> None:
    assert "do not simply add up" in said("releases_add_up", kind_of(read([{"chain": CHAIN}]).attackers))[0]
    assert (
        "all releases from the same data add up" in said("releases_add_up", kind_of(read(["independent"]).attackers))[0]
    )


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


def test_groups_beside_what_is_known_are_not_said_to_be_cut() -> None:
    """A table with more rows of a group is then refused, so that nobody is told that some are left out."""
    attackers = read([{"groups": "home", "at most": 5}]).attackers
    assert "only that many are counted" in against_whom(attackers)
    assert "more than 5 rows, or a row has none, is refused" in against_whom(attackers, 1)
    assert "only that many are counted" not in against_whom(attackers, 1)
