"""Post-processing and mixing of added noise: bounded from above by the axioms, and nothing claimed from below."""

from fractions import Fraction

import pytest

from tetraodon.errors import PolicyError
from tetraodon.pufferfish import Additive, Gaussian, Laplace, Mixed, Processed, World, named, verify

WORLD = World.product((0, 1), individuals=2)
ONE, TWO = Additive(sum, Laplace(1), WORLD), Additive(sum, Laplace(2), WORLD)


def test_post_processing_keeps_what_was_proved():
    verdict = verify(Processed(TWO, round), named.indistinguishability(epsilon="1/2"))
    assert (verdict.lower, verdict.upper, verdict.exact, verdict.holds) == (0, Fraction(1, 2), False, True)
    assert "post-processing never adds" in verdict.text
    assert verify(Processed(TWO, round), named.indistinguishability(epsilon="1/3")).holds is None


def test_a_mixture_is_no_worse_than_its_worst_part():
    both = Mixed.of([("1/4", ONE), ("3/4", TWO)])
    assert both.world == WORLD == Processed(ONE, round).world
    verdict = verify(both, named.indistinguishability(epsilon=1))
    assert (verdict.lower, verdict.upper, verdict.holds) == (0, 1, True)
    assert verify(both, named.indistinguishability(epsilon="1/2")).holds is None


def test_bad_input():
    with pytest.raises(PolicyError, match="do not sum to 1"):
        Mixed.of([("1/4", ONE)])
    with pytest.raises(PolicyError, match="different worlds"):
        Mixed.of([("1/2", ONE), ("1/2", Additive(sum, Laplace(1), World.of([(0,), (1,)])))])
    noisy = Processed(Additive(sum, Gaussian(1), WORLD), round)
    with pytest.raises(PolicyError, match="delta is not carried"):
        verify(noisy, named.indistinguishability(epsilon=1, delta="0.5"))
