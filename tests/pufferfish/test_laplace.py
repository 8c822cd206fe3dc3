"""Laplace noise: the numbers of the papers, and enumeration in plain floats."""

import math
from fractions import Fraction

import pytest

from tetraodon.exact.exponent import sign_of_sum
from tetraodon.pufferfish import (
    Additive,
    Definition,
    DiscreteLaplace,
    Laplace,
    Prior,
    Secret,
    World,
    pairs,
    scenarios,
    verify,
)

HALF = Fraction(1, 2)


def exam(n):
    """[KM12] Example 9.1: the first k of n students have taken the exam."""
    return World.of([(1,) * k + (0,) * (n - k) for k in range(n + 1)])


def test_example_9_2_for_every_n():
    """Worst odds under the uniform prior: e^eps (e^(n eps) - 1) / (n (e^eps - 1)), as docs/errata.md corrects it."""
    for n in range(1, 51):
        world = exam(n)
        uniform = scenarios.explicit([Prior.uniform(world)])
        first = pairs.explicit([(Secret.value(0, 0), Secret.value(0, 1))])
        verdict = verify(Additive(sum, Laplace(2), world), Definition(first, uniform, epsilon=HALF))
        expected = math.exp(0.5) * math.expm1(n / 2) / (n * math.expm1(0.5))
        assert verdict.odds == pytest.approx(expected, rel=1e-13)
        assert verdict.holds is (n == 1)  # at n = 1 the odds are exactly e^epsilon, and equality is seen
        assert verdict.exact
        if n == 10:
            assert round(verdict.odds, 3) == 37.465


def test_every_student_of_the_exam_is_no_worse_off_than_the_first():
    world = exam(6)
    uniform = scenarios.explicit([Prior.uniform(world)])
    everyone = verify(Additive(sum, Laplace(2), world), Definition(pairs.values(), uniform, epsilon=1))
    assert everyone.odds == pytest.approx(math.exp(0.5) * math.expm1(3) / (6 * math.expm1(0.5)), rel=1e-13)


def test_scale_n_over_epsilon_serves_every_prior_of_the_exam():
    for n in (1, 2, 5, 10, 50):
        mechanism = Additive(sum, Laplace(n / HALF), exam(n))
        anything = Definition(pairs.values(), scenarios.anything(), epsilon=HALF)
        verdict = verify(mechanism, anything)
        assert verdict.upper == verdict.lower == HALF
        assert verdict.holds
        assert verify(mechanism, anything.at(HALF * Fraction(99, 100))).holds is False


def test_the_exam_given_its_constraint_is_enclosed():
    world = World.product((0, 1), individuals=4)
    order = scenarios.given(lambda d: list(d) == sorted(d, reverse=True), words="the order of the exam")
    verdict = verify(Additive(sum, Laplace(2), world), Definition(pairs.values(), order, epsilon=HALF))
    assert verdict.upper == pytest.approx(2, abs=1e-12)
    assert 1.9 < verdict.lower <= 2 <= verdict.upper  # 2 is the supremum, which no attacker attains
    assert (verdict.exact, verdict.holds) == (False, False)
    safe = verify(Additive(sum, Laplace(8), world), Definition(pairs.values(), order, epsilon=Fraction(501, 1000)))
    assert safe.holds is True


@pytest.mark.parametrize("k", [1, 2, 3])
def test_lemma_7_1(k):
    """Sums protected to absolute error k: Laplace(4k / epsilon) keeps epsilon; on a grid of step h the neighbouring
    half-open intervals reach 4k - h apart, so the loss is epsilon (1 - h / 4k): tight as h falls."""
    epsilon = Fraction(7, 10)
    for step in (Fraction(1), Fraction(1, 2), Fraction(1, 4)):
        values = [step * n for n in range(int(5 * k / step))]
        world = World.product(values, individuals=1)
        protected = Definition(pairs.intervals(k=k), scenarios.independent(), epsilon=epsilon)
        verdict = verify(Additive(sum, Laplace(4 * k / epsilon), world), protected)
        assert verdict.holds
        assert verdict.upper == epsilon * (1 - step / (4 * k))


def test_lemma_7_1_with_more_people():
    world = World.product(range(6), individuals=2)
    protected = Definition(pairs.intervals(k=1), scenarios.independent(), epsilon=1)
    assert verify(Additive(sum, Laplace(4), world), protected).upper == Fraction(3, 4)


