"""Added noise: its kinds, its likelihoods and where odds are worst."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.worlds import graphs, positive, queries

from tetraodon.certificate import certify_measurements
from tetraodon.errors import NoiseError
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.pufferfish import Additive, DiscreteLaplace, Gaussian, Laplace, World, named, verify
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
