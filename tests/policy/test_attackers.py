"""Attackers as values: what is refused, and where numbers may come from."""

from __future__ import annotations

import pytest

from tetraodon.errors import PolicyError, Refused
from tetraodon.policy.attackers import Chain, Groups, checked_source
from tetraodon.policy.transition import transition_matrix

LAZY = transition_matrix([["0.9", "0.1"], ["0.4", "0.6"]])


def test_a_group_has_a_row() -> None:
    assert Groups("household", 1).at_most == 1
    with pytest.raises(PolicyError, match="at most"):
        Groups("household", 0)


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
