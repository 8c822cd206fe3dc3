"""The policy as a value."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from tetraodon.errors import PolicyError
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Item, Policy
from tetraodon.query.kinds import count


@pytest.fixture
def policy() -> Policy:
    return load_policy(
        {
            "dataset": "d",
            "presence": "public",
            "attributes": {"a": ["x", "y", "z"], "b": ["x", "y"]},
            "secrets": {"a": "public"},
            "budget": {"epsilon": 1},
        }
    )


def test_checks_fire(policy: Policy) -> None:
    with pytest.raises(PolicyError, match="epsilon is not positive"):
        policy.with_epsilon(Fraction(0))
    with pytest.raises(PolicyError, match="two items are called 'n'"):
        replace(policy, items=(Item("n", count()), Item("n", count())))
    with pytest.raises(PolicyError, match="share"):
        Item("n", count(), Fraction(-1))


def test_plain_differential_privacy_makes_any_two_records_a_secret(policy: Policy) -> None:
    assert policy.graph.distance(("x", "x"), ("y", "x")) == float("inf")
    assert policy.plain().graph.is_edge(("x", "x"), ("y", "y"))
    assert policy.plain().epsilon == policy.epsilon


def test_where_it_was_read_makes_no_difference(policy: Policy) -> None:
    assert replace(policy, source="elsewhere.yaml") == policy


def test_the_size_is_public_only_for_known_people_with_one_row(policy: Policy) -> None:
    assert policy.size_is_public
    assert not replace(policy, presence="secret").size_is_public
    assert not replace(policy, key="id").size_is_public
