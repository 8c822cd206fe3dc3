"""The privacy loss of replacing every record's values by chance, from the matrices of the chances."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from tetraodon.certificate.certificate import Computed, certifying
from tetraodon.errors import Refused
from tetraodon.policy.attackers import Independent
from tetraodon.policy.attribute_graph import AttributeGraph
from tetraodon.policy.joint_metric import JointMetric
from tetraodon.policy.policy import Policy
from tetraodon.rational import log_above


def worst_ratio(matrix: Sequence[Sequence[Fraction]], graph: AttributeGraph) -> Fraction | None:
    """The largest ratio of two chances of showing one value, over the edges of a graph; None if it is infinite."""
    worst = Fraction(1)
    for first, second in graph.edges():
        for x, y in zip(first.tolist(), second.tolist(), strict=True):
            for a, b in zip(matrix[x], matrix[y], strict=True):
                if (a == 0) != (b == 0):
                    return None
                if a:
                    worst = max(worst, a / b, b / a)
    return worst


@certifying
def certify_replacement(policy: Policy, matrices: Mapping[str, Sequence[Sequence[Fraction]]]) -> Computed:
    """What replacing values by these matrices, one for each attribute that is shown, loses under a policy.

    Post  the most that one step of the policy's graph can move, rounded up in the twelfth decimal of each attribute;
          infinite where a step is told for certain.
    Why   values are replaced independently, so a step that changes several attributes loses the sum of theirs.
    """
    if not policy.size_is_public:
        raise Refused(
            "a perturbed table shows how many records there are, and presence is a secret",
            fix="write `presence: public`, or publish a view",
            where=policy.dataset,
        )
    if policy.known or policy.graph.groups is not None or not isinstance(policy.attackers, Independent):
        raise Refused(
            "the loss of a perturbed table is not known when counts are known or people depend on each other",
            fix="use a policy without `known`, groups and dependent attackers",
            where=policy.dataset,
        )
    losses = []
    for factor in policy.graph.factors:
        if not matrices.keys() & set(factor.names):
            continue  # it is not shown
        if isinstance(factor.graph, JointMetric):
            raise Refused(
                "the governing policy measures attributes together", fix="publish a view", where=policy.dataset
            )
        ratio = worst_ratio(matrices[factor.names[0]], factor.graph)
        if ratio is None:
            return Computed(math.inf, None, f"a step of {factor.names[0]} that is told apart for certain", True)
        losses.append(log_above(ratio))
    most = sum(sorted(losses, reverse=True)[: policy.graph.at_most], Fraction(0))
    return Computed(most, None, "worst ratio along an edge", True)
