"""The loss of replaced values, against every pair of neighbouring records and everything that can be shown."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest

import tetraodon as td
from tetraodon.certificate.replacement import certify_replacement, worst_ratio

F = Fraction
MATRICES = {
    "x": ((F(1, 2), F(1, 4), F(1, 4)), (F(1, 4), F(1, 2), F(1, 4)), (F(1, 8), F(1, 8), F(3, 4))),
    "y": ((F(2, 3), F(1, 3)), (F(1, 6), F(5, 6))),
}


def policy_of(**changed: Any) -> td.Policy:
    return td.load_policy(
        {
            "dataset": "d",
            "presence": "public",
            "attributes": {"x": {"integer": [0, 2]}, "y": {"integer": [0, 1]}},
            "budget": {"epsilon": 9},
        }
        | changed
    )


@pytest.mark.parametrize("together", ["one attribute at a time", "all at once"])
@pytest.mark.parametrize("secrets", [{}, {"x": {"within": 1}}, {"y": "public"}, {"x": {"blocks": [[0, 1], [2]]}}])
def test_it_is_the_worst_ratio_over_all_edges(together: str, secrets: dict[str, Any]) -> None:
    policy = policy_of(secrets=secrets, together=together)
    worst = F(1)
    for a, b in zip(*policy.graph.edge_cells(), strict=True):
        first, second = policy.domain.codes_of(int(a)), policy.domain.codes_of(int(b))
        for shown in itertools.product(range(3), range(2)):
            chances = [
                math.prod(MATRICES[n][c][w] for n, c, w in zip("xy", r, shown, strict=True)) for r in (first, second)
            ]
            worst = max(worst, chances[0] / chances[1], chances[1] / chances[0])
    found = certify_replacement(policy, MATRICES)
    assert float(found.epsilon) == pytest.approx(math.log(worst), abs=1e-11)
    assert found.epsilon >= math.log(worst) - 1e-15
    assert found.exact


def test_an_attribute_that_is_not_shown_loses_nothing() -> None:
    shown = {"x": MATRICES["x"]}
    alone = certify_replacement(policy_of(secrets={"y": "public"}), MATRICES).epsilon
    assert certify_replacement(policy_of(), shown).epsilon == alone


def test_what_is_told_for_certain_costs_infinity() -> None:
    policy = policy_of()
    sure = {**MATRICES, "y": ((F(1), F(0)), (F(0), F(1)))}
    assert worst_ratio(sure["y"], policy.graph.factor_of("y").graph) is None
    assert not certify_replacement(policy, sure).finite
    assert certify_replacement(policy_of(secrets={"y": "public"}), sure).finite


@pytest.mark.parametrize("changed", [{"presence": "secret"}, {"known": [{"count": "x = 1"}]}])
def test_losses_that_are_not_known_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(td.Refused, match="Fix:"):
        certify_replacement(policy_of(**changed), MATRICES)
