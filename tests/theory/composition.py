"""Adding up losses, and when they need not be added up ([HMD14] section 4.1, corrected).

Losses of releases of the same people add up, always. Losses of releases about *disjoint* sets of people need not: one
person's secret is in one of them only. With known counts that holds only while no secret changes a known count, because
otherwise neighbours differ in the records of several people, who may be in different sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tetraodon.certificate.known.unlisted import secrets_change_known
from tetraodon.errors import Refused
from tetraodon.exact.rational import Number, rational
from tetraodon.policy.policy import Policy


def sequential(losses: Sequence[Number]) -> Fraction:
    """The loss of several releases of the same people, each with noise of its own ([HMD14] Thm 4.1).

    >>> sequential(["0.1", "0.2"])
    Fraction(3, 10)
    """
    return sum((_loss(loss) for loss in losses), Fraction(0))


def parallel(policy: Policy, losses: Sequence[Number], *, disjoint: bool, sizes_are_public: bool) -> Fraction:
    """The loss of several releases about disjoint sets of people, each under the same policy.

    Pre   `disjoint`: nobody is in two sets, and the sets were chosen without looking at the data. `sizes_are_public`:
          how many people each set has is public ([HMD14] Thm 4.2 calls it the cardinality constraint).
    Post  the largest of the losses.
    Raises Refused when a condition fails; `sequential` is always safe.
    Why   a secret is one person's. Without known counts, neighbours differ in that person alone. With known counts
          that mention nobody, neighbours differ in one person exactly when no edge changes a known count: an edge
          that does needs somebody else's record to make up for it, and that person may be in another set. [HMD14]
          Thm 4.3 would allow more, and is false.
    """
    exact = [_loss(loss) for loss in losses]
    if not disjoint:
        raise _refused("the sets of people are not disjoint")
    if not sizes_are_public and policy.presence == "public":
        raise _refused("the numbers of people in the sets are not public")
    if policy.known and secrets_change_known(policy.graph):
        raise _refused("a secret changes a known count, so that neighbours may differ in people of several sets")
    return max(exact, default=Fraction(0))


def _loss(loss: Number) -> Fraction:
    exact = rational(loss, name="loss")
    if exact < 0:
        raise Refused("a loss is below zero", fix="give the epsilons of certificates")
    return exact


def _refused(why: str) -> Refused:
    return Refused(f"these losses cannot be composed in parallel: {why}", fix="add them up with `sequential`")
