"""One number of a dataset, on a public grid, with discrete Laplace noise whose scale a theorem gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.direct_losses import certify_shift
from tetraodon.errors import NoiseError
from tetraodon.noise import laplace_quantile
from tetraodon.noise.laws import LAPLACE
from tetraodon.pufferfish.additive import Additive
from tetraodon.pufferfish.noise_kind import DiscreteLaplace
from tetraodon.pufferfish.scenario import Composable
from tetraodon.pufferfish.world import World


@dataclass(frozen=True, slots=True)
class Grid:
    """Where answers are told. Step n stands for the numbers from `at(n)` to `at(n + 1)`, or for `at(n)` if it is exact.

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
class Told:
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
    grid: Grid
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

    def told(self, noisy: int) -> Told:
        """What a noisy step says about the true number."""
        reach = laplace_quantile(self.scale, Fraction(95, 100)) if self.steps else 0
        width = 0 if self.grid.exact else 1
        lower, upper = self.grid.at(noisy - reach), self.grid.at(noisy + reach + width)
        return Told(self.grid.at(noisy + width / 2), lower, upper, noisy)

    def document(self) -> dict[str, Any]:
        """What was promised, without the price: the terms of an account in a ledger."""
        return {"promise": self.promise}
