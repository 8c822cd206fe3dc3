"""Pairs in a world: each secret once, both sides apart."""

import pytest

from tetraodon.errors import PolicyError
from tetraodon.pufferfish import Secret, World, pairs
from tetraodon.pufferfish.pairs import Pair, masks_of

WORLD = World.product((0, 1, 2), individuals=2)


def test_masks_are_truth_values():
    listed = pairs.values().on(WORLD)
    masks = masks_of(listed, WORLD)
    assert len(masks.masks) == 6  # two people, three values, each secret once
    for pair, one, other in zip(listed, masks.first, masks.second, strict=True):
        for n, dataset in enumerate(WORLD.datasets):
            assert masks.masks[one, n] == pair.first.holds(dataset)
            assert masks.masks[other, n] == pair.second.holds(dataset)


def test_who_decides_a_pair():
    assert Pair(Secret.value(0, 1), Secret.value(1, 1)).about == {0, 1}
    assert Pair(Secret.value(0, 1), Secret.that("odd", lambda d: sum(d) % 2)).about is None
    assert Pair(Secret.value(0, 1), Secret.value(0, 2)).text == "“individual 0 has 1” and “individual 0 has 2”"


def test_listed_pairs_in_words():
    one = pairs.explicit([(Secret.value(0, 1), Secret.value(0, 2))])
    assert one.text == "“individual 0 has 1” and “individual 0 has 2”"
    assert (pairs.explicit([*one.on(WORLD), *one.on(WORLD)])).text == "2 listed pairs of secrets"


def test_a_statement_that_others_decide_is_refused() -> None:
    """What is proved about one record would be proved about nothing."""
    lie = [Secret.that(f"record 1 is {v}", lambda d, v=v: d[1] == v, about=[0]) for v in (0, 1)]
    with pytest.raises(PolicyError, match="decided by others"):
        masks_of([Pair(*lie)], WORLD)
    wide = [Secret.that(f"record 1 is {v}", lambda d, v=v: d[1] == v, about=[0, 1]) for v in (0, 1)]
    assert masks_of([Pair(*wide)], WORLD).masks.sum() == 6


def test_individuals_are_not_numbered_from_the_end() -> None:
    """Python would find a record there, and nobody would be compared with anybody."""
    with pytest.raises(PolicyError, match="not in this world"):
        masks_of([Pair(Secret.value(-1, 0), Secret.value(-1, 1))], WORLD)
