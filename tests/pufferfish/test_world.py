"""Worlds: every dataset once, and questions about them that do not need the list."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from tetraodon.errors import Refused
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.pufferfish import Secret, World, pairs
from tetraodon.pufferfish.world import And, HalfOpen, In, Is, Near, Not, shown, value_of


def test_a_product_holds_every_combination():
    world = World.product((0, 1), individuals=2, absent=True)
    assert world.size == 9
    assert world.is_product
    assert world.values == (0, 1)
    assert world.options == ((0, 1, ABSENT),) * 2
    assert [world.datasets[world.index[d]] for d in world] == list(world.datasets)
    for row, dataset in zip(world.codes, world.datasets, strict=True):
        assert tuple(world.options[i][code] for i, code in enumerate(row)) == dataset


def test_part_of_a_world_is_no_product():
    world = World.product((0, 1), individuals=2)
    part = world.where(sum(d) != 1 for d in world)
    assert part.datasets == ((0, 0), (1, 1))
    assert not part.is_product
    assert World.of([[0, 1]]).datasets == ((0, 1),)


def test_attributes_are_places_in_a_record():
    world = World.product(((1, 2),), individuals=1, names=("age", "sex"))
    assert (world.position("sex"), world.position(0), world.position(None)) == (1, 0, None)
    assert World.product((3,), individuals=1, names=("age",)).position("age") is None


def test_values_without_end_are_refused() -> None:
    with pytest.raises(Refused, match="bound the values"):
        World.product(itertools.count(), individuals=1)
    with pytest.raises(Refused, match="bound the values"):
        World.of((n,) for n in itertools.count())


# -- secret ------------------------------------------------------------------------------------------


def test_intervals_are_half_open():
    interval = HalfOpen(Fraction(1), Fraction(2))
    assert [number in interval for number in map(Fraction, (0, 1, "1.5", 2))] == [False, True, True, False]
    assert interval.text == "[1, 2)"


def test_statements_combine_and_compare():
    present = Not(In(0, frozenset({ABSENT})))
    assert And(present, Not(Is((1,)))) == And(present, Not(Is((1,))))
    assert And(present, Not(Is((1,))))((0,))
    assert not And(present, Not(Is((1,))))((ABSENT,))
    assert In(0, frozenset({ABSENT}), attribute=1)((ABSENT,))


@pytest.mark.parametrize(("distance", "inside"), [(0, False), (1, False), (2, True), (3, True), (4, False)])
def test_a_ring_excludes_its_inner_edge(distance, inside):
    assert Near((0,), lambda x, y: abs(x[0] - y[0]), Fraction(1), Fraction(3))((distance,)) is inside


def test_values_of_records():
    assert value_of(ABSENT, 1) is ABSENT
    assert value_of((7, 0.1), 1) == 0.1
    assert 0.1 in HalfOpen(Fraction(1, 10), Fraction(1))
    assert ABSENT not in HalfOpen(Fraction(0), Fraction(1))


def test_what_is_shown_reads_as_people_write():
    assert shown((Fraction(1, 3), (Fraction(2),), "a", ABSENT)) == f"(1/3, (2,), 'a', {ABSENT!r})"
    assert shown(0.5) == "0.5"


def test_secrets_compare_print_and_combine():
    assert Secret.value(0, 1) == Secret.value(0, 1) != Secret.value(1, 1)
    assert len({Secret.present(0), Secret.present(0)}) == 1
    assert Secret.value(0, ABSENT) == Secret.absent(0)
    both = Secret.present(0) & ~Secret.value(0, 1)
    assert [both.holds(d) for d in ((0,), (1,), (ABSENT,))] == [True, False, False]
    assert both.about == {0}
    assert (Secret.that("odd", lambda d: sum(d) % 2) & Secret.present(0)).about is None
    assert Secret.agree(0, 1).holds((2, 2))
    assert not Secret.agree(0, 1).holds((ABSENT, ABSENT))
    assert Secret.agree(0, 1, attribute=1).holds(((0, 5), (1, 5)))
    assert Secret.one_of(0, {5}, attribute=1).holds(((0, 5),))
    assert Secret.between(0, 1, 2).text == "individual 0 lies in [1, 2)"
    assert Secret.aggregate("total", sum, 1, 3).holds((1, 1))
    assert Secret.near((0, 0), 2, pairs.hamming, beyond=1).holds((1, 1))
    assert not Secret.between(0, 1, 2).holds((ABSENT,))
