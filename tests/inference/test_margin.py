"""Margins: what two tables can both add up to."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.inference.margin import Margin, common_coarsening
from tetraodon.workload.linear import Split

groupings = st.lists(st.integers(0, 3), min_size=5, max_size=5).map(
    lambda labels: np.unique(labels, return_inverse=True)[1].tolist()
)


def same_group(labels: list[int]) -> set[tuple[int, int]]:
    return {(i, j) for i, a in enumerate(labels) for j, b in enumerate(labels) if a == b}


@given(groupings, groupings)
def test_the_common_coarsening_is_the_finest_above_both(first: list[int], second: list[int]) -> None:
    joined = same_group(first) | same_group(second)
    while True:  # transitive closure, the slow way
        more = {(i, m) for i, j in joined for k, m in joined if j == k} - joined
        if not more:
            break
        joined |= more
    assert same_group(common_coarsening(first, second)) == joined


@given(groupings)
def test_every_value_apart_is_the_finest(labels: list[int]) -> None:
    assert common_coarsening(None, labels) == labels
    assert common_coarsening(labels, None) == labels


def test_places_add_up_cells_by_hand() -> None:
    domain = Domain((Attribute("a", Integers(0, 3)), Attribute("b", Integers(0, 2))))
    table = (Split("b"), Split("a", (0, 0, 1, 1)))
    margin = Margin((("a", (0, 0, 1, 1)),))
    assert margin.places(table, domain).tolist() == [0, 1, 0, 1, 0, 1]
    assert Margin(()).places(table, domain).tolist() == [0] * 6


def test_meeting_keeps_what_both_have() -> None:
    first = Margin.of((Split("a"), Split("b", (0, 0, 1))))
    second = Margin.of((Split("b", (0, 1, 1)), Split("a", (0, 1)), Split("c")))
    assert first.meet(second) == Margin((("a", (0, 1)),))
