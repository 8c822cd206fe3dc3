"""What a number with noise tells of a share of the whole table, to somebody who knows how its columns go together.

Let each record add a number X to the answer, of the law P if a condition holds for it and Q if not, independently of
the others once it is said for which it holds. Where it holds for a of n records, the answer is the sum of a numbers of
law P and n - a of law Q. Blur one such number by the noise alone, and let f be the largest |log| of the ratio of P
blurred and Q blurred.

Bound     The answers for a and for a + k are the same sum but for k numbers, of law P or of law Q. Change them one by
          one. Each time two laws that differ by a factor between e^-f and e^f everywhere are blurred by the rest, which
          is independent: they still do. So the loss is k f at most, whatever n and a are, and whose the records are.
Attained  Beyond all answers Laplace noise falls by e^-rate with every unit, so that the ratio there is that of the
          means of e^(rate X), to the power k. If f is attained at the least or the largest number, as it always is
          where there are two, the loss is k f.

So [ZOC22]'s Wasserstein distance is not needed: the worst output is known. It does not add up over releases: with
several numbers X is blurred several times, and the f of all is no sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tetraodon.certificate.certificate import Certificate, Computed, TableShare
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.domain import Domain
from tetraodon.errors import Refused
from tetraodon.exponent import exp_above, exp_below, log_above
from tetraodon.noise.laws import LAPLACE
from tetraodon.policy.attackers import TableSecret
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import complete_graph
from tetraodon.policy.table_secret import cells_having, joint_chances
from tetraodon.rational import rounded_up
from tetraodon.workload.linear import LinearQuery, Measurement

MOST_VALUES = 128
LARGEST = 1000
"""Losses beyond this are not worked out: powers of e would be as long, and nothing would be hidden."""
FINE = 10**6
METHOD = "largest odds that one record tells, for every record in which two shares differ"


@dataclass(frozen=True, slots=True)
class RecordLaws:
    """The numbers, in units and rising, that a record may add, and their chances where a condition holds and not."""

    values: tuple[int, ...]
    having: tuple[Fraction, ...]
    lacking: tuple[Fraction, ...]

    @property
    def span(self) -> int:
        """How far apart the least and the largest number are."""
        return self.values[-1] - self.values[0]


def record_laws(secret: TableSecret, query: LinearQuery, domain: Domain) -> RecordLaws:
    """What a record adds to a query with one answer, if the condition of a secret holds for it and if not.

    Pre   the chances of all attributes of the query are stated.
    """
    row = query.matrix(domain.project(secret.names))[0][0].tolist()
    joint, holds = (found(secret, domain).ravel().tolist() for found in (joint_chances, cells_having))
    values = tuple(sorted(set(row)))
    if len(values) > MOST_VALUES:
        raise _not_priced()
    laws = []
    for side in (True, False):
        mass = dict.fromkeys(values, Fraction(0))
        for value, chance, there in zip(row, joint, holds, strict=True):
            mass[value] += chance * (there is side)
        total = sum(mass.values())
        laws.append(tuple(part / total for part in mass.values()))
    return RecordLaws(values, laws[0], laws[1])


@lru_cache(maxsize=256)
def record_loss(laws: RecordLaws, rate: Fraction) -> tuple[Fraction, bool]:
    """The f of above, rounded up, where noise falls by e^-rate with every unit; and whether all of it can be lost.

    Why   between two numbers that a record may add, the ratio is monotone, since both blurred laws are a e^(rate w) +
          b e^(-rate w) there; so it is largest at one of them. It is never above e^(rate span).

    >>> coin = RecordLaws((0, 1), (Fraction(1, 4), Fraction(3, 4)), (Fraction(3, 4), Fraction(1, 4)))
    >>> loss, attained = record_loss(coin, Fraction(1))
    >>> round(float(loss), 4), attained
    (0.4706, True)
    """
    if rate * laws.span > LARGEST:
        return rate * laws.span, False
    far = {abs(x - y) for x in laws.values for y in laws.values}
    below, above = ({gap: bound(-rate * gap) for gap in far} for bound in (exp_below, exp_above))
    worst, attained = Fraction(1), True
    for w in laws.values:
        (low, high), (other_low, other_high) = (
            [sum(p * bound[abs(w - x)] for x, p in zip(laws.values, law, strict=True)) for bound in (below, above)]
            for law in (laws.having, laws.lacking)
        )
        ratio = max(Fraction(high) / other_low, Fraction(other_high) / low)
        if ratio > worst:
            worst, attained = ratio, w in (laws.values[0], laws.values[-1])
    return min(log_above(worst), rate * laws.span), attained


def loss_of_share(policy: Policy, secret: TableSecret, measurements: Sequence[Measurement]) -> Certificate | Computed:
    """The loss of measurements for two shares of the table that are a secret, or for one record, whichever is larger.

    Why  a share may be hidden by the chance of the records alone, with no noise or little; then single records would be
         told. So noise is never less than what hides any change of one of them.
    """
    if any(one.noise != LAPLACE for one in measurements if one.scale):
        raise _not_priced()
    graph = complete_graph(policy.graph)
    each = certify_measurements(graph, measurements)
    if not each.epsilon or not each.finite:
        return each
    told = [one for one in measurements if certify_measurements(graph, [one]).epsilon]
    query = told[0].query
    known = {*query.names} <= {*secret.names} and query.size(policy.domain) == 1
    if len(told) > 1 or not known or not told[0].on_each:
        raise _not_priced()
    laws = record_laws(secret, query, policy.domain)
    one, attained = record_loss(laws, LAPLACE.rate(told[0].scale))
    loss = min(rounded_up(secret.differ * one), secret.differ * LAPLACE.rate(told[0].scale) * laws.span)
    if loss <= each.epsilon:
        return each
    fewer = (secret.records - secret.differ) // 2
    pair = (TableShare(count, secret.records, secret.share) for count in (fewer, fewer + secret.differ))
    return Computed(loss, (next(pair), next(pair)), METHOD, attained)


def share_budget(policy: Policy, secret: TableSecret) -> Fraction:
    """What any change of one record may cost so that a policy's one number keeps its budget, to six digits.

    Post  not above the budget itself, and not below the part of it that each record would have if all told everything.
    """
    if len(policy.items) != 1:
        raise _not_priced()
    if policy.epsilon > LARGEST:
        what = f"an epsilon above {LARGEST:,} hides nothing of a whole table, and is not worked out"
        raise Refused(what, fix="write a smaller one, such as 1", where="budget")
    laws = record_laws(secret, policy.items[0].linear(policy.domain), policy.domain)
    least, most, part = FINE, FINE * secret.differ, policy.epsilon / (FINE * secret.differ)
    if not laws.span:
        return policy.epsilon

    def kept(each: Fraction) -> bool:
        return rounded_up(secret.differ * record_loss(laws, each / laws.span)[0]) <= policy.epsilon

    if kept(policy.epsilon):
        return policy.epsilon
    values, sides = np.array(laws.values, float), np.array([laws.having, laws.lacking], float)
    gaps = np.abs(values[:, None] - values)
    while most - least > 1:  # in floats, to look for what is then checked
        middle = (least + most) // 2
        with np.errstate(divide="ignore"):
            blurred = np.log(sides @ np.exp(-gaps * float(middle * part) / laws.span))
        loss = secret.differ * float(np.abs(blurred[0] - blurred[1]).max())
        least, most = (middle, most) if loss <= policy.epsilon else (least, middle)
    while least > FINE and not kept(least * part):
        least -= max(1, least // FINE)
    return max(least, FINE) * part


def _not_priced() -> Refused:
    return Refused(
        "a secret of the whole table is priced for one release of one number with Laplace noise",
        fix=f"ask for one count, or for a total of at most {MOST_VALUES} different values, whose chances are stated",
        where="secrets",
    )
