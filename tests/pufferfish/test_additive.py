"""Added noise: its kinds, its likelihoods and where odds are worst."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.worlds import graphs, positive, queries

from tetraodon.certificate import certify_measurements
from tetraodon.errors import NoiseError, PolicyError
from tetraodon.exact.exponent import sign_of_sum
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.pufferfish import (
    Additive,
    Definition,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Mixed,
    Prior,
    Processed,
    Secret,
    World,
    named,
    pairs,
    scenarios,
    verify,
)
from tetraodon.query.linear import Measurement


def test_numbers_are_read_as_written():
    assert Laplace(0.1).scale == DiscreteLaplace("0.1").scale == Gaussian("1/10").sigma == Fraction(1, 10)
    assert [kind.text for kind in (Laplace(2), DiscreteLaplace(2), Gaussian(2))] == [
        "Laplace noise of scale 2",
        "discrete Laplace noise of scale 2",
        "Gaussian noise of standard deviation 2",
    ]


@pytest.mark.parametrize("kind", [Laplace, DiscreteLaplace, Gaussian])
@pytest.mark.parametrize("number", [0, -1])
def test_noise_is_positive(kind, number):
    with pytest.raises(NoiseError, match=r"not positive.*Fix"):
        kind(number)


@pytest.mark.parametrize("size", [1, 10**9, 10**30])
def test_exponents_are_sums_of_distances_over_scales(size):
    """In 64 bits, and beyond them."""
    scales = (Fraction(2), Fraction(7, 3), Fraction(1, 11))
    world = World.product((0, 1, 5), individuals=2)
    mechanism = Additive(lambda d: (sum(d) * size, Fraction(d[0], 3), -d[1] * size), tuple(map(Laplace, scales)), world)
    found = mechanism.exponents(mechanism.outputs)
    for dataset, answer in enumerate(mechanism.answers):
        for place, output in enumerate(mechanism.outputs):
            by_hand = sum(abs(a - w) / scale for a, w, scale in zip(answer, output, scales, strict=True))
            assert Fraction(int(found.steps[dataset, place]), found.unit) == by_hand


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_every_certificate_is_what_the_worst_attacker_sees(data):
    """Discrete Laplace noise on linear queries: the kernel's epsilon is tight, and fails at 0.99 of itself."""
    graph = data.draw(graphs())
    if graph.domain.size > 12 or not graph.has_edges:
        return
    asked = data.draw(st.lists(queries(graph.domain), min_size=1, max_size=2))
    measurements = [Measurement(query, data.draw(positive)) for query in asked]
    rows = [(row, m.scale) for m in measurements for row in m.query.matrix(graph.domain)[0].tolist()]
    world = World.of_domain(graph.domain, individuals=1, absent=graph.absent)

    def answers(dataset):
        cells = [graph.domain.cell(record) for record in dataset if record is not ABSENT]
        return tuple(sum(row[cell] for cell in cells) for row, _ in rows)

    mechanism = Additive(answers, tuple(DiscreteLaplace(scale) for _, scale in rows), world)
    epsilon = certify_measurements(graph, measurements).epsilon
    definition = named.blowfish(graph, epsilon=epsilon)
    verdict = verify(mechanism, definition)
    assert verdict.upper == verdict.lower == epsilon
    assert verdict.holds
    if epsilon:
        assert verify(mechanism, definition.at(epsilon * Fraction(99, 100))).holds is False


# -- laplace -----------------------------------------------------------------------------------------
# Laplace noise: the numbers of the papers, and enumeration in plain floats.

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


# -- derived mechanism -------------------------------------------------------------------------------
# Post-processing of added noise is bounded from above by the axioms; mixtures are attacked as well.

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
