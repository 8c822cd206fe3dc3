"""What noise on each record's value loses.

Noise of scale b moves a record from its place on a scale (`workload/disguised.py`), and how many records are shown at
each place is told. Two values d places apart show anything with chances that differ by a factor of at most e^(d/b),
and by that for some places: beyond the farther one, discrete Laplace noise attains it. So what a step costs is D/b at
most, D the most places between two values that are a secret, and that of some step. A histogram of the attribute
stands in for it: a record that changes there moves two counts by one each, which costs D/b with noise of scale 2b/D.
How many records there are is told exactly. Between data sets that differ in several records, each that is in one and
not in the other may cost what the whole scale is long; so known counts and attackers to whom rows depend on each other
are priced by the same histogram, D being the length of the scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from tetraodon.errors import Refused
from tetraodon.policy.attribute_graph import Public
from tetraodon.policy.relative_graph import WithinShare
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.workload.among import Among
from tetraodon.workload.contribution import One
from tetraodon.workload.disguised import Disguised
from tetraodon.workload.linear import LinearQuery, Measurement, Split


def counts_of_shown(measurements: Sequence[Measurement], graph: SecretGraph | None = None) -> list[Measurement]:
    """The measurements, with histograms in place of values that are shown with noise; without a graph, of any change.

    Post  for any two data sets that the graph joins, what these lose is not below what the given ones do.
    """
    return [found for one in measurements for found in _counted(one, graph)]


def _counted(measurement: Measurement, graph: SecretGraph | None) -> Iterator[Measurement]:
    given, query = measurement.query.contribution, measurement.query
    if isinstance(given, Among) and isinstance(given.inner, Disguised):
        raise Refused(
            "noise on each record is priced for all records only", fix="ask without `where`, or `by` the attribute"
        )
    if not isinstance(given, Disguised):
        yield measurement
        return
    yield Measurement(LinearQuery(One(), query.by), Fraction(0))
    if apart := places_apart(given, graph):
        counts = LinearQuery(One(), (*query.by, Split(given.attribute.name)))
        yield Measurement(counts, measurement.scale * 2 / apart, measurement.noise)


def places_apart(shown: Disguised, graph: SecretGraph | None) -> int:
    """The most places by which a step moves a record; the length of the scale where nobody looks closer."""
    if graph is None or graph.known:
        return shown.length
    graphs = [graph] if graph.groups is None else [one for one, _ in graph.by_graph]
    return max(_along(shown, one) for one in graphs)


def _along(shown: Disguised, graph: SecretGraph) -> int:
    match graph.factor_of(shown.attribute.name).graph:
        case Public():
            return 0
        case WithinShare(share=share):
            return shown.farthest(share)[0]
        case _:
            return shown.length
