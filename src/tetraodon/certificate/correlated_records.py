"""The loss to attackers for whom records are correlated: groups, contacts, and the Markov quilt ([SWC17])."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, assert_never

import numpy as np

from tetraodon.certificate.certificate import Certificate, Computed, certifying
from tetraodon.certificate.kernel import certify_measurements, currency_of
from tetraodon.certificate.pair_loss import require_people
from tetraodon.certificate.partition_selection import NamesAbove, certify_names
from tetraodon.certificate.table_secret_loss import loss_of_share, share_budget
from tetraodon.domain import Domain
from tetraodon.errors import Refused
from tetraodon.exact.arrays import Bools, Floats
from tetraodon.exact.rational import rounded_up
from tetraodon.exact.zcdp import Noises, epsilon_at, epsilon_of_normal, epsilon_once, rho_at
from tetraodon.noise.laws import GAUSSIAN, LAPLACE, Currency, NoiseLaw
from tetraodon.policy.attackers import (
    INDEPENDENT,
    Attackers,
    Chain,
    Contacts,
    DependentGroups,
    Independent,
    Matrix,
    TableSecret,
)
from tetraodon.policy.known import known_query
from tetraodon.policy.secret_graph import SecretGraph, complete_graph
from tetraodon.query.linear import Measurement

if TYPE_CHECKING:
    from tetraodon.policy.policy import Policy

# -- markov quilt -----------------------------------------------------------------------------------
# The Markov quilt: how far a secret of one row spreads along a chain ([SWC17] section 4).
#
# Let X_i be a row of a chain, and let the rows a before and b after it be the *quilt*. Given the quilt, everything
# beyond it is independent of X_i. So whatever is released tells two values x and y of X_i apart by at most
#
#     log P(quilt | x) / P(quilt | y)  +  what the a + b - 1 rows inside the quilt can move the answers by
#
# ([SWC17] Thm 4.3). The first term, the *influence*, falls as the quilt widens; the second grows. Every width is a
# valid bound, so the least over widths is one.
#
# Numbers are doubles, and every rounding error is bounded: all sums are of numbers that are not negative, so relative
# errors only add up. Influences are rounded up to exact fractions.

ROUNDING = 2.0**-53
TINY = 1e-250
"""Probabilities below this are taken for zero where they divide: that makes an influence infinite, never small."""
ALL_SPLITS = 256
CELLS = 8_000_000
WIDEST = 4096
FOLLOWED = 2 * WIDEST
"""How many moments after a stated start are looked at one by one."""
MOST_STATES = 128
"""Chains of more states are bounded by how fast they mix."""


@dataclass(frozen=True)
class QuiltBounds:
    """Ways to bound what a secret costs: an influence, and how many rows change with it."""

    options: tuple[tuple[Fraction, int], ...]

    def loss(self, each: Fraction) -> Fraction | float:
        """The least bound when a change of one row costs `each`; infinite without options.

        Why   it is concave and at least 0 at 0, so it grows by less than in proportion: what two releases lose
              together is never more than the sum.
        """
        return min((influence + rows * each for influence, rows in self.options), default=math.inf)

    def each(self, epsilon: Fraction) -> Fraction:
        """The most that one row may cost within a budget; 0 where no option fits it."""
        return max(((epsilon - influence) / rows for influence, rows in self.options), default=Fraction(0))


def quilt_loss(chain: Chain, secrets: Bools, each: Fraction) -> Fraction:
    """The loss of a release under a chain, when a change of one row costs `each`."""
    loss: Fraction | float = math.inf
    for width, found in _widening(chain, secrets):
        loss = found.loss(each)
        if loss <= width * each:
            break
    if isinstance(loss, float):
        raise _too_slow()
    return loss


def quilt_budget(chain: Chain, secrets: Bools, epsilon: Fraction) -> Fraction:
    """What a change of one row may cost so that a release under a chain keeps a budget: 1 / sigma_max of [SWC17]."""
    each = Fraction(0)
    for width, found in _widening(chain, secrets):
        each = found.each(epsilon)
        if each > 0 and epsilon <= width * each:
            break
    if each <= 0:
        raise _too_slow()
    return each


def best_quilt(chain: Chain, secrets: Bools, worth: Callable[[float, int], float]) -> tuple[Fraction, int]:
    """The quilt that is worth the most, as its influence and how many rows change with it.

    Pre   `worth` of an influence and a number of rows rises with neither; it is -infinity where a quilt is of no use.
    Why   every quilt gives a bound, so that one may be looked for in floats, and priced afterwards.
    """
    best = (-math.inf, (Fraction(0), 0))
    for width, found in _widening(chain, secrets):
        best = max(((worth(float(one[0]), one[1]), one) for one in found.options), default=best)
        if best[0] >= worth(0.0, width):
            break
    if math.isinf(best[0]):
        raise _too_slow()
    return best[1]


def _widening(chain: Chain, secrets: Bools) -> Iterator[tuple[int, QuiltBounds]]:
    """Quilts of up to so many rows, twice as many each time."""
    width, last = 16, _limit(chain)
    while True:
        yield width, spread(chain, secrets.tobytes(), width)
        if width >= last:
            return
        width *= 2


def _too_slow() -> Refused:
    return Refused(
        "the chain forgets its states too slowly for this budget: no quilt is wide enough",
        fix="use a larger epsilon, coarser values, or a chain with longer steps; a stated `length` bounds it too",
        where="attackers",
    )


def _limit(chain: Chain) -> int:
    most = WIDEST if chain.states > MOST_STATES else min(WIDEST, CELLS // chain.states**2)
    return 1 << (max(16, min(most, chain.length or most)) - 1).bit_length()


@lru_cache(maxsize=64)
def spread(chain: Chain, secrets: bytes, width: int) -> QuiltBounds:
    """Every quilt of at most `width` rows that no other makes superfluous, and all rows if their number is known."""
    mask = np.frombuffer(secrets, np.bool_).reshape(chain.states, chain.states)
    exact = chain.states <= MOST_STATES
    found = exact_influences(chain, mask, width) if exact else approximate_influences(chain, width)
    options: list[tuple[Fraction, int]] = []
    least = math.inf
    for rows, influence in enumerate(found.tolist(), 1):
        if influence < least:
            least = influence
            options.append((rounded_up(Fraction(influence), digits=6), rows))  # the same on every machine
    return QuiltBounds((*options, (Fraction(0), chain.length)) if chain.length else tuple(options))


def exact_influences(chain: Chain, secrets: Bools, width: int) -> Floats:
    """For every number of rows up to `width`, the influence of the best quilt around so many, for any row of the chain.

    Post  entry c - 1 is not below the largest log P(X_(i-a), X_(i+b) | X_i = x) / P(... | X_i = y) over all secret
          pairs x, y and all i, for some a + b = c + 1. Near an end the quilt has one side and no more rows inside.
    Why   given X_i the two sides are independent, so their log ratios add up for each pair x, y. By Bayes' rule the
          left side is P^a(z, x) / m_i(x) times what does not depend on x, where m_i is the distribution of X_i. With
          stated starts, m_i is bounded over all i > a at once. Where moments without a row lie between, a side is g
          steps further away and tells less: the rows and columns of P^(a+g) are averages of those of P^a. The influence
          of one side is looked at apart, for the rows near the ends.
    """
    worst = np.full(width, -np.inf)
    for matrix in chain.transitions:
        powers = _powers(_float(matrix), width)
        left, right = _ratios(powers.transpose(0, 2, 1)), _ratios(powers)
        for start in chain.starts or (None,):
            if start is None:
                settled = np.log(stationary_float(matrix))
                high = low = np.broadcast_to(settled, (width, chain.states))
            else:
                high, low = _marginals(np.array([float(p) for p in start]), powers[0], width)
            before = left + high[:, None, :] - low[:, :, None]
            np.maximum(worst, _best_splits(before[:, secrets], right[:, secrets]), out=worst)
    return worst + _slack(chain, width)


def approximate_influences(chain: Chain, width: int) -> Floats:
    """The same from two numbers of each chain: its rarest state and its second singular value ([SWC17] Lemma 4.8).

    Why   in the space of functions with weights pi, P^t minus its limit has norm at most s^t, s the second singular
          value of P. So |P^t(x, y) / pi(y) - 1| <= s^t sqrt((1/pi(x) - 1) (1/pi(y) - 1)) <= s^t (1/pi_min - 1) =: d,
          and each side moves the odds by (1 + d)/(1 - d) at most. A start other than pi is within d of it after a
          steps, which counts the left side twice.
    """
    right = np.zeros(width)
    steps = np.arange(1, width + 1)
    for matrix in chain.transitions:
        settled = stationary_float(matrix)
        scaled = np.sqrt(settled)[:, None] * _float(matrix) / np.sqrt(settled)[None, :]
        singular = float(np.linalg.svd(scaled, compute_uv=False)[1]) + 1e-9 if chain.states > 1 else 0.0
        if singular >= 1:
            raise Refused(
                "the chain does not mix at every step, so that the approximate quilt does not hold",
                fix="use the exact quilt, or write a small probability for transitions that are merely unlikely",
                where="attackers",
            )
        far = singular**steps * (1 / settled.min() - 1) * (1 + 1e-6)
        side = np.full(width, np.inf)
        near = far < 1
        side[near] = np.log1p(far[near]) - np.log1p(-far[near])
        right = np.maximum(right, side * (1 + 1e-9))
    before = right * (2 if chain.starts else 1)
    best = np.array([(before[:c] + right[c - 1 :: -1]).min() for c in range(1, width + 1)])
    return best + 1e-12


def stationary_float(matrix: Matrix) -> Floats:
    """The distribution a chain settles in, each entry to within 4 n^3 roundings of its own size.

    Why   the elimination of Grassmann, Taksar and Heyman subtracts nothing, so no digit is lost (O'Cinneide 1993).
    """
    work = _float(matrix).copy()
    size = len(work)
    for last in range(size - 1, 0, -1):
        work[:last, last] /= work[last, :last].sum()
        work[:last, :last] += np.outer(work[:last, last], work[last, :last])
    found = np.ones(size)
    for state in range(1, size):
        found[state] = found[:state] @ work[:state, state]
    total: Floats = found / found.sum()
    return total


def _float(matrix: Matrix) -> Floats:
    return np.array([[float(number) for number in row] for row in matrix])


def _powers(matrix: Floats, width: int) -> Floats:
    """The powers 1 to `width`. Relative errors are at most (states + 2) roundings for each step."""
    powers = np.empty((width, *matrix.shape))
    powers[0] = matrix
    for step in range(1, width):
        np.matmul(powers[step - 1], matrix, out=powers[step])
    return powers


def _ratios(powers: Floats) -> Floats:
    """For every power and states x, y: the largest log ratio of row x to row y; infinite where one is impossible."""
    found = np.full(powers.shape, np.inf)
    for step, power in enumerate(powers):
        if power.min() > TINY:
            logs = np.log(power)
            found[step] = (logs[:, None, :] - logs[None, :, :]).max(axis=2)
    return found


def _marginals(start: Floats, matrix: Floats, width: int) -> tuple[Floats, Floats]:
    """For every a: the largest and the least log P(X_i = x) over all moments i > a, whether or not they have a row.

    Why   moments one by one up to FOLLOWED; later laws are averages of the rows of P^FOLLOWED.
    """
    laws = np.empty((FOLLOWED + 1, 2, len(start)))
    here = start
    for row in range(FOLLOWED):
        laws[row] = here
        here = here @ matrix
    settled = np.linalg.matrix_power(matrix, FOLLOWED)
    laws[FOLLOWED] = settled.max(axis=0), settled.min(axis=0)
    with np.errstate(divide="ignore"):
        logs = np.log(np.where(laws > TINY, laws, 0.0))
    high = np.maximum.accumulate(logs[::-1, 0])[::-1][1 : width + 1]
    low = np.minimum.accumulate(logs[::-1, 1])[::-1][1 : width + 1]
    return high, low


def _best_splits(before: Floats, after: Floats) -> Floats:
    """For every number of rows c, the least over a + b = c + 1 of the largest influence over pairs."""
    width = len(before)
    before, after = (np.where(np.isnan(side), np.inf, side) for side in (before, after))
    alone = np.maximum.accumulate(before.max(axis=1)[::-1])[::-1], np.maximum.accumulate(after.max(axis=1)[::-1])[::-1]
    best = np.full(width, np.inf)
    for c in range(1, width + 1):
        a = np.arange(1, c + 1)
        if width > ALL_SPLITS:
            a = np.unique(np.clip((c + 1) * np.arange(1, 16) // 16, 1, c))
        b = c + 1 - a
        both = (before[a - 1] + after[b - 1]).max(axis=1)
        best[c - 1] = np.maximum(both, np.maximum(alone[0][a - 1], alone[1][b - 1])).min()
    return best


def _slack(chain: Chain, width: int) -> float:
    """More than all roundings together can have taken off an influence: four powers, two distributions, logarithms."""
    steps = 4 * (width + 1) * (chain.states + 3) + 2 * (FOLLOWED if chain.starts else 0) * (chain.states + 3)
    return 2 * ROUNDING * (steps + 8 * chain.states**3) + 2.0**-40


# -- against attackers ------------------------------------------------------------------------------


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
    require_people(policy.graph, policy.attackers, measurements, keyed=bool(policy.key), every_row=policy.every_row)
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
class ZcdpLoss:
    """The rho of all rows that change at once, and the epsilon that is lost beside it."""

    certificate: Certificate
    rho: Fraction
    method: str
    beside: Fraction = Fraction(0)


def squares_lost(policy: Policy, measurements: Sequence[Measurement], delta: Fraction) -> ZcdpLoss:
    """What Gaussian noise loses in one release, before it is read at a delta. The rho is 0 where none is lost.

    Why   under a chain, let Q be the quilt of a row that is x or y, and S any outputs. Given Q, what lies beyond does
          not depend on the row, so that the outputs differ by rows inside the quilt alone: if these keep (epsilon,
          delta), P(S | Q, x) <= e^epsilon P(S | Q, y) + delta. And P(Q | x) <= e^influence P(Q | y). Summed over Q
          this is P(S | x) <= e^(influence + epsilon) P(S | y) + delta.
    """
    chain = policy.attackers
    if not isinstance(chain, Chain) or not policy.graph.has_edges or currency_of(measurements) is not Currency.ZCDP:
        counted = certify_release(replace(policy, once=False), measurements, delta=delta)
        return ZcdpLoss(counted, counted.rho or Fraction(0), counted.method)
    each = certify_measurements(complete_graph(policy.graph), measurements, delta=delta)
    if each.rho is None or not each.finite:
        return ZcdpLoss(each, Fraction(0), each.method)
    apart, chance = math.sqrt(2 * each.rho), float(delta)
    influence, rows = best_quilt(
        chain, secret_pairs(policy.graph), lambda beside, rows: -beside - epsilon_of_normal(rows * apart, chance)
    )
    return ZcdpLoss(each, rows**2 * each.rho, "upper bound of the Markov quilt", influence)


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
