"""The loss of noise on an answer whose law under each secret is known, whatever the data look like.

Noise is independent of the data, so what a release tells about a pair of secrets depends on the data only through the
two laws of the answer. Numbers are doubles, and every rounding is bounded: only numbers that are not negative are
added and multiplied, so relative errors add up, and what vanishes below the smallest double is bounded apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