def test_two_datasets_lose_exactly_the_distance_over_the_scale():
    world = World.product((0, 1, 5), individuals=2)
    for noise in (Laplace("3/2"), DiscreteLaplace("3/2")):
        verdict = verify(
            Additive(sum, noise, world), Definition(pairs.values(), scenarios.independent(), epsilon="10/3")
        )
        assert verdict.upper == verdict.lower == Fraction(10, 3)
        assert verdict.holds


def test_no_output_between_the_answers_is_worse():
    """The claim behind `outputs`: mixtures of Laplace densities have their largest ratio at a true answer."""
    prior = Prior.of({(0,): "1/2", (1,): "1/8", (4,): "1/8", (9,): "1/4"})
    pair = (Secret.one_of(0, {0, 4}), Secret.one_of(0, {1, 9}))
    verdict = verify(
        Additive(sum, Laplace(2), World.product((0, 1, 4, 9), individuals=1)),
        Definition(pairs.explicit([pair]), scenarios.explicit([prior]), epsilon=1),
    )

    def odds(w):
        one, two = (sum(p * math.exp(-abs(w - d[0]) / 2) for d, p in prior.given(secret).weights) for secret in pair)
        return max(one / two, two / one)

    assert max(odds(w / 100) for w in range(-2000, 3000)) == pytest.approx(verdict.odds, rel=1e-12)


def test_two_noisy_answers_are_verified_together():
    world = World.product((0, 1), individuals=2)
    both = Additive(sum, Laplace(2), world).with_(Additive(lambda d: d[0], DiscreteLaplace(4), world))
    verdict = verify(both, Definition(pairs.values(), scenarios.independent(), epsilon="3/4"))
    assert verdict.upper == Fraction(3, 4)
    prior = scenarios.explicit([Prior.uniform(world)])
    mixed = verify(both, Definition(pairs.values(), prior, epsilon="3/4"))
    assert mixed.upper == pytest.approx(Fraction(3, 4))
    assert mixed.holds is True  # exactly e^(3/4), at the output (0, 0)


def test_equality_with_e_to_the_epsilon_is_seen():
    """P(w | s1) = e^epsilon P(w | s2) exactly, by mixtures: a float cannot tell, Lindemann and Weierstrass can."""
    world = World.product((0, 1, 2, 3), individuals=1)
    pair = (Secret.one_of(0, {0, 1}), Secret.one_of(0, {2, 3}))
    prior = Prior.uniform(world)
    mechanism = Additive(sum, Laplace(1), world)
    definition = Definition(pairs.explicit([pair]), scenarios.explicit([prior]), epsilon=2)
    assert verify(mechanism, definition).holds is True
    for digits in (30, 39, 60):
        assert verify(mechanism, definition.at(Fraction(2) - Fraction(1, 10**digits))).holds is False
        assert verify(mechanism, definition.at(Fraction(2) + Fraction(1, 10**digits))).holds is True
    assert sign_of_sum({Fraction(1): Fraction(1), Fraction(2): Fraction(0)}) == 1


def test_the_bracket_of_a_mixture_holds_the_truth():
    """At n = 2 the worst odds of the exam are (e + e^(1/2)) / 2: e^lower and e^upper lie on either side, exactly."""
    uniform = scenarios.explicit([Prior.uniform(exam(2))])
    verdict = verify(Additive(sum, Laplace(2), exam(2)), Definition(pairs.values(), uniform, epsilon=HALF))
    truth = {Fraction(1): -HALF, HALF: -HALF}
    assert sign_of_sum({verdict.upper: Fraction(1), **truth}) == 1
    assert sign_of_sum({verdict.lower: Fraction(1), **truth}) == -1
    assert verdict.upper - verdict.lower < Fraction(1, 10**30)


def test_odds_of_added_noise_are_bounded_in_each_direction():
    """Loss 1/2 in both directions: e^(1/2) is 1.6487...; a bound of 5/3 allows it and one of 8/5 does not."""
    world = World.product((0, 1), individuals=1)
    mechanism = Additive(sum, Laplace(2), world)
    for scenario in (scenarios.independent(), scenarios.explicit([Prior.uniform(world)])):
        for low, high, holds in (
            ("3/5", "5/3", True),
            (0, "5/3", True),
            ("5/8", "5/3", False),
            ("3/5", "8/5", False),
            (0, "8/5", False),
        ):
            assert verify(mechanism, Definition(pairs.values(), scenario, odds=(low, high))).holds is holds
