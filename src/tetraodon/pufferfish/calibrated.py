"""One number of a dataset, on a public grid, with discrete Laplace noise whose scale a theorem gives.

Sums of unbounded values are such numbers, protected to within an error ([KM12] sections 7.1 and 7.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.direct_losses import certify_shift
from tetraodon.errors import DataRefusal, NoiseError, PolicyError
from tetraodon.exact.rational import Number, decimal_text, rational
from tetraodon.noise import laplace_quantile
from tetraodon.noise.laws import LAPLACE
from tetraodon.pufferfish.additive import Additive, DiscreteLaplace
from tetraodon.pufferfish.scenarios import Anything, Composable, IndependentGroups
from tetraodon.pufferfish.world import World


@dataclass(frozen=True, slots=True)
class AnswerGrid:
    """A public grid. Step n stands for the numbers from `at(n)` to `at(n + 1)`, or for `at(n)` if the grid is exact.

    `geometric` grids have the step as a factor, the others as a distance; `shift` is taken off again at the end.
    """

    step: Fraction
    geometric: bool = False
    exact: bool = False
    shift: Fraction = Fraction(0)

    def at(self, place: float) -> float:
        """The number at a place of the grid, for reading."""
        if not self.geometric:
            return float(self.step) * place - float(self.shift)
        power = place * math.log(self.step)
        return (math.exp(power) if power < 700 else math.inf) - float(self.shift)


@dataclass(frozen=True, slots=True)
class NoisyNumber:
    """A released number: the median of what it can be, and an interval that holds the truth with 95% confidence."""

    median: float
    lower: float
    upper: float
    step: int


@dataclass(frozen=True)
class Calibrated:
    """A mechanism for one number. `steps` is the most by which a secret moves the answer, in steps of the grid.

    `answer` gives the step that a dataset's true number falls in; that is the only thing noise is added to.
    """

    name: str
    promise: str
    epsilon: Fraction
    steps: int
    grid: AnswerGrid
    answer: Callable[[Any], int]
    composable: Composable
    method: str
    tight: bool

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise NoiseError("epsilon is not positive", fix="write a budget above zero")

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in steps; 0 where no secret moves the answer."""
        return Fraction(self.steps) / self.epsilon

    @property
    def certificate(self) -> Certificate:
        """The loss: what a secret moves the answer by, divided by the scale of the noise."""
        return certify_shift(self.steps, LAPLACE, self.scale, method=self.method, exact=self.tight)

    @property
    def has_mean(self) -> bool:
        """Whether the released number has a mean: on a geometric grid only if the noise falls faster than it grows."""
        return not self.grid.geometric or float(self.scale) * math.log(self.grid.step) < 1

    def on(self, world: World) -> Additive:
        """The mechanism in a small world, to be verified."""
        if not self.steps:
            raise NoiseError("an exact answer has no noise to verify", fix="verify it as a Channel")
        return Additive(self.answer, DiscreteLaplace(self.scale), world)

    def interpret(self, noisy: int) -> NoisyNumber:
        """The number that a noisy step stands for, with its interval."""
        reach = laplace_quantile(self.scale, Fraction(95, 100)) if self.steps else 0
        width = 0 if self.grid.exact else 1
        lower, upper = self.grid.at(noisy - reach), self.grid.at(noisy + reach + width)
        return NoisyNumber(self.grid.at(noisy + width / 2), lower, upper, noisy)

    def document(self) -> dict[str, Any]:
        """What was promised, without the price: the terms of an account in a ledger."""
        return {"promise": self.promise}


ADDS_UP = Composable(
    False, True, "each pair compares datasets two at a time, in one of which one secret is true ([KM12] after Thm 8.1)"
)


def absolute_sum(
    *, epsilon: Number, individual: Number | None = None, aggregate: Number | None = None, step: Number = 1
) -> Calibrated:
    """The sum of numbers of any size: nobody's number is inferred to within `individual`, the sum not to `aggregate`.

    Pre   records are independent for `individual`; for `aggregate` no assumption is made.
    Post  noise of scale 4k / epsilon, k the larger of the two, rounded up to whole steps of the grid.
    Why   two numbers in neighbouring intervals [x-k, x+k) and [x+k, x+3k) are less than 4k apart, and so are the sums
          ([KM12] Lemma 7.1; for aggregates Eq. 12-13 with intervals). Sums less than 4k apart fall at most
          ceil(4k / step) steps of the grid apart, and as many for some.

    >>> absolute_sum(individual=5, epsilon=1).scale
    Fraction(20, 1)
    """
    widths = {
        word: rational(k, name=word)
        for word, k in (("individual", individual), ("aggregate", aggregate))
        if k is not None
    }
    unit = rational(step, name="step")
    if not widths or min(widths.values()) <= 0 or unit <= 0:
        raise PolicyError("no positive error is stated", fix="write individual=k, aggregate=k or both, and step > 0")
    whom = {"individual": "nobody's number", "aggregate": "the sum"}
    promise = " and ".join(f"{whom[word]} to within {decimal_text(k)}" for word, k in widths.items())
    attackers = IndependentGroups().text if individual is not None else Anything().text
    return Calibrated(
        "sum",
        f"{promise}, against {attackers}",
        rational(epsilon, name="epsilon"),
        math.ceil(4 * max(widths.values()) / unit),
        AnswerGrid(unit),
        _Floor(unit),
        ADDS_UP,
        "neighbouring intervals are less than 4k apart ([KM12] Lemma 7.1)",
        True,
    )


