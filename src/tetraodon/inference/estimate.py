"""One released number, and how far it can be trusted."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from tetraodon.displayed import Displayed

CONFIDENCE = Fraction(95, 100)
"""Every released interval holds the true answer with at least this probability, one number at a time."""


class Estimate(Displayed, float):
    """A number with its interval: it is a float, and knows `lower`, `upper` and `confidence`, 1 where it is certain.

    The interval holds the number too, unless noise took that below zero where the truth cannot be.

    `source` names what was asked: the table of a release that answered, or the view; it is empty elsewhere.

    >>> Estimate(12, 8, 15).of("ages").source
    'ages'
    """

    __slots__ = ("confidence", "lower", "source", "upper")
    lower: float
    upper: float
    confidence: Fraction
    source: str

    def __new__(cls, value: float, lower: float, upper: float, confidence: Fraction = CONFIDENCE) -> Estimate:
        made = super().__new__(cls, value)
        made.lower = float(min(lower, max(value, 0.0) if lower >= 0 else value))
        made.upper = float(max(upper, value))
        made.confidence = confidence
        made.source = ""
        return made

    def of(self, source: str) -> Estimate:
        """The same estimate, which says what it was read from."""
        made = Estimate(float(self), self.lower, self.upper, self.confidence)
        made.source = source
        return made

    @classmethod
    def certain(cls, value: float) -> Estimate:
        """A number that is known exactly."""
        return cls(value, value, value, Fraction(1))

    @property
    def value(self) -> float:
        """The number itself."""
        return float(self)

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end, holding the truth with at least the probability `confidence`."""
        return self.lower, self.upper

    @property
    def words(self) -> str:
        """The number and its interval as a person reads them; the interval is rounded outwards.

        >>> Estimate(12964.6, 12854.2, 13103.5).words, Estimate.certain(5).words
        ('about 12,965 (95%: 12,854 to 13,104)', 'exactly 5')
        """
        if self.confidence == 1:
            return f"exactly {self.value:,.0f}"
        value, lower, upper = self.rounded
        return f"about {value} ({float(100 * self.confidence):.4g}%: {lower} to {upper})"

    @property
    def rounded(self) -> tuple[str, str, str]:
        """Value and ends as whole numbers, the ends rounded outwards; with decimals where the interval is short."""
        if self.upper - self.lower < 5 and self.value != round(self.value):
            lower, upper = math.floor(100 * self.lower) / 100, math.ceil(100 * self.upper) / 100
            return f"{self.value:,.2f}", f"{lower:,.2f}", f"{upper:,.2f}"
        return f"{self.value:,.0f}", f"{math.floor(self.lower):,}", f"{math.ceil(self.upper):,}"

    def document(self) -> dict[str, Any]:
        return {"value": float(self), "lower": self.lower, "upper": self.upper, "confidence": float(self.confidence)}

    def __repr__(self) -> str:
        return f"Estimate({float(self):g}, {self.lower:g}..{self.upper:g})"
