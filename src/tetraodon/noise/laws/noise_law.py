"""What a law of noise has to say about itself before anything may be released with it."""

# ruff: noqa: ARG002 - a law refuses what it does not know, whatever is asked

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from tetraodon.arrays import Floats
from tetraodon.errors import NoiseError
from tetraodon.noise.argument import Size
from tetraodon.noise.guide_table import Integers
from tetraodon.rational import decimal_text


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
