"""Chains of any length: the bound is not below the exact loss of any record of a short one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tetraodon import pufferfish as pf
from tetraodon.certificate.correlated_records import quilt_budget
from tetraodon.certificate.table_secret_loss import largest_loss
from tetraodon.errors import PolicyError, Refused
from tetraodon.policy.attackers import Chain, stationary
from tetraodon.pufferfish.laws_of_sums import tree_laws

STEPS = {
    "slow": [["0.9", "0.1"], ["0.2", "0.8"]],
    "three": [["0.6", "0.3", "0.1"], ["0.2", "0.5", "0.3"], ["0.25", "0.25", "0.5"]],
    "not reversible": [["0.1", "0.8", "0.1"], ["0.1", "0.1", "0.8"], ["0.8", "0.1", "0.1"]],
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("epsilon", ["1/2", 2])
def test_no_record_of_a_chain_loses_more(name: str, epsilon: str) -> None:
    """The loss of every record of a chain of 40, summed over all of it, at the noise that the quilt found."""
    steps = [[Fraction(p) for p in row] for row in STEPS[name]]
    adds = [0, 2, 1][: len(steps)]
    found = pf.long_chain(steps, length=40, epsilon=epsilon, adds=adds)
    exact = tree_laws(pf.chain_model(steps, start=stationary(tuple(map(tuple, steps))), length=40, adds=adds))
    low, high = largest_loss(exact, 1 / found.scale)
    assert high <= Fraction(epsilon) + Fraction(1, 10**9)
    assert low > Fraction(epsilon) * Fraction(7, 10)  # and not far too much noise


def test_it_needs_less_than_the_markov_quilt() -> None:
    matrix = tuple(tuple(Fraction(p) for p in row) for row in STEPS["slow"])
    every = ~np.eye(2, dtype=bool)
    quilt = 1 / quilt_budget(Chain("t", (matrix,), (), "a study"), every, Fraction(1))
    assert pf.long_chain(STEPS["slow"], length=10**5, epsilon=1).scale < quilt * Fraction(2, 3)


def test_states_that_cannot_follow_each_other() -> None:
    steps = [["0.5", "0.5", 0], ["0.25", "0.5", "0.25"], [0, "0.5", "0.5"]]
    found = pf.long_chain(steps, length=30, epsilon=2)
    exact = tree_laws(pf.chain_model(steps, start=["1/4", "1/2", "1/4"], length=30))
    assert largest_loss(exact, 1 / found.scale)[1] <= 2 + 1e-9


def test_refusals() -> None:
    with pytest.raises(Refused, match="too slowly"):
        pf.long_chain([["0.999", "0.001"], ["0.001", "0.999"]], length=1000, epsilon="0.01")
    with pytest.raises(Refused, match="too short"):
        pf.long_chain(STEPS["slow"], length=2, epsilon=1)
    with pytest.raises(PolicyError, match="one whole number"):
        pf.long_chain(STEPS["slow"], length=9, epsilon=1, adds=[1])
