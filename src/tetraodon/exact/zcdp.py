"""Conversions between zCDP and (epsilon, delta), rounded towards more loss, and one-shot Gaussian calibration.

A mechanism is rho-zCDP when the Renyi divergence of every order alpha > 1 between its outputs on neighbours is at most
rho * alpha. Gaussian noise is, and losses of that kind add up ([BS16]). Logarithms are taken with forty digits and
every result is rounded to the safe side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache, lru_cache
from typing import TypeAlias

from tetraodon.errors import PolicyError
from tetraodon.exact.exponent import exp_above, exp_below, log_above
from tetraodon.exact.rational import rounded_up

# -- zcdp -------------------------------------------------------------------------------------------

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


# -- one release ------------------------------------------------------------------------------------
# The epsilon of Gaussian noise that is released once: from the normal law itself, and smaller than zCDP tells.
#
# zCDP is made to be added up, and gives some of the truth away for it. Where nothing has to be added up, the delta of
# two normal laws is known in closed form. Discrete Gaussian noise is not normal, but nearly a rounded normal one; the
# proof is on the page on delta in the documentation. What is searched for in floats is then checked with 120 digits,
# rounded to the safe side.

DIGITS = 120
_PRECISE = Context(prec=DIGITS)
_ONE_SHOT_SLACK = Fraction(1, 10 ** (DIGITS - 10))
"""More than a few thousand roundings of numbers below one can add up to."""
FARTHEST = 20
"""Standard deviations up to which the normal law is summed; beyond, it is bounded."""
LARGEST = 30
"""Epsilons above this are left to zCDP."""
_ROUNDED = Fraction(5)
"""Rounding over more whole numbers than this changes nothing that could be seen."""
_SQUARED_PI = Fraction(9869604401, 10**9)
"""Just below pi squared."""
_FINE = 10**7
COARSEST = 760
"""How many shares of a scale are looked at, from 0.9 down."""
Noises: TypeAlias = tuple[tuple[Fraction, int], ...]
"""Scales of discrete Gaussian noise, and how many numbers have each."""


@lru_cache(maxsize=1024)
def epsilon_once(rho: Fraction, noises: Noises, delta: Fraction) -> Fraction:
    """An epsilon for which releasing answers with discrete Gaussian noise once is (epsilon, delta)-private.

    Pre   `rho` is the largest sum, over neighbours, of (difference / scale)^2 / 2; `noises` are all that were drawn.
    Post  never above what zCDP gives, and to six digits what the proof gives.

    >>> rho, delta = Fraction(2, 81), Fraction(1, 10**6)                        # one number, moved by one, sigma 9/2
    >>> float(epsilon_once(rho, ((Fraction(9, 2), 1),), delta)), round(float(epsilon_at(rho, delta)), 6)
    (0.946757, 1.00735)
    """
    counted = epsilon_at(rho, delta)
    c = _best_share(lambda share: _epsilon(rho, noises, delta, float(share)))
    found = _epsilon(rho, noises, delta, float(c))
    step = 1
    while found < min(float(LARGEST), float(counted)):
        epsilon = Fraction(math.ceil(found * _FINE) + step, _FINE)
        if _holds(rho, noises, delta, c, epsilon):
            return min(epsilon, counted)
        step *= 2
        found += step / _FINE
    return counted


def finest(rho: Fraction, noises: Noises, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The least factor, to six digits, by which all noise may be shrunk so that one release keeps (epsilon, delta).

    Pre  by zCDP it keeps them as it is.
    """

    def kept(factor: Fraction) -> bool:
        shrunk = tuple((scale * factor, count) for scale, count in noises)
        return epsilon_once(rho / factor**2, shrunk, delta) <= epsilon

    low, high = 500_000, 1_000_000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if kept(Fraction(middle, 1_000_000)) else (middle, high)
    return Fraction(high, 1_000_000)


def delta_of_normal(squared: Fraction, epsilon: Fraction) -> Fraction:
    """The least delta, rounded up, of two normal laws whose means are sqrt(squared) standard deviations apart.

    Why   with m for the distance it is Q(epsilon/m - m/2) - e^epsilon Q(epsilon/m + m/2), Q the upper tail, and grows
          with m (Balle and Wang, 2018).

    >>> float(delta_of_normal(Fraction(1), Fraction(1)))
    0.12693673750664394
    """
    apart = sqrt_above(squared, digits=16)
    near, far = epsilon / apart - apart / 2, epsilon / apart + apart / 2
    return _tail(near)[1] - exp_below(epsilon, DIGITS) * _tail(far)[0]


