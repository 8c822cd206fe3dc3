"""What each public group of people loses, where groups have secrets of their own.

Neighbours are those of N* in which somebody moves along an edge of the graph of their *own* group. The certificate of
a release is the worst over all groups; here they are told one by one. People who do not mind protect nothing of
theirs, but once counts are known they still carry the secrets of others: somebody else's move may need theirs to make
up for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.policy.secret_graph import Groups, SecretGraph, no_secrets
from tetraodon.query.linear import Measurement


def losses_by_group(
    graph: SecretGraph, measurements: Sequence[Measurement], *, delta: Fraction = Fraction(0)
) -> tuple[tuple[tuple[int, ...], Certificate], ...]:
    """The groups that share a graph, and what the measurements lose about their people's secrets.

    Pre   the graph has groups.
    Post  the largest of them is the certificate of the measurements.
    Why   a pair of neighbours has somebody who moves along an edge of their own group's graph, so it is a pair of
          neighbours where nobody else minds.
    """
    found = []
    for own, codes in graph.by_graph:
        found.append((codes, certify_measurements(_alone(graph, own, codes), measurements, delta=delta)))
    return tuple(found)


def _alone(graph: SecretGraph, own: SecretGraph, codes: Sequence[int]) -> SecretGraph:
    """The same people, of whom those of some groups have secrets and no others mind."""
    assert graph.groups is not None
    none = no_secrets(graph.domain)
    mine = replace(own, known=())
    size = graph.domain[graph.groups.by].size
    graphs = tuple((code, mine if code in codes else none) for code in range(size))
    return replace(graph, groups=Groups(graph.groups.by, graphs))
