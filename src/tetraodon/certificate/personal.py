"""People with secrets of their own: each public group has its own graph, down to none for those who do not mind.

Which group a person is in is public. Neighbours are those of N* in which somebody moves along an edge of their *own*
graph. People who do not mind protect nothing of theirs, but once counts are known they still carry the secrets of
others: somebody else's move may need theirs to make up for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.errors import PolicyError
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.workload.linear import Measurement


@dataclass(frozen=True, slots=True)
class Personal:
    """The loss of every group, and of the worst of them, which is the loss of the release."""

    groups: Mapping[str, Certificate]
    worst: str

    @property
    def certificate(self) -> Certificate:
        return self.groups[self.worst]


def certify_groups(graphs: Mapping[str, SecretGraph], measurements: Sequence[Measurement]) -> Personal:
    """The loss of measurements over people with a graph for each group.

    Pre   groups are public, and measurements look at people of all groups alike: no query names the group.
    Post  equals the largest loss over neighbours, whatever the number of people in each group.
    Why   a pair of neighbours has a person who moves along an edge of their own group's graph, so it is a pair of
          neighbours under that graph for everybody; and any such pair may be people of that group alone. Known counts
          mention nobody, so they are the same for all groups.
    """
    if not graphs:
        raise PolicyError("there is no group", fix="give at least one group with its graph")
    first = next(iter(graphs.values()))
    if any((g.domain, g.absent, g.known) != (first.domain, first.absent, first.known) for g in graphs.values()):
        raise PolicyError(
            "the groups do not share their attributes, presence and what is known",
            fix="let them differ in their secrets only",
        )
    found = {name: certify_measurements(graph, measurements) for name, graph in graphs.items()}
    return Personal(found, max(found, key=lambda name: found[name].epsilon))
