"""Families of pairs are what the equations say, on worlds small enough to look at."""

from fractions import Fraction

import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import DomainError, PolicyError, Refused
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.pufferfish import Secret, World, pairs
from tetraodon.pufferfish.pair import masks_of

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


def test_a_union_keeps_each_pair_once():
    both = pairs.presence() | pairs.values()
    assert both.on(WORLD) == pairs.values().on(WORLD)
    assert "; and " in both.text


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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pairs.intervals(k=0), "not positive"),
        (lambda: pairs.relative(c=1), "between 0 and 1"),
        (lambda: pairs.relative(c="0.9").on(World.product((0, 1), individuals=1)), "positive values"),
        (lambda: pairs.balls(delta=0), "not positive"),
        (lambda: pairs.aggregate(k=-1), "not positive"),
        (lambda: pairs.explicit([]), "nothing would be protected"),
        (lambda: pairs.explicit([("a", "b")]), "two secrets"),
        (lambda: pairs.graph("policy"), "no secret graph"),
        (lambda: Secret.between(0, 2, 1), "empty"),
        (lambda: World.of([]), "no dataset"),
        (lambda: World.of([1, 1]), "twice"),
        (lambda: World.product((0, 1), individuals=0), "somebody"),
        (lambda: World.product(range(10), individuals=10), "more than 1,000,000"),
        (lambda: World.of([1, 2]).individuals, "not tuples"),
        (lambda: World.of([1, 2]).where([False, False]), "no dataset satisfies"),
        (lambda: World.of_domain(Domain((Attribute("x", Integers(0, 10**7)),)), individuals=1), "too large"),
        (
            lambda: masks_of(pairs.explicit([(Secret.present(0), Secret.value(0, 1))]).on(WORLD), WORLD),
            r"both true of the dataset \(1, 0\)",
        ),
    ],
)
def test_bad_input_is_refused_with_a_fix(make, message):
    with pytest.raises((PolicyError, DomainError, Refused), match=rf"{message}.*Fix:"):
        make()
