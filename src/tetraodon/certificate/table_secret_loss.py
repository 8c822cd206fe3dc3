"""The loss about a secret of the whole table, from the law of the answer under each secret.

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

Chances   If each record has the condition with a chance p, its number is of the law p P + (1 - p) Q, and all n may be
          of another. Blurred, with a and b for P and Q, two such laws with chances at most t apart have a ratio of at
          most 1 - t + t max(a / b, b / a): it is the largest where the smaller one is b alone, p = 0, or a alone,
          p = 1. So the loss is at most n log(1 - t + t e^f), and attained in the same way.

So [ZOC22]'s Wasserstein distance is not needed: the worst output is known. It does not add up over releases: with
several numbers X is blurred several times, and the f of all is no sum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from tetraodon.certificate.certificate import Certificate, Computed, TableChance, TableShare, Witness, certifying
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.domain import Domain
from tetraodon.errors import Refused
from tetraodon.exact.arrays import Floats
from tetraodon.exact.exponent import exp_above, exp_below, log_above
from tetraodon.exact.rational import rounded_up
from tetraodon.noise.laws import LAPLACE, Currency, NoiseLaw
from tetraodon.policy.attackers import TableSecret, cells_having, joint_chances
from tetraodon.policy.secret_graph import complete_graph
from tetraodon.query.linear import LinearQuery, Measurement

if TYPE_CHECKING:
    from tetraodon.policy.policy import Policy

# -- answer laws ------------------------------------------------------------------------------------
# The loss of noise on an answer whose law under each secret is known, whatever the data look like.
#
# Noise is independent of the data, so what a release tells about a pair of secrets depends on the data only through the
# two laws of the answer. Numbers are doubles, and every rounding is bounded: only numbers that are not negative are
# added and multiplied, so relative errors add up, and what vanishes below the smallest double is bounded apart.

ROUNDING = 2.0**-52
VANISHING = 1e-300
"""More than a weight can lose where doubles end."""
SMALLEST = 1e-200
"""Blurred chances below this are not told apart: such a loss counts as infinite."""
WIDEST = 1 << 22


@dataclass(frozen=True)
class AnswerLaw:
    """The law of a whole number under a secret: chances of `first`, `first` + 1 and so on, up to a common factor.

    Of several numbers at once, `first` has one for each, and `weights` an axis. `error` bounds the relative error of
    each weight.
    """

    first: int | tuple[int, ...]
    weights: Floats = field(repr=False)
    error: float = ROUNDING

    def __post_init__(self) -> None:
        good = self.weights.ndim == len(self.corner) and 0 < self.weights.size <= WIDEST
        if not good or not np.isfinite(self.weights).all() or self.weights.min() < 0 or self.weights.sum() < SMALLEST:
            raise Refused(
                "this is no law of an answer", fix="give finite weights that are not negative, and some chance"
            )
        if not 0 <= self.error < 1e-3:
            raise Refused("the weights of a law are not known well enough", fix="sum the model with fewer records")

    @property
    def corner(self) -> tuple[int, ...]:
        """The least of each number."""
        return self.first if isinstance(self.first, tuple) else (self.first,)

    @classmethod
    def of(cls, chances: Mapping[int, Fraction] | Mapping[tuple[int, ...], Fraction]) -> AnswerLaw:
        """From exact chances of numbers, or of several numbers at once.

        >>> AnswerLaw.of({3: Fraction(1, 4), 5: Fraction(3, 4)}).weights
        array([0.25, 0.  , 0.75])
        """
        if not chances:
            raise Refused("a law of an answer is empty", fix="give the chance of at least one number")
        told = {key if isinstance(key, tuple) else (key,): float(chance) for key, chance in chances.items()}
        ends = [(min(axis), max(axis)) for axis in zip(*told, strict=True)]
        if math.prod(last - first + 1 for first, last in ends) > WIDEST:
            raise Refused("an answer takes too many values", fix="tell it on a coarser grid")
        weights = np.zeros([last - first + 1 for first, last in ends])
        for place, chance in told.items():
            weights[tuple(number - first for number, (first, _) in zip(place, ends, strict=True))] = chance
        return cls(tuple(first for first, _ in ends), weights)


@dataclass(frozen=True)
class LawPair:
    """What an answer may be if one secret of a pair holds, and if the other does; `apart` is lost beside the answer."""

    one: AnswerLaw
    other: AnswerLaw
    words: str
    apart: float = 0.0

    def loss(self, rate: Fraction) -> tuple[float, float]:
        """Bounds on what the answer tells of the pair when noise falls by e^-rate with every unit.

        Post  the largest |log| of the ratio of the two blurred laws lies between them, both directions looked at.
        Why   the ratio is largest at an integer between the smallest and the largest answer: between two answers
              it is monotone in w, and beyond the last it is constant, of each number in turn if there are several
              (`pufferfish.additive.Additive.outputs`).
              Laplace noise and its discrete sister blur alike there, by the weights e^(-rate |w - answer|).

        >>> point = AnswerLaw.of({0: Fraction(1)}), AnswerLaw.of({2: Fraction(1)})
        >>> [round(bound, 9) for bound in LawPair(*point, "0 or 2").loss(Fraction(1, 2))]
        [1.0, 1.0]
        """
        laws = (self.one, self.other)
        start = tuple(map(min, zip(*(law.corner for law in laws), strict=True)))
        ends = [[a + n for a, n in zip(law.corner, law.weights.shape, strict=True)] for law in laws]
        shape = tuple(max(each) - first for *each, first in zip(*ends, start, strict=True))
        if math.prod(shape) > WIDEST:
            raise Refused("the answers under two secrets lie too far apart", fix="tell the answer on a coarser grid")
        blurred = [_blurred(law, start, shape, float(rate)) for law in laws]
        size = sum(shape)
        error = 2 * (self.one.error + self.other.error) + 2 * size * (float(rate) + 8) * ROUNDING
        error += 2 * math.prod(shape) * (VANISHING / SMALLEST + 2.0**-60)
        if min(each.min() for each in blurred) < SMALLEST or error >= 0.5:
            return 0.0, math.inf
        largest = float(np.abs(np.log(blurred[0]) - np.log(blurred[1])).max())
        slack = 2 * error + (largest + 500) * 4 * ROUNDING
        return max(0.0, largest - slack), largest + slack + self.apart


def _blurred(law: AnswerLaw, start: tuple[int, ...], shape: tuple[int, ...], rate: float) -> Floats:
    """The sum of weight(s) e^(-rate |w - s|) over s, for w from `start` on, over the sum of the weights.

    Why   with several numbers the exponential is a product, so that they are blurred one after the other.
    """
    found: Floats = np.zeros(shape)
    inside = tuple(
        slice(a - first, a - first + n) for a, first, n in zip(law.corner, start, law.weights.shape, strict=True)
    )
    found[inside] = law.weights
    from scipy.signal import lfilter  # slow to import, and few plans need it

    total, keep = float(law.weights.sum()), math.exp(-rate)
    for axis in range(len(shape)):
        along = np.moveaxis(found, axis, -1)
        upwards = lfilter([1.0], [1.0, -keep], along)
        downwards = lfilter([1.0], [1.0, -keep], along[..., ::-1])[..., ::-1]
        upwards[..., :-1] += keep * downwards[..., 1:]
        found = np.moveaxis(upwards, -1, axis)
    return found / total


def largest_loss(pairs: Sequence[LawPair], rate: Fraction) -> tuple[float, float]:
    """Bounds on the largest loss over pairs."""
    losses = [pair.loss(rate) for pair in pairs]
    return max((low for low, _ in losses), default=0.0), max((high for _, high in losses), default=0.0)


@certifying
def certify_laws(pairs: Sequence[LawPair], law: NoiseLaw, scale: Fraction, *, method: str) -> Computed:
    """The loss of an answer with noise of a scale, over pairs of secrets under each of which its law is known.

    Post  at least the loss, and above it by rounding alone where the pairs lose nothing beside the answer.
    """
    if law.currency is not Currency.PURE:
        raise law.unknown("privacy loss without a delta")
    _, high = largest_loss(pairs, law.rate(scale))
    return Computed(math.inf if math.isinf(high) else rounded_up(Fraction(high)), None, method, False)


# -- share loss -------------------------------------------------------------------------------------

MOST_VALUES = 128
LARGEST = 1000
"""Losses beyond this are not worked out: powers of e would be as long, and nothing would be hidden."""
FINE = 10**6
METHOD = "largest odds that one record tells, for every record in which two shares differ"
DRAWN = "largest odds that one record tells of the chance it is drawn with, for every record"


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


@dataclass(frozen=True, slots=True)
class RecordLoss:
    """The f of above, rounded up; whether all of it can be lost; and whether what has the condition is the likelier."""

    loss: Fraction
    attained: bool
    having: bool

    def times(self, secret: TableSecret) -> Fraction:
        """What all records lose that may tell of a secret."""
        if secret.drawn:
            return secret.records * log_above(1 - secret.within + secret.within * exp_above(self.loss))
        return secret.differ * self.loss


@lru_cache(maxsize=256)
def record_loss(laws: RecordLaws, rate: Fraction) -> RecordLoss:
    """What one record may tell of whether the condition holds for it, where noise falls by e^-rate with every unit.

    Why   between two numbers that a record may add, the ratio is monotone, since both blurred laws are a e^(rate w) +
          b e^(-rate w) there; so it is largest at one of them. It is never above e^(rate span).

    >>> coin = RecordLaws((0, 1), (Fraction(1, 4), Fraction(3, 4)), (Fraction(3, 4), Fraction(1, 4)))
    >>> found = record_loss(coin, Fraction(1))
    >>> round(float(found.loss), 4), found.attained
    (0.4706, True)
    """
    if rate * laws.span > LARGEST:
        return RecordLoss(rate * laws.span, attained=False, having=True)
    far = {abs(x - y) for x in laws.values for y in laws.values}
    below, above = ({gap: bound(-rate * gap) for gap in far} for bound in (exp_below, exp_above))
    worst, attained, having = Fraction(1), True, True
    for w in laws.values:
        (low, high), (other_low, other_high) = (
            [sum(p * bound[abs(w - x)] for x, p in zip(laws.values, law, strict=True)) for bound in (below, above)]
            for law in (laws.having, laws.lacking)
        )
        for ratio, more in ((Fraction(high) / other_low, True), (Fraction(other_high) / low, False)):
            if ratio > worst:
                worst, attained, having = ratio, w in (laws.values[0], laws.values[-1]), more
    return RecordLoss(min(log_above(worst), rate * laws.span), attained, having)


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
    laws, rate = record_laws(secret, query, policy.domain), LAPLACE.rate(told[0].scale)
    one = record_loss(laws, rate)
    loss = min(rounded_up(one.times(secret)), (secret.records if secret.drawn else secret.differ) * rate * laws.span)
    if loss <= each.epsilon:
        return each
    return Computed(loss, _worst_pair(secret, one), DRAWN if secret.drawn else METHOD, one.attained)


def _worst_pair(secret: TableSecret, one: RecordLoss) -> Witness:
    """Two shares that lose the most, as any two do that are as far apart; or two chances."""
    if secret.drawn:
        low = Fraction(0) if one.having else 1 - secret.within
        chances = low, low + secret.within
        return TableChance(chances[0], secret.records, secret.share), TableChance(
            chances[1], secret.records, secret.share
        )
    fewer = (secret.records - secret.differ) // 2
    counts = fewer, fewer + secret.differ
    return TableShare(counts[0], secret.records, secret.share), TableShare(counts[1], secret.records, secret.share)


def share_budget(policy: Policy, secret: TableSecret) -> Fraction:
    """What any change of one record may cost so that a policy's one number keeps its budget, to six digits.

    Post  not above the budget itself, and not below the part of it that each record would have if all told everything.
    Why   n log(1 - t + t e^x) is at most n t (e^x - 1), which is the budget for x = log(1 + epsilon / (n t)), and that
          is at least epsilon / (n t + epsilon).
    """
    if len(policy.items) != 1:
        raise _not_priced()
    if policy.epsilon > LARGEST:
        what = f"an epsilon above {LARGEST:,} hides nothing of a whole table, and is not worked out"
        raise Refused(what, fix="write a smaller one, such as 1", where="budget")
    laws = record_laws(secret, policy.items[0].linear(policy.domain), policy.domain)
    parts = math.ceil(secret.within * secret.records + policy.epsilon) if secret.drawn else secret.differ
    least, most, part = FINE, FINE * parts, policy.epsilon / (FINE * parts)
    if not laws.span:
        return policy.epsilon

    def kept(each: Fraction) -> bool:
        return rounded_up(record_loss(laws, each / laws.span).times(secret)) <= policy.epsilon

    if kept(policy.epsilon):
        return policy.epsilon
    values, sides = np.array(laws.values, float), np.array([laws.having, laws.lacking], float)
    gaps = np.abs(values[:, None] - values)
    while most - least > 1:  # in floats, to look for what is then checked
        middle = (least + most) // 2
        with np.errstate(all="ignore"):
            blurred = np.log(sides @ np.exp(-gaps * float(middle * part) / laws.span))
            one = np.abs(blurred[0] - blurred[1]).max()
            drawn = secret.records * np.log1p(float(secret.within) * np.expm1(one))
        loss = drawn if secret.drawn else secret.differ * one
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
