"""Adversaries: what a curator can say, what is refused, and that it survives the policy file."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tetraodon.errors import PolicyError
from tetraodon.policy.adversary import Adversary
from tetraodon.policy.load import load_policy

BASE: dict[str, Any] = {
    "dataset": "people",
    "attributes": {"age": {"integer": [0, 99]}, "zip": {"integer": [0, 9999]}},
    "budget": {"epsilon": 12},
}


def test_a_prior_of_k_is_k_times_n_over_m() -> None:
    assert Adversary(k=10, gamma="0.2", records=100).prior(10**6) == Fraction(1, 1000)
    assert Adversary(d="1e-4", gamma=0.2, kind="exclusive").prior(5) == Fraction(1, 10**4)


def test_it_survives_the_policy_file() -> None:
    said = {"prior": {"k": 10}, "posterior": 0.2, "kind": "exclusive", "records": 100, "rows": "distinct", "views": 3}
    policy = load_policy(BASE | {"adversary": said, "public": {"regions": "regions.csv"}})
    adversary = Adversary(k=10, gamma="0.2", kind="exclusive", records=100, rows="distinct", views=3)
    assert policy.adversary == adversary
    assert policy.public == (("regions", "regions.csv"),)
    assert load_policy(policy.document) == policy


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ({"gamma": "0.2"}, "one of k and d"),
        ({"gamma": "0.2", "k": 1, "d": "0.1"}, "one of k and d"),
        ({"gamma": 1, "k": 1}, "posterior is not between"),
        ({"gamma": "0.2", "d": 1}, "prior is not between"),
        ({"gamma": "0.2", "d": "0.2"}, "not above the prior"),
        ({"gamma": "0.2", "k": 0}, "k is not positive"),
        ({"gamma": "0.2", "k": 1, "kind": "clever"}, "unknown kind"),
        ({"gamma": "0.2", "k": 1, "records": 0}, "records is not positive"),
        ({"gamma": "0.2", "k": 1, "views": 0}, "number of views"),
    ],
)
def test_what_makes_no_sense_is_refused(said: dict[str, Any], what: str) -> None:
    with pytest.raises(PolicyError, match=what):
        Adversary(**said)


def test_k_needs_a_public_number() -> None:
    with pytest.raises(PolicyError, match="public number of records"):
        Adversary(k=10, gamma="0.2").prior(100)
    with pytest.raises(PolicyError, match="not above the prior"):
        Adversary(k=10, gamma="0.2", records=3).prior(100)


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ({"adversary": {"prior": {"k": 10}, "posterior": 0.2, "records": 10**6}}, "not above the prior"),
        ({"adversary": {"prior": {}, "posterior": 0.2}}, "which kind"),
        ({"adversary": {"prior": {"d": 0.5}, "posterior": 2}}, "posterior is not between"),
        ({"public": {"a b": "x.csv"}}, "name of a table"),
    ],
)
def test_the_file_is_refused_with_its_place(said: dict[str, Any], what: str) -> None:
    with pytest.raises(PolicyError, match=what):
        load_policy(BASE | said)
