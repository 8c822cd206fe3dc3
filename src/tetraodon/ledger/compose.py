"""What several releases have lost together, where a delta is allowed: pure losses and zCDP losses, mixed.

Two bounds, and the smaller one counts. Epsilons add up, beside the epsilon that the added-up rho gives. And Renyi
divergences of every order add up, which the accountant of `dp-accounting` does; it pays for many small releases.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tetraodon.rational import rounded_up
from tetraodon.zcdp import epsilon_at

_ORDERS = [1.02 + 0.1 * math.exp(step / 8) for step in range(80)]
_LARGEST = 300
"""Pure losses beyond this say nothing in Renyi divergences, and e to their power is too long for a float."""
_SLACK = 1e-11
"""More than the floats of the accountant are wrong by, for each release."""
_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Loss:
    """What one release has lost: `epsilon` for certain, or `rho` in zCDP."""

    epsilon: Fraction
    rho: Fraction | None = None


def composed(losses: Sequence[Loss], delta: Fraction) -> Fraction:
    """An epsilon for which all the releases together keep (epsilon, delta); their sum where delta is 0.

    Pre   no loss is in zCDP where delta is 0. The noise of different releases is independent.
    Post  never below what the releases lose, and it never falls when one is added.
    Why   order by order the accountant's bound is a sum of terms that are not negative, and so is the other bound.

    >>> composed([Loss(Fraction(1, 3)), Loss(Fraction(1, 3))], Fraction(0))
    Fraction(2, 3)
    """
    pure = [loss.epsilon for loss in losses if loss.rho is None]
    rho = sum((loss.rho for loss in losses if loss.rho is not None), Fraction(0))
    added = sum(pure, Fraction(0))
    if not delta:
        assert rho == 0, "a loss in zCDP needs a delta"
        return added
    added += epsilon_at(rho, delta)
    if not any(pure) or (len(pure) == 1 and not rho) or max(pure) > _LARGEST:
        return added
    return min(added, _by_orders(pure, rho, delta))


def _by_orders(pure: Sequence[Fraction], rho: Fraction, delta: Fraction) -> Fraction:
    """Why  no mechanism with a pure loss has a larger Renyi divergence than an honest answer that is turned round with
    probability 1 / (1 + e^loss); losses are rounded up to few digits so that equal ones are counted together.
    """
    from dp_accounting import NeighboringRelation, RandomizedResponseDpEvent, ZCDpEvent  # it takes a second to import
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(_ORDERS, NeighboringRelation.REPLACE_ONE)
    accountant.compose(ZCDpEvent(float(rho) * (1 + 1e-12), _SLACK * (len(pure) + 1)))
    for loss, count in Counter(_short(epsilon) for epsilon in pure if epsilon).items():
        turned = 2 / (1 + math.exp(loss)) * (1 - 1e-12)
        accountant.compose(RandomizedResponseDpEvent(turned, 2), count)
    found = accountant.get_epsilon(float(delta) * (1 - 1e-12))
    return rounded_up(Fraction(found * (1 + 1e-12)))


def _short(epsilon: Fraction) -> float:
    """A loss rounded up to few digits."""
    unit = 10.0 ** (math.floor(math.log10(float(epsilon))) - _DIGITS + 1)
    return math.ceil(float(epsilon) / unit + 1e-9) * unit
