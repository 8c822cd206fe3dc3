"""Families of pairs are what the equations say, on worlds small enough to look at."""

from fractions import Fraction

import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import DomainError
from tetraodon.pufferfish import Secret, World, pairs

WORLD = World.product((0, 1), individuals=2, absent=True)


def sides(family, world):
    """Each pair as the two sets of datasets it separates."""
    return {
        tuple(frozenset(d for d in world.datasets if secret.holds(d)) for secret in pair) for pair in family.on(world)
    }


def test_presence_is_equation_6():
    found = pairs.presence().on(WORLD)
    assert len(found) == 4
    for pair in found:
        (i,) = pair.about
        assert pair.second == Secret.absent(i)
        assert any(pair.first == Secret.value(i, t) for t in (0, 1))


def test_values_is_equation_16():
    assert len(pairs.values().on(WORLD)) == 6
    assert len(pairs.all_values().on(WORLD)) == 2
    assert len(pairs.membership().on(WORLD)) == 2
    assert pairs.values().on(World.product((0, 1), individuals=2)) == pairs.all_values().on(WORLD)


def test_intervals_are_equations_8_and_9_for_every_real_x():
    world = World.product((0, 1, 3, 4, 9), individuals=1)
    k = Fraction(1)
    dense = set()
    for n in range(-400, 1200):
        x = Fraction(n, 100)
        one, two = Secret.between(0, x - k, x + k), Secret.between(0, x + k, x + 3 * k)
        split = tuple(frozenset(d for d in world.datasets if secret.holds(d)) for secret in (one, two))
        if all(split):
            dense.add(split)
    assert sides(pairs.intervals(k=1), world) == dense


def test_relative_intervals_are_absolute_ones_of_the_logarithm():
    values = (1, 2, 4, 8, 16)
    world = World.product(values, individuals=1)
    exponents = World.product(range(5), individuals=1)
    relative = sides(pairs.relative(c="0.5"), world)
    absolute = sides(pairs.intervals(k=1), exponents)
    assert {tuple(frozenset(2 ** d[0] for d in side) for side in pair) for pair in absolute} == {
        tuple(frozenset(d[0] for d in side) for side in pair) for pair in relative
    }


def test_balls_are_equations_12_and_13():
    world = World.product(range(5), individuals=1)
    expected = set()
    for centre in range(5):
        near = frozenset((v,) for v in range(5) if abs(v - centre) <= 1)
        ring = frozenset((v,) for v in range(5) if 1 < abs(v - centre) <= 2)
        if ring:
            expected.add((near, ring))
    assert sides(pairs.balls(delta=1), world) == expected


def test_aggregates_split_the_total():
    world = World.product((0, 1, 2), individuals=2)
    for one, other in sides(pairs.aggregate(k="1/2"), world):
        assert max(map(sum, one)) + 1 == min(map(sum, other))
    assert "total" in pairs.aggregate(k=1).text


def test_attributes_have_names():
    domain = Domain((Attribute("age", Integers(0, 3)), Attribute("sex", Integers(0, 1))))
    world = World.of_domain(domain, individuals=1)
    found = pairs.intervals("age", k="1/2").on(world)
    assert found
    assert all(pair.first.holds(((1, 0),)) == pair.first.holds(((1, 1),)) for pair in found)
    with pytest.raises(DomainError, match="no attribute 'agee'"):
        pairs.intervals("agee", k=1).on(world)
