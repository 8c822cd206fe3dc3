"""Losses that follow at once from what one step can move: of a number with noise, a view, values replaced by chance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from tetraodon.certificate.certificate import Computed, certifying
from tetraodon.certificate.correlated_records import require_independent
from tetraodon.certificate.sensitivity import sensitivity
from tetraodon.errors import Refused
from tetraodon.exact.rational import log_rounded_up
from tetraodon.noise.laws import Currency, NoiseLaw
from tetraodon.policy.attackers import Contacts, DependentGroups, Independent
from tetraodon.policy.attribute_graph import AttributeGraph, Everything
from tetraodon.policy.joint_graph import JointGraph
from tetraodon.policy.policy import Policy
from tetraodon.query.counts import count, histogram


@certifying
def certify_shift(steps: int, law: NoiseLaw, scale: Fraction, *, method: str, exact: bool) -> Computed:
    """The loss of a number that no secret moves by more than `steps`, with noise of a law at a scale.

    Pre   `steps` bounds what the number moves by for whoever the definition calls an attacker, as `method` says: the
          Wasserstein mechanism, a sum of independent records. `exact` says whether somebody attains it.
    Post  steps times the law's rate; 0 where nothing moves, whatever the scale.
    """
    if steps < 0:
        raise Refused("a number is said to move by less than nothing", fix="give the most that a secret moves it by")
    if steps == 0:
        return Computed(Fraction(0), None, method, exact)
    if law.currency is not Currency.PURE:
        raise law.unknown("privacy loss without a delta")
    return Computed(steps * law.rate(scale), None, method, exact)


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
    moved = sensitivity(policy, histogram(*policy.domain.names)).value
    if policy.known:
        coming = sensitivity(policy, count()).value
        return (moved - coming) / 2 * replace + coming * max(presence, replace / 2)
    if moved <= policy.rows_per_person:  # nothing can be replaced
        return moved * presence
    hidden = policy.graph.absent or policy.graph.groups is not None
    return max(-(-moved // 2) * replace, policy.rows_per_person * presence if hidden else Fraction(0))


def worst_ratio(matrix: Sequence[Sequence[Fraction]], graph: AttributeGraph) -> Fraction | None:
    """The largest ratio of two chances of showing one value, over the edges of a graph; None if it is infinite."""
    worst = Fraction(1)
    for first, second in graph.edges():
        for x, y in zip(first.tolist(), second.tolist(), strict=True):
            for a, b in zip(matrix[x], matrix[y], strict=True):
                if (a == 0) != (b == 0):
                    return None
                if a != b:  # most chances are the same for both
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
    dependent = isinstance(policy.attackers, Contacts | DependentGroups)
    if policy.known or policy.graph.groups is not None or not (dependent or isinstance(policy.attackers, Independent)):
        raise Refused(
            "the loss of a perturbed table is not known when counts are known, people have secrets of their own, rows "
            "follow each other or a share of the whole table is a secret",
            fix="use a policy without `known`, `groups` of secrets, chains and secrets of the `table`",
            where=policy.dataset,
        )
    losses = []
    for factor in policy.graph.factors:
        if not matrices.keys() & set(factor.names):
            continue  # it is not shown
        if isinstance(factor.graph, JointGraph):
            raise Refused(
                "the governing policy measures attributes together", fix="publish a view", where=policy.dataset
            )
        ratio = worst_ratio(matrices[factor.names[0]], factor.graph)
        if ratio is None:
            return Computed(math.inf, None, f"a step of {factor.names[0]} that is told apart for certain", True)
        losses.append(log_rounded_up(ratio))
    most = sum(sorted(losses, reverse=True)[: policy.graph.at_most], Fraction(0))
    if isinstance(policy.attackers, Contacts | DependentGroups) and policy.graph.has_edges:
        return _of_dependent(policy.attackers, most, matrices)
    return Computed(most, None, "worst ratio along an edge", True)


def _of_dependent(
    attackers: Contacts | DependentGroups, own: Fraction, matrices: Mapping[str, Sequence[Sequence[Fraction]]]
) -> Computed:
    """The loss where rows depend on each other: of one's own step, and of other rows that change in any way.

    Why   given all records, what is shown of them is independent: any change of one costs at most the worst ratio of
          each attribute, and the proofs for groups and contacts (docs/attackers.md) ask for nothing else.
    """
    worst = {name: worst_ratio(matrix, Everything(len(matrix))) for name, matrix in matrices.items()}
    if None in worst.values():
        name = next(name for name, ratio in worst.items() if ratio is None)
        return Computed(math.inf, None, f"a change of {name} in another row that is told apart for certain", True)
    each = sum((log_rounded_up(ratio) for ratio in worst.values() if ratio is not None), Fraction(0))
    if isinstance(attackers, DependentGroups):
        rows = attackers.rows_together()
        return Computed(rows * each, None, f"worst ratio over changes of all {rows} rows of a group", own == each)
    loss = own + (attackers.rows - 1) * each
    return Computed(loss, None, "upper bound over all networks of contacts", False)
