"""Post-processing of added noise is bounded from above by the axioms; mixtures are attacked as well."""

import math
from fractions import Fraction

import pytest

from tetraodon.errors import PolicyError
from tetraodon.pufferfish import (
    Additive,
    Definition,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Mixed,
    Prior,
    Processed,
    World,
    named,
    pairs,
    scenarios,
    verify,
)

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
    assert (verdict.upper, verdict.holds, verdict.exact) == (1, True, False)
    at_zero = [math.exp(-x) / 8 + 3 * math.exp(-x / 2) / 16 for x in (0, 1)]
    assert float(verdict.lower) == pytest.approx(math.log(at_zero[0] / at_zero[1]))
    assert verdict.witness.output == 0
    assert verify(both, named.indistinguishability(epsilon="1/2")).holds is False
    assert verify(both, named.indistinguishability(epsilon="0.95")).holds is None


@pytest.mark.parametrize("noise", [Laplace, DiscreteLaplace])
@pytest.mark.parametrize("weight", ["1/2", "9/10"])
def test_a_mixture_of_one_kind_of_noise_is_exact(noise, weight):
    """Whether the sum or twice the first record is published stays secret; no output on a fine grid is worse."""
    scale, share = Fraction(3, 2), float(Fraction(weight))
    other = Additive(lambda d: 2 * d[0], noise(scale), WORLD)
    verdict = verify(
        Mixed.of([(weight, Additive(sum, noise(scale), WORLD)), (1 - Fraction(weight), other)]),
        named.indistinguishability(epsilon=2),
    )

    def density(w, d):
        return share * math.exp(-abs(w - sum(d)) / 1.5) + (1 - share) * math.exp(-abs(w - 2 * d[0]) / 1.5)

    grid = [n / 20 for n in range(-100, 140)] if noise is Laplace else range(-5, 8)
    neighbours = [(x, y) for x in WORLD for y in WORLD if sum(a != b for a, b in zip(x, y, strict=True)) == 1]
    worst = max(density(w, x) / density(w, y) for w in grid for x, y in neighbours)
    assert verdict.exact
    assert verdict.epsilon == pytest.approx(math.log(worst), rel=1e-12)
    assert verdict.upper - verdict.lower < Fraction(1, 10**15)
    assert verify(
        Mixed.of([(1, Additive(sum, noise(scale), WORLD))]), named.indistinguishability(epsilon="2/3")
    ).upper == Fraction(2, 3)


def test_mixtures_against_listed_attackers_and_where_nothing_is_claimed():
    twins = scenarios.explicit([Prior.of({(0, 0): "1/2", (1, 1): "1/2"})])
    verdict = verify(Mixed.of([("1/4", ONE), ("3/4", TWO)]), Definition(pairs.values(), twins, epsilon=1))
    assert 1 < verdict.lower < 2 <= verdict.upper < Fraction(2001, 1000)
    assert verdict.holds is False
    shared = Definition(pairs.values(), scenarios.iid(), epsilon=1)
    assert verify(Mixed.of([("1/4", ONE), ("3/4", TWO)]), shared).witness is None
    visible = Mixed.of([("1/2", ONE), ("1/2", ONE.with_(TWO))])
    assert verify(visible, named.indistinguishability(epsilon=2)).lower == 0


def test_bad_input():
    with pytest.raises(PolicyError, match="do not sum to 1"):
        Mixed.of([("1/4", ONE)])
    with pytest.raises(PolicyError, match="different worlds"):
        Mixed.of([("1/2", ONE), ("1/2", Additive(sum, Laplace(1), World.of([(0,), (1,)])))])
    noisy = Processed(Additive(sum, Gaussian(1), WORLD), round)
    with pytest.raises(PolicyError, match="delta is not carried"):
        verify(noisy, named.indistinguishability(epsilon=1, delta="0.5"))
