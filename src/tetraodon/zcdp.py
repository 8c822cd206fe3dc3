"""From zCDP to (epsilon, delta) and back, never on the hopeful side.

A mechanism is rho-zCDP when the Renyi divergence of every order alpha > 1 between its outputs on neighbours is at most
rho * alpha. Gaussian noise is, and losses of that kind add up ([BS16]). Logarithms are taken with forty digits and
every result is rounded to the safe side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

from tetraodon.errors import PolicyError
from tetraodon.rational import rounded_up

_EXACT = Context(prec=50)
_SLACK = Fraction(1, 10**40)
"""More than the logarithms of numbers up to 10**1000 can be wrong by, a few of them together."""
_STEPS = 200


@lru_cache(maxsize=4096)
def epsilon_at(rho: Fraction, delta: Fraction) -> Fraction:
    """An epsilon, to twelve decimals, for which every rho-zCDP mechanism is (epsilon, delta)-differentially private.

    Post  not below the least that [CKS20] Cor. 13 proves, and above it by less than 1e-9.
    Why   epsilon = alpha rho + log(1 - 1/alpha) - log(alpha delta) / (alpha - 1) holds for every alpha > 1, so the
          best alpha may be searched for in floats.

    >>> float(epsilon_at(Fraction(1, 2), Fraction(1, 10**6)))
    5.221534444531
    """
    _check(delta)
    if rho == 0:
        return Fraction(0)
    return epsilon_at_order(_best(lambda a: a * float(rho) + _beyond(a, float(delta))), rho, delta)


def epsilon_at_order(alpha: Fraction, rho: Fraction, delta: Fraction) -> Fraction:
    """What one order alone proves of rho-zCDP, rounded up to twelve decimals.

    Why  where rho is spent piece by piece, by somebody who chooses as he goes, the order must be fixed beforehand; this
         is then what may be promised ([CKS20] Cor. 13 for one alpha).

    >>> rho, delta = Fraction(1, 2), Fraction(1, 10**6)
    >>> epsilon_at_order(Fraction(7), rho, delta) >= epsilon_at(rho, delta)
    True
    """
    _check(delta)
    return max(Fraction(0), rounded_up(alpha * rho + _constant(alpha, delta) + _SLACK))


def best_order(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The order at which (epsilon, delta) pays for the most rho.

    Post  at this order, `rho_at(epsilon, delta)` costs no more than epsilon.
    """
    _check(delta)
    return _best(lambda a: (_beyond(a, float(delta)) - float(epsilon)) / a)


def rho_at(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A rho, as large as can be shown to twelve digits, for which rho-zCDP gives (epsilon, delta).

    Post  epsilon_at(rho_at(epsilon, delta), delta) <= epsilon.

    >>> float(rho_at(Fraction(1), Fraction(1, 10**6)))
    0.024355970359
    """
    alpha = best_order(epsilon, delta)
    unit = Fraction(1, 10**12)
    rho = (epsilon - 2 * unit - _constant(alpha, delta)) / alpha  # so that rounding up stays within epsilon
    while rho > 0:
        while unit > rho / 10**9:
            unit /= 10
        rho = rho // unit * unit
        if epsilon_at(rho, delta) <= epsilon:
            return rho
        rho -= rho / 10**9
    raise PolicyError("epsilon and delta are too small for Gaussian noise", fix="allow a larger delta or epsilon")


def sqrt_above(square: Fraction, *, digits: int = 9) -> Fraction:
    """The square root, rounded up to so many decimals of its leading digit.

    >>> sqrt_above(Fraction(2)), sqrt_above(Fraction(25, 4))
    (Fraction(1414213563, 1000000000), Fraction(5, 2))
    """
    unit = Fraction(1)
    while square / unit**2 < 1:
        unit /= 10
    while square / unit**2 >= 100:
        unit *= 10
    scaled = square / unit**2 * 100**digits
    root = math.isqrt(math.ceil(scaled))
    if root * root < scaled:
        root += 1
    return Fraction(root, 10**digits) * unit


def _check(delta: Fraction) -> None:
    if not 0 < delta < 1:
        raise PolicyError("delta is not between 0 and 1", fix="write a small one, such as 1e-6")


def _beyond(alpha: float, delta: float) -> float:
    return math.log1p(-1 / alpha) - (math.log(alpha) + math.log(delta)) / (alpha - 1)


def _constant(alpha: Fraction, delta: Fraction) -> Fraction:
    """log(1 - 1/alpha) - log(alpha delta) / (alpha - 1), to within `_SLACK`."""
    return _log(1 - 1 / alpha) - _log(alpha * delta) / (alpha - 1)


def _log(number: Fraction) -> Fraction:
    # quotient and logarithm are each right to fifty digits
    return Fraction(_EXACT.ln(_EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))))


def _best(loss: Callable[[float], float]) -> Fraction:
    """The order with nearly the least loss, by golden section over log(alpha - 1); the loss has one valley."""
    low, high, ratio = -25.0, 45.0, (math.sqrt(5) - 1) / 2

    def at(place: float) -> float:
        return loss(1 + math.exp(place))

    for _ in range(_STEPS):
        width = ratio * (high - low)
        if at(high - width) < at(low + width):
            high = low + width
        else:
            low = high - width
    return 1 + Fraction(f"{math.exp((low + high) / 2):.12e}")
