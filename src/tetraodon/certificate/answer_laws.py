"""The loss of noise on an answer whose law under each secret is known, whatever the data look like.

Noise is independent of the data, so what a release tells about a pair of secrets depends on the data only through the
two laws of the answer. Numbers are doubles, and every rounding is bounded: only numbers that are not negative are
added and multiplied, so relative errors add up, and what vanishes below the smallest double is bounded apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.signal import lfilter

from tetraodon.arrays import Floats
from tetraodon.certificate.certificate import Computed, certifying
from tetraodon.errors import Refused
from tetraodon.noise.laws import Currency, NoiseLaw
from tetraodon.rational import rounded_up

ROUNDING = 2.0**-52
VANISHING = 1e-300
"""More than a weight can lose where doubles end."""
SMALLEST = 1e-200
"""Blurred chances below this are not told apart: such a loss counts as infinite."""
WIDEST = 1 << 22


@dataclass(frozen=True)
class AnswerLaw:
    """The law of a whole number under a secret: chances of `first`, `first` + 1 and so on, up to a common factor.

    `error` bounds the relative error of each weight.
    """

    first: int
    weights: Floats
    error: float = ROUNDING

    def __post_init__(self) -> None:
        good = self.weights.ndim == 1 and 0 < len(self.weights) <= WIDEST
        if not good or not np.isfinite(self.weights).all() or self.weights.min() < 0 or self.weights.sum() < SMALLEST:
            raise Refused(
                "this is no law of an answer", fix="give finite weights that are not negative, and some chance"
            )
        if not 0 <= self.error < 1e-3:
            raise Refused("the weights of a law are not known well enough", fix="sum the model with fewer records")

    @classmethod
    def of(cls, chances: Mapping[int, Fraction]) -> AnswerLaw:
        """From exact chances.

        >>> AnswerLaw.of({3: Fraction(1, 4), 5: Fraction(3, 4)}).weights
        array([0.25, 0.  , 0.75])
        """
        if not chances:
            raise Refused("a law of an answer is empty", fix="give the chance of at least one number")
        first, last = min(chances), max(chances)
        if last - first >= WIDEST:
            raise Refused("an answer takes too many values", fix="tell it on a coarser grid")
        weights = np.zeros(last - first + 1)
        for number, chance in chances.items():
            weights[number - first] = float(chance)
        return cls(first, weights)


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
              it is monotone in w, and beyond the last it is constant (`pufferfish.additive.Additive.outputs`).
              Laplace noise and its discrete sister blur alike there, by the weights e^(-rate |w - answer|).

        >>> point = AnswerLaw.of({0: Fraction(1)}), AnswerLaw.of({2: Fraction(1)})
        >>> [round(bound, 9) for bound in LawPair(*point, "0 or 2").loss(Fraction(1, 2))]
        [1.0, 1.0]
        """
        start = min(self.one.first, self.other.first)
        size = max(law.first + len(law.weights) for law in (self.one, self.other)) - start
        if size > WIDEST:
            raise Refused("the answers under two secrets lie too far apart", fix="tell the answer on a coarser grid")
        blurred = [_blurred(law, start, size, float(rate)) for law in (self.one, self.other)]
        error = 2 * (self.one.error + self.other.error) + 2 * size * (float(rate) + 8) * ROUNDING
        error += 2 * size * VANISHING / SMALLEST
        if min(each.min() for each in blurred) < SMALLEST or error >= 0.5:
            return 0.0, math.inf
        largest = float(np.abs(np.log(blurred[0]) - np.log(blurred[1])).max())
        slack = 2 * error + (largest + 500) * 4 * ROUNDING
        return max(0.0, largest - slack), largest + slack + self.apart


def _blurred(law: AnswerLaw, start: int, size: int, rate: float) -> Floats:
    """The sum of weight(s) e^(-rate |w - s|) over s, for w from `start` on, over the sum of the weights."""
    spread = np.zeros(size)
    spread[law.first - start : law.first - start + len(law.weights)] = law.weights
    keep = math.exp(-rate)
    upwards = lfilter([1.0], [1.0, -keep], spread)
    downwards = lfilter([1.0], [1.0, -keep], spread[::-1])[::-1]
    upwards[:-1] += keep * downwards[1:]
    found: Floats = upwards / spread.sum()
    return found


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
