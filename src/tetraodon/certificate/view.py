"""The privacy loss of a published view, from what one record more, less or replaced can change of it."""

from __future__ import annotations

from fractions import Fraction

from tetraodon.certificate.certificate import Computed, certifying
from tetraodon.certificate.dependent import require_independent
from tetraodon.policy.policy import Policy
from tetraodon.workload.query import count, histogram


@certifying
def certify_view(policy: Policy, presence: Fraction, replace: Fraction) -> Computed:
    """What a published view loses under a policy, from its losses for one record more or less, and for one replaced.

    Why  neighbours differ in what the histogram over all attributes moves by: 2 for every record replaced, 1 for one
         more or less, all rows of a person included. Each record's loss is bounded by itself, so losses add up. With
         known counts some records may be replaced and others come or go, as many as move the number of records;
         since a replacement is one that goes and one that comes, as many of these as there can be are the worst.
    """
    require_independent(policy, "a published view")
    return Computed(_loss(policy, presence, replace), None, "worst likelihood ratio of a view", True)


def _loss(policy: Policy, presence: Fraction, replace: Fraction) -> Fraction:
    moved = policy.sensitivity(histogram(*policy.domain.names)).value
    if policy.known:
        coming = policy.sensitivity(count()).value
        return (moved - coming) / 2 * replace + coming * max(presence, replace / 2)
    if moved <= policy.rows_per_person:  # nothing can be replaced
        return moved * presence
    hidden = policy.graph.absent or policy.graph.groups is not None
    return max(-(-moved // 2) * replace, policy.rows_per_person * presence if hidden else Fraction(0))
