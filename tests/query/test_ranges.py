"""Ranges as a question."""

from __future__ import annotations

import pytest
from tests.policy.mistakes import small

import tetraodon as td
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import PolicyError
from tetraodon.query.kinds import ranges
from tetraodon.query.query import EveryRange, ListedRanges

DOMAIN = Domain((Attribute("x", Integers(10, 19)),))


def test_named_ranges_are_read_by_their_codes_and_any_other_as_every_range() -> None:
    named = ranges("x", {"low": [10, 12], "all": [10, 19]})
    assert named.reading(DOMAIN) == ListedRanges(((0, 2), (0, 9)))
    assert ranges("x").reading(DOMAIN) == EveryRange()
    assert len(named.sums(DOMAIN)) == 1
    assert ranges("x").sums(DOMAIN) == ()


def test_in_words() -> None:
    named = ranges("x", {"low": [10, 12]})
    assert named.sentence(DOMAIN) == "How many records have x in each of 1 range."
    assert named.off_by("3", "The number", DOMAIN) == "The number is typically off by 3 records."
    assert ranges("x").off_by("3", "The number", DOMAIN) == "A range picked at random is typically off by 3 records."
    assert "running counts" in ranges("x").sentence(DOMAIN)


@pytest.mark.parametrize("name", ["  ", "a\nb", "x" * 201])
def test_a_range_has_a_name_that_can_be_printed(name: str) -> None:
    with pytest.raises(PolicyError, match="name of a range"):
        td.load_policy(small(release=[{"name": "r", "ranges": {"x": {name: [0, 4]}}}]))


def test_too_many_are_refused_before_any_is_listed() -> None:
    attributes = {"x": {"integer": [0, 5_000_001]}}
    with pytest.raises(PolicyError, match="too many for 1 listed ranges"):
        td.load_policy(
            {
                "dataset": "d",
                "attributes": attributes,
                "budget": {"epsilon": 1},
                "release": [{"name": "r", "ranges": {"x": [[0, 4]]}}],
            }
        )
