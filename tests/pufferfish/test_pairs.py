"""Families of pairs are what the equations say, on worlds small enough to look at."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import DomainError, PolicyError, Refused
from tetraodon.pufferfish import Secret, World, pairs
from tetraodon.pufferfish.pairs import Pair, masks_of

WORLD = World.product((0, 1), individuals=2, absent=True)


def test_a_union_keeps_each_pair_once():
    both = pairs.presence() | pairs.values()
    assert both.on(WORLD) == pairs.values().on(WORLD)
    assert "; and " in both.text


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
        (lambda: World.product((0, 1), individuals=0), "individual"),
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


def test_functions_of_the_dataset_are_secrets_too() -> None:
    (pair,) = pairs.explicit([(lambda d: d[0] == 0, lambda d: d[0] == 1)]).on(World.of([(0,), (1,)]))
    assert pair.first.holds((0,))
    assert not pair.second.holds((0,))


def test_records_of_one_bare_value_have_one_attribute_whatever_it_is_called() -> None:
    world = World.product(range(4), individuals=1)
    assert (
        pairs.intervals("salary", k=1).on(world) == pairs.intervals(0, k=1).on(world) == pairs.intervals(k=1).on(world)
    )


# -- pair --------------------------------------------------------------------------------------------

TERNARY = World.product((0, 1, 2), individuals=2)


def test_masks_are_truth_values():
    listed = pairs.values().on(TERNARY)
    masks = masks_of(listed, TERNARY)
    assert len(masks.masks) == 6  # two people, three values, each secret once
    for pair, one, other in zip(listed, masks.first, masks.second, strict=True):
        for n, dataset in enumerate(TERNARY.datasets):
            assert masks.masks[one, n] == pair.first.holds(dataset)
            assert masks.masks[other, n] == pair.second.holds(dataset)


def test_who_decides_a_pair():
    assert Pair(Secret.value(0, 1), Secret.value(1, 1)).about == {0, 1}
    assert Pair(Secret.value(0, 1), Secret.that("odd", lambda d: sum(d) % 2)).about is None
    assert Pair(Secret.value(0, 1), Secret.value(0, 2)).text == "“individual 0 has 1” and “individual 0 has 2”"


def test_listed_pairs_in_words():
    one = pairs.explicit([(Secret.value(0, 1), Secret.value(0, 2))])
    assert one.text == "“individual 0 has 1” and “individual 0 has 2”"
    assert (pairs.explicit([*one.on(TERNARY), *one.on(TERNARY)])).text == "2 listed pairs of secrets"


def test_a_statement_that_others_decide_is_refused() -> None:
    """What is proved about one record would be proved about nothing."""
    lie = [Secret.that(f"record 1 is {v}", lambda d, v=v: d[1] == v, about=[0]) for v in (0, 1)]
    with pytest.raises(PolicyError, match="decided by others"):
        masks_of([Pair(*lie)], TERNARY)
    wide = [Secret.that(f"record 1 is {v}", lambda d, v=v: d[1] == v, about=[0, 1]) for v in (0, 1)]
    assert masks_of([Pair(*wide)], TERNARY).masks.sum() == 6


def test_individuals_are_not_numbered_from_the_end() -> None:
    """Python would find a record there, and nobody would be compared with anybody."""
    with pytest.raises(PolicyError, match="not in this world"):
        masks_of([Pair(Secret.value(-1, 0), Secret.value(-1, 1))], TERNARY)


# -- pair families -----------------------------------------------------------------------------------
# Families of pairs are what the equations say, on worlds small enough to look at.

WITH_ABSENCE = World.product((0, 1), individuals=2, absent=True)


def sides(family, world):
    """Each pair as the two sets of datasets it separates."""
    return {
        tuple(frozenset(d for d in world.datasets if secret.holds(d)) for secret in pair) for pair in family.on(world)
    }


def test_presence_is_equation_6():
    found = pairs.presence().on(WITH_ABSENCE)
    assert len(found) == 4
    for pair in found:
        (i,) = pair.about
        assert pair.second == Secret.absent(i)
        assert any(pair.first == Secret.value(i, t) for t in (0, 1))


def test_values_is_equation_16():
    assert len(pairs.values().on(WITH_ABSENCE)) == 6
    assert len(pairs.all_values().on(WITH_ABSENCE)) == 2
    assert len(pairs.membership().on(WITH_ABSENCE)) == 2
    assert pairs.values().on(World.product((0, 1), individuals=2)) == pairs.all_values().on(WITH_ABSENCE)


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
