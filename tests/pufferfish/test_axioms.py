"""k-anonymity fails the first axiom; Pufferfish definitions pass both."""

from fractions import Fraction

import pytest

from tetraodon.errors import Refused
from tetraodon.pufferfish import (
    Definition,
    World,
    convexity_counterexample,
    k_anonymity,
    pairs,
    post_processing_counterexample,
    scenarios,
    verify,
)

TABLES = (("13053", "13068"), ("130**", "130**"))


def test_k_anonymity_is_not_closed_under_post_processing():
    """[MK15]: undo the generalisation, and what was safe to publish no longer is."""
    world = World.of([("13053", "13068"), ("13068", "13053")])
    found = post_processing_counterexample(k_anonymity(2), world, TABLES)
    assert found is not None
    assert k_anonymity(2)(found.accepted[0])
    assert not k_anonymity(2)(found.rejected)
    assert found.text == ("not closed under post-processing: ('130**', '130**') becomes ('13053', '13068')")
    assert convexity_counterexample(k_anonymity(2), world, TABLES) is None


def test_pufferfish_definitions_pass_both():
    """[KM12] Thm 5.1."""
    world = World.product((0, 1), individuals=1)
    definition = Definition(pairs.values(), scenarios.independent(), odds=("1/2", 2))

    def private(channel):
        return bool(verify(channel, definition))

    assert post_processing_counterexample(private, world, (0, 1, 2), grain=3) is None
    assert convexity_counterexample(private, world, (0, 1, 2), grain=3) is None


def test_a_proposal_that_is_not_convex():
    world = World.product((0, 1), individuals=1)

    def deterministic(channel):
        return all(number in (0, 1) for row in channel.matrix for number in row)

    found = convexity_counterexample(deterministic, world, (0, 1), weight=Fraction(1, 3))
    assert found is not None
    assert found.axiom == "convexity"
    assert not deterministic(found.rejected)


def test_too_many_channels_are_refused():
    with pytest.raises(Refused, match="too many channels"):
        post_processing_counterexample(lambda _: True, World.product(range(9), individuals=2), range(4), grain=4)
    with pytest.raises(Refused, match="too many pairs"):
        convexity_counterexample(lambda _: True, World.product((0, 1), individuals=2), (0, 1), grain=5)
