"""Names that nobody listed, told with a noisy count where that is above a threshold: their exact epsilon and delta.

The noise on the count n of a name is discrete Laplace noise X of scale b, cut off beyond K on both sides: P(X = x) is
proportional to r^|x| for |x| <= K, with r = e^(-1/b). The name is told, with n + X, if n + X > K. So a name that nobody
has is never told, and one that a single person has with the chance t = P(X = K) alone. Where a person has one name, no
other way to choose names tells more of them ([DVGM22]).

Let a step move the counts of m names by one each. Noise that is one more, or one less, on each of them leads to the
same output in the other table, and is at most e^(m/b) times less likely; only noise at one end of its range, K or -K,
has no such partner. So P(S) <= e^(m/b) Q(S) + delta for every set S of outputs, where delta is the chance of that end
for one of the m names, 1 - (1 - t)^m. Where all of them are lower in the other table, that end shows there as an
output which is impossible, and delta is attained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from tetraodon.certificate.certificate import Computed, certifying
from tetraodon.errors import QueryError, Refused
from tetraodon.exact.exponent import exp_above, exp_below
from tetraodon.policy.attackers import Independent

if TYPE_CHECKING:
    from tetraodon.policy.policy import OpenText, Policy

DIGITS, FEW = 12, 64
MOST = 10**6
"""Thresholds beyond this are out of all proportion."""


@dataclass(frozen=True, slots=True)
class NamesAbove:
    """The names of a column of open text whose noisy count is above a threshold."""

    column: str
    scale: Fraction
    threshold: int

    def __post_init__(self) -> None:
        if not isinstance(self.scale, Fraction) or self.scale <= 0:
            raise QueryError("the scale of noise is not above zero", fix="give a fraction above zero")
        if type(self.threshold) is not int or not 1 <= self.threshold <= MOST:
            raise QueryError("a threshold is not a whole number above zero", fix="give a whole number above zero")


@certifying
def certify_names(policy: Policy, names: Sequence[NamesAbove]) -> Computed:
    """The loss of telling names above thresholds: the epsilon of the worst step, and the delta with which it holds.

    Pre   the noise of different names, and of different items, is independent.
    Post  at that epsilon no delta below the chance that is stated would do, but for its last digits, unless `exact` is
          False; then it is not below it.
    """
    loss, kept, most = Fraction(0), Fraction(1), 0
    for one in names:
        moved = names_moved(policy, open_text(policy, one.column))
        loss, most = loss + moved / one.scale, max(most, moved)
        kept *= 1 - chance_of_any(told_alone_at_most(one.scale, one.threshold), moved)
    method = "every name that one person may bring, or take away"
    exact = len({one.column for one in names}) <= 1 and most <= FEW
    return Computed(loss, None, method, exact, chance=_rounded_up(1 - kept))


def open_text(policy: Policy, column: str) -> OpenText:
    """A column that a policy declares as open text."""
    found = [one for one in policy.open if one.name == column]
    if not found:
        raise Refused(
            f"{column} is not declared as open text by the policy that governs the data",
            fix="open a data set with a policy that declares it",
        )
    return found[0]


def names_moved(policy: Policy, column: OpenText) -> int:
    """How many names of a column gain or lose a person in the worst step.

    Why   where values are secret, each of a person's rows may change its name: one name loses the person, another gains
          them. Otherwise rows can only come or go. A person who has more rows than allowed has no name in either table.
    """
    dependent = not isinstance(policy.attackers, Independent)
    some = policy.every_row
    places = {"known": policy.known, "groups": policy.graph.groups, "attackers": dependent, "individuals": some}
    for place, there in places.items():
        if there:
            raise Refused(
                f"names that nobody listed are not priced together with `{place}`",
                fix="release them from a policy without it, if that is true of the people",
                where=place,
            )
    if not column.secret and not policy.graph.absent:
        raise Refused(
            f"no secret changes the names in {column.name}, so that there is nothing to certify",
            fix=f"write `{column.name}: everything` under `secrets`, or `presence: secret`",
            where="secrets",
        )
    return policy.rows_per_person * (2 if column.secret else 1)


def told_alone_at_most(scale: Fraction, threshold: int) -> Fraction:
    """The chance t that a name which one person has is told: rounded up, by less than one in 10^30.

    Why   where noise falls by r from each number to the next, it is r^k (1 - r) / (1 + r - 2 r^(k+1)), k the threshold.
    """
    low, high, power = exp_below(-1 / scale), exp_above(-1 / scale), exp_above(-threshold / scale)
    return power * (1 - low) / (1 + low - 2 * power * high)


def chance_of_any(chance: Fraction, times: int) -> Fraction:
    """The chance that one of several independent events happens, each of which has the given chance.

    Of more than `FEW` it is the sum of their chances, which is more.
    """
    return 1 - (1 - chance) ** times if times <= FEW else min(Fraction(1), times * chance)


def least_threshold(scale: Fraction, moved: int, delta: Fraction) -> int:
    """The least threshold at which a step that moves so many names has a delta of at most the given one.

    >>> least_threshold(Fraction(1), 1, Fraction(1, 10**6))
    14
    """
    low, high = 0, 1
    while _rounded_up(chance_of_any(told_alone_at_most(scale, high), moved)) > delta:
        low, high = high, 2 * high
        if high > MOST:
            raise Refused("so many people would have to share a name that none is told", fix="give more budget")
    while high - low > 1:
        middle = (low + high) // 2
        if _rounded_up(chance_of_any(told_alone_at_most(scale, middle), moved)) > delta:
            low = middle
        else:
            high = middle
    return high


def _rounded_up(chance: Fraction) -> Fraction:
    """A chance rounded up to a few significant digits."""
    if not chance:
        return chance
    unit = Fraction(1)
    while unit > chance:
        unit /= 10
    parts = chance / unit * 10**DIGITS
    return Fraction(-(-parts.numerator // parts.denominator), 10**DIGITS) * unit