def _holds(rho: Fraction, noises: Noises, delta: Fraction, c: Fraction, epsilon: Fraction) -> bool:
    eta = sum((count * rounding_loss(c * scale) for scale, count in noises), Fraction(0))
    if epsilon <= 2 * eta:
        return False
    return exp_above(eta) * delta_of_normal(2 * rho / (1 - c**2), epsilon - 2 * eta) <= delta


@lru_cache(maxsize=1024)
def rounding_loss(width: Fraction) -> Fraction:
    """An eta: normal noise that is rounded over this width has the chances of discrete noise but for a factor e^eta.

    Why   the weights of rounding add up to sqrt(2 pi) width (1 + h cos(...)...), |h| <= 2 (q + q^4 + q^9 + ...) with
          q = e^(-2 pi^2 width^2), by Poisson summation.
    """
    q = exp_above(-2 * _SQUARED_PI * min(width, _ROUNDED) ** 2)
    h = 2 * q / (1 - q**3)
    return log_above((1 + h) / (1 - h)) if h < 1 else Fraction(10**6)


def _tail(x: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds on the chance that a standard normal number is above x.

    Why   it is 1/2 - phi(x) (x + x^3/3 + x^5/(3 5) + ...), with terms of one sign.
    """
    if abs(x) > FARTHEST:
        beyond = exp_above(Fraction(-(FARTHEST**2), 2)) / 2
        return (Fraction(0), beyond) if x > 0 else (1 - beyond, Fraction(1))
    place, square = _decimal(x), _decimal(x * x)
    term = total = place
    order = 1
    while order < 2 * square or abs(term) > Decimal(10) ** -DIGITS:
        order += 2
        term = _PRECISE.divide(_PRECISE.multiply(term, square), Decimal(order))
        total = _PRECISE.add(total, term)
    density = _PRECISE.divide(_PRECISE.exp(_decimal(-x * x / 2)), _PRECISE.sqrt(_decimal(2 * _pi())))
    middle = Fraction(1, 2) - Fraction(_PRECISE.multiply(density, total))
    return max(Fraction(0), middle - _ONE_SHOT_SLACK), middle + _ONE_SHOT_SLACK


def _decimal(number: Fraction) -> Decimal:
    return _PRECISE.divide(Decimal(number.numerator), Decimal(number.denominator))


@cache
def _pi() -> Fraction:
    """By Machin's formula, to more digits than are used."""

    def arctan(below: int) -> Fraction:
        return sum((Fraction((-1) ** k, (2 * k + 1) * below ** (2 * k + 1)) for k in range(DIGITS)), Fraction(0))

    return 16 * arctan(5) - 4 * arctan(239)


# -- in floats, to look for what is then checked -------------------------------------------------


def _epsilon(rho: Fraction, noises: Noises, delta: Fraction, c: float) -> float:
    """About the least epsilon that the proof gives with rounding of a share c of every scale; infinite if none."""
    eta = sum(count * _rounding(c * float(scale)) for scale, count in noises)
    if eta > 1:
        return math.inf
    return epsilon_of_normal(math.sqrt(2 * float(rho) / (1 - c * c)), float(delta) * math.exp(-eta)) + 2 * eta


def epsilon_of_normal(apart: float, delta: float) -> float:
    """About the least epsilon, at a delta, of two normal laws so many standard deviations apart; infinite if large."""
    low, high = 0.0, float(LARGEST)
    if _delta(apart, high) > delta:
        return math.inf
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if _delta(apart, middle) <= delta else (middle, high)
    return high


def _rounding(width: float) -> float:
    q = math.exp(-2 * math.pi**2 * width * width)
    return math.log((1 + 2 * q) / (1 - 2 * q)) if q < 0.4 else math.inf


def _delta(apart: float, epsilon: float) -> float:
    near, far = epsilon / apart - apart / 2, epsilon / apart + apart / 2
    return (math.erfc(near / math.sqrt(2)) - math.exp(epsilon) * math.erfc(far / math.sqrt(2))) / 2


def _best_share(loss: Callable[[Fraction], float]) -> Fraction:
    """The share of every scale to round over: nearly the best, of a few hundred that are the same on every machine."""
    coarse = min(range(0, COARSEST, 20), key=lambda place: loss(_share(place)))
    return _share(min(range(max(0, coarse - 19), coarse + 20), key=lambda place: loss(_share(place))))


@cache
def _share(place: int) -> Fraction:
    return Fraction(round(0.9 * 10**9 * 0.98**place), 10**9)
