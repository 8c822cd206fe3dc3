"""Of what mechanisms propose, the proposal with the least error at its price is taken."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import tetraodon as td
from tetraodon.errors import Refused
from tetraodon.noise.laws import LAPLACE
from tetraodon.releasing import best_proposal
from tetraodon.releasing.best_proposal import choose, expected, offered
from tetraodon.releasing.budget import Limit

LIMIT = Limit(LAPLACE, Fraction(1, 2))


def policy(asked: dict[str, Any]) -> td.Policy:
    return td.load_policy(
        {
            "dataset": "d",
            "presence": "public",
            "attributes": {"x": {"integer": [0, 40]}, "y": {"integer": [0, 9]}},
            "secrets": {"x": {"within": 3}},
            "budget": {"epsilon": 1},
            "release": [{"name": "i", **asked}],
        }
    )


@pytest.mark.parametrize("asked", [{"cdf": "x"}, {"cdf": "x", "where": "y > 3"}, {"histogram": ["x", "y"]}])
def test_the_least_error_is_taken(asked: dict[str, Any]) -> None:
    made = policy(asked)
    [item] = made.items
    found, too_long = offered(item, made, LIMIT)
    assert not too_long
    strategy, scale = choose(item, made, LIMIT)
    errors = [expected(item, one, loss / LIMIT.amount, made) for one, loss in found]
    assert len(errors) > 1
    assert expected(item, strategy, scale, made) == min(errors)


def test_what_cannot_be_certified_for_a_part_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    made = policy({"cdf": "x", "where": "y > 3"})
    [item] = made.items
    whole = best_proposal.certify_measurements

    def only_one(*args: Any, **more: Any) -> Any:
        if len(args[1]) > 1:
            raise Refused("too many", fix="fewer")
        return whole(*args, **more)

    monkeypatch.setattr(best_proposal, "certify_measurements", only_one)
    assert [one.mechanism.name for one, _ in offered(item, made, LIMIT)[0]] == ["identity"]
    monkeypatch.setattr(best_proposal, "certify_measurements", lambda *_, **__: only_one(None, [1, 2]))
    with pytest.raises(Refused, match="too many"):
        offered(item, made, LIMIT)
