from __future__ import annotations

import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.engine.counting import LONGEST_SUM, covering, passes, require_summable
from tetraodon.errors import DomainError, QueryError

DOMAIN = Domain(
    (Attribute("a", Integers(0, 99)), Attribute("b", Integers(0, 99)), Attribute("huge", Integers(0, 10**9)))
)


def test_small_groups_share_a_pass():
    assert passes([("b",), ("a",), ()], DOMAIN) == [("a", "b")]


def test_what_is_inside_a_group_asked_for_costs_nothing():
    done = passes([("huge",), ("huge", "b"), ("a",)], DOMAIN)
    assert done == [("b", "huge"), ("a",)]
    assert [covering(group, done) for group in (("huge",), ("b",), ("a",), ())] == [0, 0, 1, 0]


def test_misuse():
    with pytest.raises(DomainError, match="did you mean 'huge'"):
        passes([("hug",)], DOMAIN)
    with pytest.raises(QueryError, match="twice"):
        passes([("a", "a")], DOMAIN)


def test_codes_that_64_bits_may_not_hold_the_sum_of():
    require_summable({(): ["a"]}, DOMAIN)
    assert LONGEST_SUM < 10**9
    with pytest.raises(QueryError, match="too many values to be added up"):
        require_summable({(): ["huge"]}, DOMAIN)
