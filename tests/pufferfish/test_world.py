"""Worlds: every dataset once, and questions about them that do not need the list."""

import itertools

import pytest

from tetraodon.errors import Refused
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.pufferfish import World


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
