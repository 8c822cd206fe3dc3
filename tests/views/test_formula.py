"""Conditions as networks: negations at the predicates, one index of two values for each disjunction."""

from __future__ import annotations

import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.query.condition.nodes import Always
from tetraodon.query.condition.read import read_condition
from tetraodon.query.condition.syntax import Names
from tetraodon.views.domain_count import Leaf, Node, formula, joined, leaves, network

DOMAIN = Domain(tuple(Attribute(name, Integers(0, 999)) for name in "abcd"))


def made(asked: str) -> Leaf | Node:
    return formula(read_condition(asked, Names(DOMAIN)))


def test_negations_move_down() -> None:
    found = made("not (a < b and (c > 3 or not d = 1))")
    assert isinstance(found, Node)
    assert not found.every
    assert [leaf.truth for leaf in leaves(found)] == [
        read_condition(asked, Names(DOMAIN)) for asked in ("not a < b", "not c > 3", "d = 1")
    ]


def test_between_is_two_comparisons() -> None:
    assert [leaf.places for leaf in leaves(made("a between b and c"))] == [(0, 1), (0, 2)]


@pytest.mark.parametrize(
    ("asked", "places"),
    [
        ("a < b and (a > 3 or b > 7) and c = 1", [(0, 1), (2,)]),
        ("a < 3 or a > 7 or a = 5", [(0,)]),
        ("a < b and b < c and c < d", [(0, 1), (1, 2), (2, 3)]),
        ("(a < b and b > 3) or (b < c and c > 3)", [(0, 1), (1, 2)]),
    ],
)
def test_parts_are_joined_where_it_costs_nothing(asked: str, places: list[tuple[int, ...]]) -> None:
    assert sorted(leaf.places for leaf in leaves(joined(made(asked), DOMAIN.shape))) == places


def test_a_disjunction_has_one_index_of_its_own() -> None:
    found = joined(made("a < b or b < c or c < d"), DOMAIN.shape)
    indices = [factor.indices for factor in network(found, lambda _: pytest.fail("no table is made yet"))]
    assert indices == [("g0",), ("a0", "a1", "g0"), ("a1", "a2", "g0"), ("a2", "a3", "g0")]


def test_a_long_condition_is_written_without_depth() -> None:
    whole = Node(True, tuple(Leaf(Always(True)) for _ in range(5000)))
    assert whole.truth.weight == 5001
