"""Who might attack, as a policy file can say it: what somebody may believe about how rows depend on each other."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tetraodon.errors import PolicyError, Refused
from tetraodon.policy.attackers import Chain, DependentGroups, checked_source, is_ergodic, stationary, transition_matrix


def test_the_stationary_law_stays():
    matrix = transition_matrix([["0.5", "0.25", "0.25"], ["0.1", "0.8", "0.1"], [0, "0.5", "0.5"]])
    law = stationary(matrix)
    assert tuple(sum(law[x] * matrix[x][y] for x in range(3)) for y in range(3)) == law
    assert sum(law) == 1


def test_a_chain_that_never_mixes_has_no_one_law():
    with pytest.raises(PolicyError, match=r"more than one stationary.*Fix"):
        stationary(transition_matrix([[1, 0], [0, 1]]))
    assert stationary(transition_matrix([[0, 1], [1, 0]])) == (
        Fraction(1, 2),
        Fraction(1, 2),
    )  # periodic will do
    assert stationary(transition_matrix([[1, 0], ["1/2", "1/2"]])) == (1, 0)


def test_ergodic_chains_are_those_whose_powers_become_positive() -> None:
    for pattern in range(2**9):
        rows = [[pattern >> (3 * x + y) & 1 for y in range(3)] for x in range(3)]
        if not all(any(row) for row in rows):
            continue
        matrix = transition_matrix([[Fraction(n, sum(row)) for n in row] for row in rows])
        power = matrix
        for _ in range(12):  # beyond (3 - 1)^2 + 1
            power = tuple(
                tuple(sum((row[z] * matrix[z][y] for z in range(3)), Fraction(0)) for y in range(3)) for row in power
            )
        assert is_ergodic(matrix) == all(number > 0 for row in power for number in row)


LAZY = transition_matrix([["0.9", "0.1"], ["0.4", "0.6"]])


def test_a_group_has_a_row() -> None:
    assert DependentGroups("household", 1).at_most == 1
    with pytest.raises(PolicyError, match="at most"):
        DependentGroups("household", 0)


@pytest.mark.parametrize(
    "rows",
    [
        [[0, 1], [1, 0]],
        [[1, 0], [0, 1]],
        [["0.5", "0.5", 0], [0, 1, 0], [0, 0, 1]],
        [[0, 1, 0], [0, 0, 1], [1, 0, 0]],
    ],
)
def test_a_chain_that_never_forgets_is_refused(rows: list[list[object]]) -> None:
    with pytest.raises(Refused, match="not ergodic"):
        Chain("time", (transition_matrix(rows),), (), "a study")


def test_matrices_and_starts_share_their_states() -> None:
    three = transition_matrix([["1/3", "1/3", "1/3"]] * 3)
    with pytest.raises(PolicyError, match="differ in size"):
        Chain("time", (LAZY, three), (), "a study")
    assert Chain("time", (LAZY,), (LAZY[0],), "a study").states == 2


def test_a_start_may_leave_states_out() -> None:
    sure = transition_matrix([[1, 0], [0, 1]])[0]
    assert Chain("time", (LAZY,), (), "a study").always_possible
    assert Chain("time", (LAZY,), (LAZY[0],), "a study").always_possible
    assert not Chain("time", (LAZY,), (LAZY[0], sure), "a study").always_possible


@pytest.mark.parametrize("source", ["  ", "estimated from the protected table", "counted in this data set", "our data"])
def test_numbers_from_the_table_itself_are_refused(source: str) -> None:
    with pytest.raises(Refused):
        checked_source(source)


def test_other_sources_are_kept() -> None:
    assert checked_source("the meter readings of 2007") == "the meter readings of 2007"
