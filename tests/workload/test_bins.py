"""Bins of very many values."""

from __future__ import annotations

import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import QueryError
from tetraodon.workload.bins import bin_of_each
from tetraodon.workload.query import histogram, linear


def test_bins_are_made_once_and_take_one_number_for_each_bin() -> None:
    """For four million values they were made seven times, each time with four million numbers."""
    domain = Domain((Attribute("x", Integers(0, 9999)),))
    query = histogram("x", bins={"x": [(low, low + 9) for low in range(0, 10_000, 10)]})
    [split] = linear(query, domain).by
    assert split.bins is linear(query, domain).by[0].bins
    assert split.bins == tuple(code // 10 for code in range(10_000))
    assert len({id(number) for number in split.bins}) == 1000


@pytest.mark.parametrize(
    ("groups", "ends", "what"),
    [
        (((2, 1), (0, 3)), True, "is empty"),
        (((0, 2), (2, 3)), True, "overlap"),
        (((0, 0), (1, 2, 3)), False, "overlap"),
        (((0, 1), (2,)), True, "leave values out"),
    ],
)
def test_bins_that_are_none_are_refused(groups: tuple[tuple[int, ...], ...], ends: bool, what: str) -> None:
    with pytest.raises(QueryError, match=what):
        bin_of_each("x", 4, groups, ends)
