"""What is said of delta is what follows from it: for Gaussian noise, which is exactly known, it holds."""

from __future__ import annotations

import math
from fractions import Fraction

from tetraodon.policy.delta_in_words import forgiven, shown_epsilon
from tetraodon.policy.explain import explain
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy
from tetraodon.zcdp import rho_at


def policy(**budget: object) -> Policy:
    return load_policy({"dataset": "d", "attributes": {"a": {"integer": [0, 9]}}, "budget": budget})


def test_the_numbers_are_those_of_the_budget() -> None:
    told = forgiven(policy(epsilon=1, delta="1e-6"))
    assert "1 in 1,000,000" in told
    assert "1 in 500,000" in told
    assert "1 in 268,941" in told  # 1 / (1e-6 (1 + e))
    assert told in explain(policy(epsilon=1, delta="1e-6")).parts[0].sentences
    assert "delta" not in " ".join(explain(policy(epsilon=1)).parts[0].sentences).lower()


def test_a_budget_in_zcdp_says_so() -> None:
    found = policy(rho="0.5")
    assert "rho 0.5 in zCDP" in forgiven(found)
    assert shown_epsilon(found.epsilon) == "5.222"
    assert shown_epsilon(Fraction(1, 10)) == "0.1"


def test_odds_twice_as_far_come_up_as_seldom_as_is_said() -> None:
    """Gaussian noise at the rho that the budget allows: the loss is normal with mean rho and variance 2 rho."""
    for epsilon in (0.1, 1.0, 5.0):
        rho = float(rho_at(Fraction(str(epsilon)), Fraction(1, 10**6)))
        far = (epsilon + math.log(2) - rho) / math.sqrt(2 * rho)
        assert math.erfc(far / math.sqrt(2)) / 2 <= 2e-6
