"""Partitions, as they are typed."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.domain import Attribute, Categories, Integers
from tetraodon.errors import PolicyError
from tetraodon.policy.build_graph import members, partition

NUMBERS = Attribute("n", Integers(0, 9))
LETTERS = Attribute("c", Categories(tuple("abcd"), ordered=True), other=0)


@given(st.lists(st.integers(1, 9), unique=True).map(sorted), st.randoms())
def test_blocks_are_numbered_by_their_first_values_whatever_their_order(cuts: list[int], random) -> None:
    ends = [0, *cuts, 10]
    groups = [[str(a), str(b - 1)] for a, b in itertools.pairwise(ends)]
    random.shuffle(groups)
    owner = partition(NUMBERS, groups, "block")
    assert list(owner) == [sum(cut <= code for cut in cuts) for code in range(10)]


def test_numbers_are_grouped_by_their_ends_and_categories_one_by_one() -> None:
    assert list(members(NUMBERS, ["2", "5"])) == [2, 3, 4, 5]
    assert list(members(NUMBERS, ["2"])) == [2]
    assert list(members(LETTERS, ["a", "d"])) == [0, 3]
    assert partition(LETTERS, [["d", "a"], ["b", "c"]], "block") == (0, 1, 1, 0)


@pytest.mark.parametrize("group", [[], ["5", "2"], ["1", "2", "3"], ["11"]])
def test_what_is_no_group(group: list[str]) -> None:
    with pytest.raises(PolicyError):
        members(NUMBERS, group)
