"""The loss of one given step is what its two columns say."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.worlds import graphs, positive, queries

from tetraodon.certificate.kernel import certify_measurements
from tetraodon.certificate.pair_loss import loss_of_pair
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.query.linear import Measurement


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_it_is_the_distance_of_two_columns(data: st.DataObject) -> None:
    domain = data.draw(graphs()).domain
    measurements = [
        Measurement(query, data.draw(positive)) for query in data.draw(st.lists(queries(domain), max_size=3))
    ]
    cells = st.one_of(st.integers(0, domain.size - 1), st.none())
    pair = (data.draw(cells), data.draw(cells))
    truth = Fraction(0)
    for measurement in measurements:
        for row in measurement.query.matrix(domain)[0].tolist():
            first, second = (0 if cell is None else row[cell] for cell in pair)
            truth += abs(first - second) / measurement.scale
    values = tuple(ABSENT if cell is None else domain.value(cell) for cell in pair)
    assert loss_of_pair(domain, measurements, (values[0], values[1])) == truth


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_witness_of_a_certificate_loses_what_is_certified(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    measurements = [Measurement(query, data.draw(positive)) for query in data.draw(st.lists(queries(graph.domain)))][:3]
    certificate = certify_measurements(graph, measurements)
    if certificate.witness is not None:
        assert loss_of_pair(graph.domain, measurements, certificate.witness) == certificate.epsilon
