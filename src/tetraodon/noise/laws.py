"""The noise laws, by name: each states its distribution, its quantiles and the privacy loss of its mechanism."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from tetraodon.errors import NoiseError, did_you_mean
from tetraodon.exact.arrays import Floats
from tetraodon.exact.rational import decimal_text, stated_number
from tetraodon.noise.discrete import (
    Size,
    discrete_gaussian,
    discrete_laplace,
    gaussian_pmf,
    gaussian_quantile,
    gaussian_variance,
    laplace_pmf,
    laplace_quantile,
    laplace_variance,
)
from tetraodon.noise.guide_table import Integers

# -- noise law --------------------------------------------------------------------------------------
# What a law of noise has to say about itself before anything may be released with it.

# ruff: noqa: ARG002 - a law refuses what it does not know, whatever is asked


class Currency(Enum):
    """In what a law's loss is counted when its answer is shifted by s, at the rate r.

    PURE  the log-likelihood ratio is at most |s| r, and attains it: epsilon.
    ZCDP  the Renyi divergences of order a are at most a (s r)^2 / 2: rho ([CKS20] Thm 4).
    """

    PURE = "epsilon"
    ZCDP = "rho"


NEGLIGIBLE = 1e-12
"""Share of the smooth variance below which a discrete variance counts as that much: least squares divide by it."""


@dataclass(frozen=True, slots=True)
class NoiseLaw:
    """A family of integer noise, one law for every positive scale. It adds the same noise to every answer's units.

    Everything that a law does not know it refuses. So a law of one's own is used only as far as it has been worked
    out: without `currency` and `rate` it has no certificate, and nothing is released with it.

    name:  the word for it in Python and in policy files.
    words: what a report calls it.
    width: what a report calls its scale.
    field: what a manifest calls its scale.
    """

    name: str
    words: str
    width: str = "scale"
    field: str = "scale"

    @property
    def currency(self) -> Currency:
        """In what its loss is counted."""
        raise self.unknown("privacy loss")

    def rate(self, scale: Fraction) -> Fraction:
        """The loss of a shift by one unit, see `Currency`. Falls as 1 / scale."""
        raise self.unknown("privacy loss")

    def draw(self, scale: Fraction, size: Size) -> Integers:
        """Independent values, exact to the last bit."""
        raise self.unknown("sampler")

    def pmf(self, scale: Fraction, k: int) -> float:
        """The probability of one value."""
        raise self.unknown("probabilities")

    def variance(self, scale: Fraction) -> float:
        """The variance of one value; at least `NEGLIGIBLE` times the smooth one, so that it never rounds to 0."""
        raise self.unknown("variance")

    def smooth_variance(self, scale: Fraction) -> float:
        """The variance of the continuous law of that scale: never below that of the discrete one."""
        raise self.unknown("variance")

    def characteristic(self, scale: Fraction, angles: Floats) -> Floats:
        """E cos(angle X), the characteristic function of one value."""
        raise self.unknown("characteristic function")

    def quantile(self, scale: Fraction, confidence: Fraction) -> int:
        """How far one value reaches: P(|X| <= t) >= confidence."""
        raise self.unknown("quantiles")

    def sum_quantile(self, scale: Fraction, terms: int, confidence: Fraction) -> int:
        """The least t, or a little more, with P(|X_1 + ... + X_terms| <= t) >= confidence."""
        raise self.unknown("quantiles of sums")

    def reach(self, variance: Floats, largest: Floats, confidence: Fraction) -> Floats:
        """Distances t with P(|sum| <= t) >= confidence for weighted sums of values of any scales.

        Pre   `variance` is the sum of weight^2 times the continuous law's variance, or more; `largest` is the largest
              |weight| times scale, or more.
        """
        raise self.unknown("quantiles of sums")

    def document(self, scale: Fraction) -> dict[str, str]:
        """The law at a scale as a manifest states it."""
        return {"law": self.words.lower(), self.field: decimal_text(scale)}

    def unknown(self, what: str) -> NoiseError:
        """The refusal of a law that has not said so much about itself."""
        return NoiseError(
            f"noise called {self.name!r} has no known {what}",
            fix="use laplace or gaussian noise, or work it out in the law's own class",
        )


# -- quantiles --------------------------------------------------------------------------------------
# How far off an answer can be: exact quantiles of sums of noise, and bounds for weighted sums.

LONGEST = 2**22
SLACK = 1e-9


@lru_cache(maxsize=4096)
def _quantile(law: ScaledLaw, scale: Fraction, terms: int, confidence: Fraction) -> int:
    """The least t, or a little more, with P(|X_1 + ... + X_terms| <= t) >= confidence.

    Why   the power of the characteristic function, sampled at N points, is the law of the sum folded modulo N, and
          folding can only add `SLACK` in the range where Chernoff's bound leaves no more outside. Where N would be too
          long, Chernoff's bound itself is the answer: safe, and about a third too wide.
    """
    if terms == 0 or scale == 0:
        return 0
    if terms == 1:
        return law.quantile(scale, confidence)
    reach = law.chernoff(scale, terms, SLACK)
    length = 1 << max(4, math.ceil(math.log2(2 * reach + 2)))
    if length > LONGEST:
        return law.chernoff(scale, terms, 1 - float(confidence))
    angles = 2 * np.pi * np.arange(length // 2 + 1) / length
    folded = np.fft.irfft(law.characteristic(scale, angles) ** terms, n=length)
    inside = folded[0] + 2 * np.concatenate([[0.0], np.cumsum(folded[1 : length // 2])])
    return int(np.searchsorted(inside, float(confidence) + 2 * SLACK))


TILTS = np.concatenate([size * np.linspace(0.005, 0.995, 199) for size in (1.0, 0.1, 0.01)])
"""Many small parts want small tilts."""
LOGARITHMS = np.array([math.log1p(-(tilt**2)) for tilt in TILTS])
AT_ONCE = 1024
"""Sums that are tried with all tilts together."""


def laplace_reach(variance: Floats, largest: Floats, confidence: Fraction) -> Floats:
    """Distances t with P(|sum| <= t) >= confidence, for sums of independent noise with known variances.

    Pre   `variance` is 2 * sum of (weight * scale)^2 or more, `largest` is the largest |weight| * scale or more.
    Why   the moments of discrete Laplace noise of scale b are below those of the continuous: for s b <= 1,
          sinh(s/2) / sinh(1/2b) <= s b, so log E e^{sX} <= -log(1 - (s b)^2). That is convex in (s b)^2, so a sum
          with a given variance has the largest bound when its parts are as large as allowed; Chernoff's bound for
          that sum, at the best of many tilts.

    >>> float(laplace_reach(np.array([2.0]), np.array([1e-3]), Fraction(95, 100))[0].round(2))    # 2.7 deviations
    3.84
    """
    variance, largest = np.asarray(variance, np.float64), np.asarray(largest, np.float64)
    flat_variance = variance.ravel()
    biggest = np.clip(largest.ravel(), np.sqrt(flat_variance / 2) * 1e-3, np.sqrt(flat_variance / 2))
    reach = np.zeros(len(flat_variance))
    noisy = flat_variance > 0
    parts = flat_variance[noisy] / (2 * biggest[noisy] ** 2)
    doubt = math.log(2 / (1 - float(confidence)))
    best = np.empty(len(parts))
    for start in range(0, len(parts), AT_ONCE):
        some = slice(start, start + AT_ONCE)
        best[some] = ((doubt - parts[some, None] * LOGARITHMS) / TILTS).min(axis=1)
    reach[noisy] = best * biggest[noisy]
    return reach.reshape(variance.shape)


def gaussian_reach(variance: Floats, confidence: Fraction) -> Floats:
    """The same for sums of discrete Gaussian noise.

    Pre   `variance` is the sum of (weight * sigma)^2 or more.
    Why   exponential moments of discrete Gaussian noise are at most those of the continuous ([CKS20]): Chernoff.

    >>> float(gaussian_reach(np.array([2.0]), Fraction(95, 100))[0].round(2))
    3.84
    """
    return np.sqrt(2 * np.asarray(variance, np.float64) * math.log(2 / (1 - float(confidence))))


class ScaledLaw(NoiseLaw):
    """A law that widens with its scale, of which everything is worked out."""

    __slots__ = ()

    def rate(self, scale: Fraction) -> Fraction:
        return 1 / scale

    def exact_variance(self, scale: Fraction) -> float:
        """The variance, which may round to 0."""
        raise NotImplementedError

    def chernoff(self, scale: Fraction, terms: int, tail: float) -> int:
        """A t with P(|X_1 + ... + X_terms| > t) <= tail, by Chernoff's bound."""
        raise NotImplementedError

    def variance(self, scale: Fraction) -> float:
        return max(self.exact_variance(scale), NEGLIGIBLE * self.smooth_variance(scale))

    def sum_quantile(self, scale: Fraction, terms: int, confidence: Fraction) -> int:
        """Why  a sum of more terms is more spread out, so beyond 64 their number is rounded up to six binary digits:
        tables of a million running counts need a few hundred quantiles.
        """
        rounding = 1 << max(0, terms.bit_length() - 6)
        return _quantile(self, scale, -(-terms // rounding) * rounding, confidence)


# -- laplace ----------------------------------------------------------------------------------------
# Discrete Laplace noise, which others call the two-sided geometric mechanism.


class LaplaceNoise(ScaledLaw):
    """P(k) is proportional to e**(-|k| / scale), so that a shift by s costs |s| / scale, exactly ([HMD14] Thm 5.1).

    >>> round(LAPLACE.variance(Fraction(10)), 3), LAPLACE.rate(Fraction(4))
    (199.833, Fraction(1, 4))
    """

    __slots__ = ()

    @property
    def currency(self) -> Currency:
        return Currency.PURE

    def draw(self, scale: Fraction, size: Size) -> Integers:
        return discrete_laplace(scale, size)

    def pmf(self, scale: Fraction, k: int) -> float:
        return laplace_pmf(scale, k)

    def exact_variance(self, scale: Fraction) -> float:
        return laplace_variance(scale)

    def smooth_variance(self, scale: Fraction) -> float:
        return 2 * float(scale) ** 2

    def characteristic(self, scale: Fraction, angles: Floats) -> Floats:
        """(1 - p)^2 / (1 - 2 p cos(angle) + p^2), p being e^(-1/scale), so that no digits cancel at large scales."""
        gap = -math.expm1(-1 / scale)
        return np.asarray(gap**2 / (gap**2 + 4 * (1 - gap) * np.sin(angles / 2) ** 2))

    def quantile(self, scale: Fraction, confidence: Fraction) -> int:
        return laplace_quantile(scale, confidence)

    def chernoff(self, scale: Fraction, terms: int, tail: float) -> int:
        """Why  the best of many exponential moments: log E e^{wX} = 2 log(1-p) - log(1 - p e^w) - log(1 - p e^-w)."""
        s = float(scale)
        tilt = np.geomspace(1e-6, 0.999999, 2000) / s
        ends = np.log(-np.expm1(tilt - 1 / s)) + np.log(-np.expm1(-tilt - 1 / s))
        log_moment = 2 * math.log(-math.expm1(-1 / s)) - ends
        return math.ceil(float(np.min((terms * log_moment + math.log(2 / tail)) / tilt)))

    def reach(self, variance: Floats, largest: Floats, confidence: Fraction) -> Floats:
        return laplace_reach(variance, largest, confidence)


LAPLACE = LaplaceNoise("laplace", "discrete Laplace")


# -- gaussian ---------------------------------------------------------------------------------------
# Discrete Gaussian noise ([CKS20]).


class GaussianNoise(ScaledLaw):
    """P(k) is proportional to e**(-k**2 / (2 scale**2)), so that a shift by s costs rho = (s / scale)^2 / 2 in zCDP
    ([CKS20] Thm 4). It has no finite epsilon without a delta.

    >>> GAUSSIAN.variance(Fraction(10)), GAUSSIAN.quantile(Fraction(10), Fraction(95, 100))
    (100.0, 20)
    """

    __slots__ = ()

    @property
    def currency(self) -> Currency:
        return Currency.ZCDP

    def draw(self, scale: Fraction, size: Size) -> Integers:
        return discrete_gaussian(scale, size)

    def pmf(self, scale: Fraction, k: int) -> float:
        return gaussian_pmf(scale, k)

    def exact_variance(self, scale: Fraction) -> float:
        return gaussian_variance(scale)

    def smooth_variance(self, scale: Fraction) -> float:
        return float(scale) ** 2

    def characteristic(self, scale: Fraction, angles: Floats) -> Floats:
        """Why  by Poisson summation it is a sum of bells around the multiples of 2 pi ([CKS20])."""
        sigma = float(scale)
        near = np.remainder(np.asarray(angles) + np.pi, 2 * np.pi) - np.pi
        around = 2 * np.pi * np.arange(-(most := 1 + math.ceil(1.5 / sigma)), most + 1)
        bells = sum(np.exp(-((sigma * (near + place)) ** 2) / 2) for place in around)
        return np.asarray(bells / np.exp(-((sigma * around) ** 2) / 2).sum())

    def quantile(self, scale: Fraction, confidence: Fraction) -> int:
        return gaussian_quantile(scale, confidence)

    def chernoff(self, scale: Fraction, terms: int, tail: float) -> int:
        """Why  E e^{wX} is e^(w^2 sigma^2 / 2) times the sum of e^(-(k - w sigma^2)^2 / (2 sigma^2)) over the same sum
        without a shift, which is the largest (Poisson summation, [CKS20]). So it is at most that of a Gaussian.
        """
        return math.ceil(float(scale) * math.sqrt(2 * terms * math.log(2 / tail)))

    def reach(self, variance: Floats, largest: Floats, confidence: Fraction) -> Floats:  # the variance decides
        return gaussian_reach(variance, confidence)


GAUSSIAN = GaussianNoise("gaussian", "discrete Gaussian", "standard deviation", "sigma")


# -- laws -------------------------------------------------------------------------------------------

LAWS: Mapping[str, NoiseLaw] = MappingProxyType({law.name: law for law in (LAPLACE, GAUSSIAN)})

__all__ = ["GAUSSIAN", "LAPLACE", "LAWS", "Currency", "NoiseLaw", "law_from", "law_named"]


def law_named(name: str | NoiseLaw) -> NoiseLaw:
    """The law of a name; a law is itself.

    >>> law_named("gaussian").width
    'standard deviation'
    """
    if isinstance(name, NoiseLaw):
        return name
    if name not in LAWS:
        raise NoiseError(f"there is no noise called {name!r}", fix=did_you_mean(name, LAWS))
    return LAWS[name]


def law_from(document: Mapping[str, Any] | None) -> tuple[Fraction, NoiseLaw]:
    """The scale and the law that a manifest states; None is no noise."""
    if document is None:
        return Fraction(0), LAPLACE
    law = next((law for law in LAWS.values() if law.words.lower() == document["law"]), None)
    if law is None or document.keys() != {"law", law.field}:
        raise NoiseError("unknown kind of noise", fix="upgrade tetraodon")
    return stated_number(document[law.field]), law
