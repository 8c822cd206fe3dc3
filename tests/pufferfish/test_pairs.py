"""Families of pairs are what the equations say, on worlds small enough to look at."""

import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import DomainError, PolicyError, Refused
from tetraodon.pufferfish import Secret, World, pairs
from tetraodon.pufferfish.pairs import masks_of

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