def relative_sum(*, c: Number, epsilon: Number, base: Number = "1.001", shift: Number = 0) -> Calibrated:
    """The sum of positive numbers: nobody's number is inferred to within the factor c. Within 10% is c = 0.9.

    Pre   records are independent. `shift` is a public constant that is added to every sum, for numbers that may be
          zero; with it the factor is one of the shifted numbers.
    Post  the sum is multiplied by e^X, X about Laplace of scale 4 ln(1/c) / epsilon: noise on a grid of powers of
          `base`. It has no mean where that scale reaches 1; read the median and the interval.
    Why   numbers in neighbouring intervals [cy, y/c) and [y/c, y/c^3) are less than a factor c^-4 apart, and so are
          sums of positive numbers that share the rest ([KM12] section 7.1.2, corrected). Such sums are at most D powers
          of the base apart, D the least with base^D >= c^-4; all of this is in whole numbers.

    >>> round(float(relative_sum(c="0.9", epsilon=1).steps * 0.0009995), 3)
    0.422
    """
    factor, power, add = rational(c, name="c"), rational(base, name="base"), rational(shift, name="shift")
    if not 0 < factor < 1:
        raise PolicyError("the relative error c is not between 0 and 1", fix="within 10% is c = 0.9")
    if not 1 < power <= 2:
        raise PolicyError("the base of the grid is not between 1 and 2", fix="write a number such as 1.001")
    if add < 0:
        raise PolicyError("the shift is negative", fix="write a public constant of at least zero")
    promise = f"nobody's number to within a factor {decimal_text(factor)}" + (
        f", after {decimal_text(add)} was added" if add else ""
    )
    return Calibrated(
        "sum",
        f"{promise}, against {IndependentGroups().text}",
        rational(epsilon, name="epsilon"),
        _least_power(factor**-4, power),
        AnswerGrid(power, geometric=True, shift=add),
        _FloorLog(power, add),
        ADDS_UP,
        "neighbouring intervals are less than a factor c^-4 apart ([KM12] section 7.1.2)",
        True,
    )


@dataclass(frozen=True, slots=True)
class _Floor:
    step: Fraction

    def __call__(self, values: Iterable[Any]) -> int:
        return math.floor(_total(values) / self.step)


@dataclass(frozen=True, slots=True)
class _FloorLog:
    base: Fraction
    shift: Fraction

    def __call__(self, values: Iterable[Any]) -> int:
        total = _total(values, lambda number: number > 0 or (self.shift > 0 and number == 0)) + self.shift
        if total <= 0:
            raise _not_positive()
        return _floor_log(total, self.base)


def _total(values: Iterable[Any], allowed: Callable[[Fraction], bool] | None = None) -> Fraction:
    """The exact sum. Refuses what is no finite number, and numbers that are not allowed, without quoting any."""
    total = Fraction(0)
    for value in values:
        try:
            number = Fraction(value.item() if hasattr(value, "item") else value)
        except (TypeError, ValueError, OverflowError):
            raise DataRefusal("a value is no finite number", fix="drop missing values, or replace them") from None
        if allowed is not None and not allowed(number):
            raise _not_positive()
        total += number
    return total


def _not_positive() -> DataRefusal:
    return DataRefusal(
        "a relative error needs positive numbers", fix="shift the sum by a public constant: relative_sum(shift=...)"
    )


def _floor_log(number: Fraction, base: Fraction) -> int:
    """The largest n with base^n <= number, exactly."""
    guess = math.floor((math.log(number.numerator) - math.log(number.denominator)) / math.log(base))
    while base**guess > number:
        guess -= 1
    while base ** (guess + 1) <= number:
        guess += 1
    return guess


def _least_power(number: Fraction, base: Fraction) -> int:
    """The least n with base^n >= number, exactly."""
    below = _floor_log(number, base)
    return below if base**below == number else below + 1
