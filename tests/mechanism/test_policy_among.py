"""What mechanisms are told about a part of the records: its secrets, and whether its number is public."""

from __future__ import annotations

import numpy as np
import pytest

from tetraodon.mechanism.strategy import policy_among
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy


def policy(secret: object, presence: str = "public") -> Policy:
    return load_policy(
        {
            "dataset": "d",
            "presence": presence,
            "attributes": {"a": {"integer": [0, 5]}, "s": ["f", "m"]},
            "secrets": {"a": secret, "s": "public"},
            "budget": {"epsilon": 1},
        }
    )


@pytest.mark.parametrize(
    "secret",
    ["everything", "public", {"within": 2}, {"blocks": [[0, 2], [3, 5]]}, {"pairs": [[0, 1], [2, 3], [3, 5]]}],
)
def test_its_secrets_are_those_between_records_of_the_part(secret: object) -> None:
    whole = policy(secret)
    those = whole_part(whole, "a between 2 and 4")
    inside = policy_among(those, whole)
    for x in range(2, 5):
        for y in range(2, 5):
            if x != y:
                assert inside.graph.is_edge((x, "f"), (y, "f")) == whole.graph.is_edge((x, "f"), (y, "f"))
    assert np.array_equal([one.size for one in inside.domain], [3, 2])


def whole_part(whole: Policy, where: str):  # type: ignore[no-untyped-def]
    from tetraodon.query.records_where import RecordsWhere

    return RecordsWhere(where, (), whole.domain)


def test_its_number_is_public_where_no_secret_changes_it() -> None:
    whole = policy({"within": 1})
    assert policy_among(whole_part(whole, "s = 'f'"), whole).size_is_public
    moved = policy_among(whole_part(whole, "a > 2"), whole)
    assert not moved.size_is_public
    assert moved.graph.absent
    assert not policy_among(
        whole_part(policy("public", "secret"), "s = 'f'"), policy("public", "secret")
    ).size_is_public
