"""A definition as linear constraints, and the verifier, agree on every channel."""

from fractions import Fraction

from tetraodon.pufferfish import (
    Channel,
    Definition,
    World,
    compiled,
    pairs,
    scenarios,
    verify,
)


def test_the_template_says_what_the_verifier_says():
    world = World.product((0, 1), individuals=1)
    definition = Definition(pairs.values(), scenarios.independent(), odds=("1/2", 2))
    for p in (Fraction(2, 3), Fraction(67, 100)):
        channel = Channel([[p, 1 - p], [1 - p, p]], world.datasets, (0, 1))
        broken = compiled(definition, world).check(channel)
        assert (broken is None) == bool(verify(channel, definition)) == (p == Fraction(2, 3))
    assert broken is not None
    assert broken.amount == Fraction(67, 100) - 2 * Fraction(33, 100)
