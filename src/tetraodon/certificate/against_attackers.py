"""What a release loses under the attackers of its policy, whether or not they think that people are independent."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

import numpy as np

from tetraodon.arrays import Bools
from tetraodon.certificate.certificate import Certificate, Computed, certifying
from tetraodon.certificate.kernel import certify_measurements, currency_of
from tetraodon.certificate.markov_quilt import best_quilt, quilt_budget, quilt_loss
from tetraodon.certificate.names_above import NamesAbove, certify_names
from tetraodon.certificate.person_loss import require_people
from tetraodon.certificate.share_loss import loss_of_share, share_budget
from tetraodon.domain import Domain
from tetraodon.errors import Refused
from tetraodon.noise.laws import GAUSSIAN, LAPLACE, Currency, NoiseLaw
from tetraodon.one_release import Noises, epsilon_of_normal, epsilon_once
from tetraodon.policy.attackers import (
    INDEPENDENT,
    Attackers,
    Chain,
    Contacts,
    DependentGroups,
    Independent,
    TableSecret,
)
from tetraodon.policy.known import known_query
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import SecretGraph, complete_graph
from tetraodon.workload.linear import Measurement
from tetraodon.zcdp import epsilon_at, rho_at


@certifying
def certify_release(
    policy: Policy,
    measurements: Sequence[Measurement],
    *,
    delta: Fraction | None = None,
    names: Sequence[NamesAbove] = (),
) -> Certificate | Computed:
    """The privacy loss of releasing all the measurements, and names, together, against the attackers of the policy.

    Pre   with Gaussian noise, at `delta`; left out, the policy's.
    Post  not below the largest factor by which the output moves anybody's odds between two values that are a secret.
    Why   to whom rows are dependent, a secret of one row shows in any change of those that depend on it, whether or not
          that change is a secret itself. So rows of a group, or inside a quilt, are priced for the worst change there
          is, each of them; and so is the row itself, since counting at most so many rows of a group may put another in
          its place. A person with contacts is one row, along their own secrets, and other rows beside. With Gaussian
          noise rows that move alike add up before the square is taken; a mixture of pairs of datasets loses no more
          than the worst of them there, since Rényi divergence is quasi-convex.
    """
    require_people(policy, measurements)
    if names:
        return _beside_names(certify_release(policy, measurements), certify_names(policy, names))
    if isinstance(policy.attackers, TableSecret):
        return loss_of_share(policy, policy.attackers, measurements)
    at = policy.delta if delta is None else delta
    if policy.once:
        return _priced_once(policy, measurements, at)
    if isinstance(policy.attackers, Independent) or not policy.graph.has_edges:
        return certify_measurements(policy.graph, measurements, rows_per_person=policy.rows_per_person, delta=at)
    alone = certify_measurements(
        replace(policy.graph, known=()) if policy.known else policy.graph, measurements, delta=at
    )
    each = certify_measurements(complete_graph(policy.graph), measurements, delta=at)
    if isinstance(policy.attackers, DependentGroups):
        policy.attackers.rows_together(known_counts(policy))  # what has no price is refused, and not called infinite
    if (not each.finite and each.rho is None) or each.epsilon == 0:
        return each
    squares = currency_of(measurements) is Currency.ZCDP
    cost = Fraction(each.rho or 0) if squares else Fraction(each.epsilon)
    match policy.attackers:
        case DependentGroups() as groups:
            rows = groups.rows_together(known_counts(policy))
            exact = each.exact and alone.exact and (alone.epsilon, alone.rho) == (each.epsilon, each.rho)
            exact = exact and not policy.known
            how = "maximum" if exact else "upper bound"
            whose = "groups that make up for each other" if policy.known else "a group"
            method = f"{how} over changes of all {rows} rows of {whose}"
            if squares:
                return Computed(rows**2 * cost, None, method, exact, delta=at)
            return Computed(rows * cost, None, method, exact)
        case Chain() as chain:
            if squares:
                raise _no_squares()
            loss = quilt_loss(chain, secret_pairs(policy.graph), cost)
            return Computed(loss, None, "upper bound of the Markov quilt", False)
        case Contacts() as contacts:
            if squares:
                raise _no_delta()
            loss = min(Fraction(alone.epsilon) if alone.finite else cost, cost) + (contacts.rows - 1) * cost
            return Computed(loss, None, "upper bound over all networks of contacts", False)
        case _:
            assert_never(policy.attackers)


def _priced_once(policy: Policy, measurements: Sequence[Measurement], delta: Fraction) -> Certificate | Computed:
    """The epsilon of Gaussian noise that is released once, with its delta, in place of a rho (docs/delta.md).

    Why   what was chosen by what was told before, or flows along steps, is no noise on each of so many numbers; there
          the epsilon that follows from rho holds for one release as for many.
    """
    lost = squares_lost(policy, measurements, delta)
    counted, at = lost.certificate, lost.certificate.delta
    if not lost.rho or not counted.finite:
        return counted
    if priced_by_law(measurements):
        epsilon, how = epsilon_once(lost.rho, noises_of(measurements, policy.domain), at), "the normal law"
    else:
        epsilon, how = epsilon_at(lost.rho, at), "rho"
    pair = None if lost.beside else counted.witness
    return Computed(lost.beside + epsilon, pair, f"{lost.method}; epsilon by {how}", False, chance=at)


@dataclass(frozen=True, slots=True)
class SquaresLost:
    """The rho of all rows that change at once, and the epsilon that is lost beside it."""

    certificate: Certificate
    rho: Fraction
    method: str
    beside: Fraction = Fraction(0)


def squares_lost(policy: Policy, measurements: Sequence[Measurement], delta: Fraction) -> SquaresLost:
    """What Gaussian noise loses in one release, before it is read at a delta. The rho is 0 where none is lost.

    Why   under a chain, let Q be the quilt of a row that is x or y, and S any outputs. Given Q, what lies beyond does
          not depend on the row, so that the outputs differ by rows inside the quilt alone: if these keep (epsilon,
          delta), P(S | Q, x) <= e^epsilon P(S | Q, y) + delta. And P(Q | x) <= e^influence P(Q | y). Summed over Q
          this is P(S | x) <= e^(influence + epsilon) P(S | y) + delta.
    """
    chain = policy.attackers
    if not isinstance(chain, Chain) or not policy.graph.has_edges or currency_of(measurements) is not Currency.ZCDP:
        counted = certify_release(replace(policy, once=False), measurements, delta=delta)
        return SquaresLost(counted, counted.rho or Fraction(0), counted.method)
    each = certify_measurements(complete_graph(policy.graph), measurements, delta=delta)
    if each.rho is None or not each.finite:
        return SquaresLost(each, Fraction(0), each.method)
    apart, chance = math.sqrt(2 * each.rho), float(delta)
    influence, rows = best_quilt(
        chain, secret_pairs(policy.graph), lambda beside, rows: -beside - epsilon_of_normal(rows * apart, chance)
    )
    return SquaresLost(each, rows**2 * each.rho, "upper bound of the Markov quilt", influence)


def priced_by_law(measurements: Sequence[Measurement]) -> bool:
    """Whether all noise is discrete Gaussian noise on each answer by itself."""
    return all(m.noise == GAUSSIAN and m.on_each for m in measurements if m.scale > 0)


def noises_of(measurements: Sequence[Measurement], domain: Domain) -> Noises:
    """The scales of all noise that is drawn, and how many numbers have each."""
    found: Counter[Fraction] = Counter()
    for measurement in measurements:
        found[measurement.scale] += measurement.query.size(domain) if measurement.scale else 0
    return tuple(sorted((scale, count) for scale, count in found.items() if scale))


def _no_squares() -> Refused:
    """Under a chain losses do not add up, and what releases lose together must not be read at an order chosen later."""
    return Refused(
        "several releases with Gaussian noise are not priced for attackers who know a chain",
        fix="write a budget without delta, or for one release `once: true`",
        where="attackers",
    )


def _no_delta() -> Refused:
    return Refused(
        "Gaussian noise is not priced for attackers who know of contacts",
        fix="write a budget without delta",
        where="attackers",
    )


def _beside_names(rest: Certificate, named: Certificate) -> Certificate | Computed:
    """The loss of names and of measurements together.

    Why   on every output but those that names need their delta for, the log ratios of both add up.
    """
    if rest.rho is not None or rest.delta:
        raise Refused(
            "names that nobody listed are not priced beside Gaussian noise",
            fix="plan with Laplace noise, or release them by themselves",
            where="release",
        )
    if rest.epsilon == 0:
        return named
    method = f"upper bound: {rest.method}, and {named.method}, added up"
    return Computed(rest.epsilon + named.epsilon, None, method, False, chance=named.delta)


def priced_for_each(policy: Policy, noise: NoiseLaw = LAPLACE) -> Policy:
    """The policy under which one row is priced: independent rows, every change, and the budget of a single row.

    With Gaussian noise the budget of a row is a rho.

    Post  a plan that keeps its budget keeps that of `policy`; it is `policy` itself where people are independent.
    """
    if isinstance(policy.attackers, Independent) or not policy.graph.has_edges:
        return policy
    squares = noise.currency is Currency.ZCDP
    whole = (policy.rho or rho_at(policy.epsilon, policy.delta)) if squares else policy.epsilon
    match policy.attackers:
        case DependentGroups() as groups:
            rows = groups.rows_together(known_counts(policy))
            each = whole / (rows**2 if squares else rows)
        case Chain() as chain:
            if squares and not policy.once:
                raise _no_squares()
            each = _rho_of_row(policy, chain) if squares else quilt_budget(chain, secret_pairs(policy.graph), whole)
        case Contacts() as contacts:
            if squares:
                raise _no_delta()
            each = whole / contacts.rows
        case TableSecret() as secret:
            if squares:
                raise Refused(
                    "a secret of the whole table has no price for Gaussian noise",
                    fix="write a budget without delta: {epsilon: 1, once: true}",
                    where="budget",
                )
            each = share_budget(policy, secret)
        case _:
            assert_never(policy.attackers)
    apart = replace(policy, graph=complete_graph(policy.graph), attackers=INDEPENDENT)
    return replace(apart, rho=each) if squares else replace(apart, epsilon=each)


def _rho_of_row(policy: Policy, chain: Chain) -> Fraction:
    """The rho of one row that a budget which is spent once pays for under a chain."""
    tail = -math.log(policy.delta)

    def worth(beside: float, rows: int) -> float:  # nearly what `rho_at` gives
        left = float(policy.epsilon) - beside
        return (math.sqrt(left + tail) - math.sqrt(tail)) / rows if left > 0 else -math.inf

    influence, rows = best_quilt(chain, secret_pairs(policy.graph), worth)
    return rho_at(policy.epsilon - influence, policy.delta) / rows**2


def known_counts(policy: Policy) -> int:
    """How many counts are known, the cells of tables one by one."""
    return sum(known_query(entry, policy.domain).size(policy.domain) for entry in policy.known)


def secret_pairs(graph: SecretGraph) -> Bools:
    """Which states of a chain are secret from which."""
    found = np.zeros((graph.domain.size, graph.domain.size), np.bool_)
    x, y = graph.edge_cells()
    found[x, y] = found[y, x] = True
    return found


def adds_up(attackers: Attackers) -> bool:
    """Whether losses of releases may be summed, for these and for any later ones ([KM12] section 8).

    Why   without dependence, and between independent groups in which anything may depend on anything, the promise
          compares single datasets, two at a time, and for each pair the log ratios of several releases add up. Under a
          chain the loss is not proportional to what a row costs; those costs add up, and the loss of all of them
          together is computed anew. What a second release tells of a whole table has no price at all.
    """
    return not isinstance(attackers, Chain | TableSecret)


def require_independent(policy: Policy, what: str) -> None:
    """Refuse a mechanism that is priced for independent people only."""
    if isinstance(policy.attackers, TableSecret):
        raise Refused(
            f"{what} is not priced where a share of the whole table is a secret",
            fix="ask for one count or total, or use a data set of its own without `secrets: {table: ...}`",
            where="secrets",
        )
    if not isinstance(policy.attackers, Independent):
        raise Refused(
            f"{what} is priced for attackers to whom people are independent only",
            fix="write `attackers: [independent]` if that is true of the people, or release tables of counts",
            where="attackers",
        )
