"""The order of margins: what tells what, which fit together, and blocks before values."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.inference.consistency import Margin, finest, fitting, is_in, margins_of, meet, normal, splits_of
from tetraodon.query.linear import Split

DOMAIN = Domain((*(Attribute(name, Integers(0, 2)) for name in "abcd"), Attribute("long", Integers(0, 99))))


def margin(*names: str) -> Margin:
    return Margin(tuple((name, None) for name in sorted(names)))


def test_the_same_groups_have_one_name() -> None:
    one, other = Margin((("a", (1, 1, 0)),)), Margin((("a", (0, 0, 1)),))
    assert normal(one) == normal(other) == other
    assert meet(margin("a", "b"), one) == other
    assert normal(Margin((("a", (0, 0, 0)), ("b", None)))) == margin("b")


def test_what_tells_what() -> None:
    assert is_in(margin(), margin("a"))
    assert is_in(margin("a"), margin("a", "b"))
    assert not is_in(margin("a", "b"), margin("a"))
    assert is_in(Margin((("a", (0, 0, 1)),)), margin("a"))
    assert not is_in(Margin((("a", (0, 0, 1)),)), Margin((("a", (0, 1, 1)),)))
    assert finest([margin(), margin("a"), margin("b"), margin("a", "b")]) == [margin("a", "b")]


@pytest.mark.parametrize(
    ("names", "left"),
    [
        (["ab", "bc"], 0),
        (["a", "b", "c"], 0),
        (["ab", "bc", "cd"], 0),
        (["ab", "bc", "ac"], 1),
        (["abc", "bcd", "ad"], 1),
        (["ab", "bc", "cd", "ad"], 1),
    ],
)
def test_margins_fit_unless_they_form_a_cycle(names: list[str], left: int) -> None:
    fit, rest = fitting([margin(*name) for name in names])
    assert len(rest) == left
    assert {*fit, *rest} == {margin(*name) for name in names}


def test_blocks_of_a_margin_and_its_values_may_form_a_cycle() -> None:
    blocks, a_values, b_values = (
        Margin((("a", None), ("b", None), ("d", (0, 0, 1)))),
        margin("a", "d"),
        margin("b", "d"),
    )
    assert fitting([blocks, a_values])[1] == []
    assert len(fitting([blocks, a_values, b_values])[1]) == 1
    map_blocks = Margin((("a", (0, 0, 1)), ("b", (0, 0, 1))))
    assert fitting([map_blocks, margin("a"), margin("b")])[1] == []


def test_bins_that_overlap_crosswise_do_not_fit() -> None:
    assert len(fitting([Margin((("a", (0, 0, 1)),)), Margin((("a", (0, 1, 1)),))])[1]) == 1


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "c", "ab", "bc", "ac", "abc"]), min_size=1, max_size=4, unique=True))
def test_margins_that_fit_join_one_before_them(names: list[str]) -> None:
    """What a margin shares with all before it is in one of them: so it can be joined without a clash."""
    fit, _ = fitting(finest([margin(*name) for name in names]))
    for place, one in enumerate(fit[1:], 1):
        mine = {name for name, _ in one.groups}
        before = [{name for name, _ in other.groups} for other in fit[:place]]
        assert any(mine & set().union(*before) <= other for other in before)


def test_values_come_after_blocks_and_every_margin_after_what_it_tells() -> None:
    found = margins_of([(Split("long"), Split("a")), (Split("a"), Split("b"))], DOMAIN)
    for place, one in enumerate(found):
        assert not any(is_in(later, one) for later in found[place + 1 :])
    sizes = [one.cells(DOMAIN) for one in found if dict(one.groups).keys() == {"long", "a"}]
    assert sizes == [2 * 3, 7 * 3, 25 * 3, 100 * 3]
    assert all(meet(a, b) in found for a, b in product(found, found))


def test_attributes_without_order_in_bins_or_very_long_have_no_blocks() -> None:
    named = Domain((Attribute("a", Categories(tuple("abcdefgh")), other=0), Attribute("b", Integers(0, 10**6))))
    assert margins_of([(Split("a"),), (Split("b"),)], named) == [margin(), margin("a"), margin("b")]
    bins = tuple(int(code > 49) for code in range(100))
    assert len(margins_of([(Split("long"),), (Split("long", bins),)], DOMAIN)) == 3


def test_a_margin_is_a_table() -> None:
    one = Margin((("a", None), ("long", tuple(np.repeat([0, 1], 50).tolist()))))
    assert Margin.of(splits_of(one)) == one
