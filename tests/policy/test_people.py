"""Who has which secrets."""

from __future__ import annotations

from tests.policy.mistakes import small

from tetraodon.policy.load import load_policy
from tetraodon.policy.people import people


def test_those_with_a_rule_come_first_and_the_rest_are_everybody_else() -> None:
    groups = {"by": "c", "rules": {"c": "none", "b": {"secrets": {"x": {"within": 2}}}}}
    policy = load_policy(small(secrets={"c": "public"}, groups=groups))
    found = people(policy)
    assert [(own.whom, own.by, own.codes) for own in found] == [
        ("people whose c is b", "c", (1,)),
        ("people whose c is c", "c", (2,)),
        ("everybody else", "c", (0,)),
    ]
    assert [own.policy.graph.has_edges for own in found] == [True, False, True]
    assert all(own.policy.graph == policy.graph.of_group(own.codes[0]) for own in found)
    assert found[1].one == (0, 0, 2, 0, 0, 0)


def test_groups_that_share_their_secrets_are_told_together() -> None:
    policy = load_policy(small(secrets={"c": "public"}, groups={"by": "c", "rules": {"a": "none", "b": "none"}}))
    assert [own.whom for own in people(policy)] == ["people whose c is a or b", "everybody else"]
