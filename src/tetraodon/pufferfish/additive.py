"""Noise added to a query, as a mechanism to verify: Laplace, discrete Laplace or Gaussian."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Ints
from tetraodon.errors import NoiseError, PolicyError, Refused
from tetraodon.exponent import DIGITS, exp_below
from tetraodon.noise.laws import LAPLACE
from tetraodon.pufferfish.likelihood import Likelihoods
from tetraodon.pufferfish.world import World
from tetraodon.rational import rational

TABLE_LIMIT = 4_000_000


@dataclass(frozen=True, init=False)
class _OfScale:
    """Noise whose log-likelihood falls by the rate of `noise.laws.LAPLACE` with every unit, rounded or not."""

    words: ClassVar[str]
    scale: Fraction

    def __init__(self, scale: Any) -> None:
        object.__setattr__(self, "scale", _positive(scale, "scale"))

    @property
    def rate(self) -> Fraction:
        return LAPLACE.rate(self.scale)

    @property
    def text(self) -> str:
        return f"{self.words} noise of scale {self.scale}"


@dataclass(frozen=True, init=False)
class Laplace(_OfScale):
    """Density e^(-|x| / scale) / (2 scale)."""

    words = "Laplace"


@dataclass(frozen=True, init=False)
class DiscreteLaplace(_OfScale):
    """Whole numbers k with probability proportional to e^(-|k| / scale): the law `noise.laws.LAPLACE`."""

    words = LAPLACE.words


@dataclass(frozen=True, init=False)
class Gaussian:
    """Density proportional to e^(-x^2 / (2 sigma^2))."""

    sigma: Fraction

    def __init__(self, sigma: Any) -> None:
        object.__setattr__(self, "sigma", _positive(sigma, "sigma"))

    @property
    def text(self) -> str:
        return f"Gaussian noise of standard deviation {self.sigma}"


Noise: TypeAlias = Laplace | DiscreteLaplace | Gaussian


def _positive(number: Any, name: str) -> Fraction:
    exact = rational(number, name=name)
    if exact <= 0:
        raise NoiseError(f"the {name} of the noise is not positive", fix="write a number above zero")
    return exact


@dataclass(frozen=True)
class Exponents:
    """Whole numbers n, by dataset and output: the likelihood is a constant times e^(-n / unit)."""

    steps: NDArray[Any]
    unit: int

    @property
    def distinct(self) -> tuple[list[Fraction], Ints]:
        """The different exponents n / unit, and the place of each entry among them."""
        found, places = np.unique(self.steps, return_inverse=True)
        return [Fraction(int(n), self.unit) for n in found], places.reshape(self.steps.shape)


@dataclass(frozen=True)
class Additive:
    """A query with independent noise on each of its answers; `noise` may list one kind for each answer.

    >>> from tetraodon.pufferfish.additive import Laplace
    >>> Additive(sum, Laplace(2), World.product((0, 1), individuals=2)).answers
    ((Fraction(0, 1),), (Fraction(1, 1),), (Fraction(1, 1),), (Fraction(2, 1),))
    """

    query: Callable[[Any], Any]
    noise: Noise | tuple[Noise, ...]
    world: World

    def __post_init__(self) -> None:
        if not isinstance(self.world, World):
            raise PolicyError(
                "added noise has no list of possible datasets, and the support may be infinite",
                fix="bound it: give world=World.product(values, individuals=...)",
            )
        if isinstance(self.noise, tuple) and any(len(answer) != len(self.noise) for answer in self.answers):
            raise PolicyError("there is not one noise for each answer", fix="give one, or as many as answers")
        for answer in self.answers:
            for number, noise in zip(answer, self.noises, strict=True):
                if isinstance(noise, DiscreteLaplace) and number.denominator != 1:
                    raise NoiseError("discrete noise is added to whole numbers", fix="round or rescale the query")

    @cached_property
    def answers(self) -> tuple[tuple[Fraction, ...], ...]:
        """The true answers on every dataset of the world."""
        return tuple(_vector(self.query(dataset)) for dataset in self.world.datasets)

    @property
    def noises(self) -> tuple[Noise, ...]:
        return self.noise if isinstance(self.noise, tuple) else (self.noise,) * len(self.answers[0])

    @property
    def rates(self) -> tuple[Fraction, ...]:
        """The rate of each Laplace noise. Refuses Gaussian noise, which has none."""
        kinds = self.noises
        if any(isinstance(kind, Gaussian) for kind in kinds):
            raise Refused("Gaussian noise has no rate of this kind", fix="ask for (epsilon, delta)")
        return tuple(kind.rate for kind in kinds if not isinstance(kind, Gaussian))

    def exponents(self, outputs: Sequence[Sequence[Fraction]]) -> Exponents:
        """How the likelihood of each output falls with the distance from the answer on each dataset."""
        scales, sides = [], []
        for axis, rate in enumerate(self.rates):
            sides.append([[row[axis] * rate for row in rows] for rows in (self.answers, outputs)])
            scales += [number.denominator for side in sides[-1] for number in side]
        unit = math.lcm(*scales)
        steps = [[_whole([int(number * unit) for number in side]) for side in both] for both in sides]
        return Exponents(sum(np.abs(answers[:, None] - shown[None, :]) for answers, shown in steps), unit)

    @cached_property
    def outputs(self) -> tuple[tuple[Fraction, ...], ...]:
        """Outputs among which every odds ratio is largest: all combinations of true answers.

        Why   let the other coordinates be fixed, and let w move between two neighbouring true answers. The likelihood
              given a secret is a sum of e^(-|w - a| / b), which is A e^(-w/b) + B e^(w/b) there; the ratio of two such
              sums is (A + B u) / (C + D u) with u = e^(2w/b), which is monotone in u, so an end is worst. Beyond the
              last answer the ratio is constant. Coordinate by coordinate this reaches a combination of true answers.
        """
        axes = [sorted({answer[n] for answer in self.answers}) for n in range(len(self.answers[0]))]
        size = 1
        for axis in axes:
            size *= len(axis)
        if size * self.world.size > TABLE_LIMIT:
            raise Refused("the query has too many different answers to look at each", fix="take a smaller world")
        return tuple(itertools.product(*axes))

    @cached_property
    def points(self) -> tuple[tuple[Fraction, ...], ...]:
        """The different true answers. Two single datasets x and y are told apart best at f(x): there
        sum (|w - f(y)| - |w - f(x)|) / scale is largest, by the triangle inequality in each coordinate.
        """
        return tuple(sorted(set(self.answers)))

    def table(self, outputs: tuple[tuple[Fraction, ...], ...]) -> Likelihoods:
        """Likelihoods of some outputs, up to a common constant; just below the truth."""
        if len(outputs) * self.world.size > TABLE_LIMIT:
            raise Refused("the query has too many different answers to look at each", fix="take a smaller world")
        exponents = self.exponents(outputs)
        powers, places = exponents.distinct
        shown = tuple(output[0] if len(output) == 1 else output for output in outputs)
        values = [exp_below(-power) for power in powers]
        return Likelihoods(self.world, shown, values, places, Fraction(1, 10 ** (DIGITS - 2)))

    def with_(self, other: Additive) -> Additive:
        """Both noisy answers at once, from independent coins."""
        if other.world != self.world:
            raise PolicyError("two mechanisms are about different worlds", fix="use the same world")
        one, two = self.query, other.query
        return Additive(_Both(one, two), self.noises + other.noises, self.world)


@dataclass(frozen=True)
class _Both:
    one: Callable[[Any], Any]
    two: Callable[[Any], Any]

    def __call__(self, dataset: Any) -> tuple[Fraction, ...]:
        return _vector(self.one(dataset)) + _vector(self.two(dataset))


def _whole(numbers: list[int]) -> NDArray[Any]:
    """Whole numbers in 64 bits, or of any size where sums of their differences might not fit."""
    small = max(map(abs, numbers), default=0) < 1 << 40
    return np.array(numbers, np.int64 if small else object)


def _vector(answer: Any) -> tuple[Fraction, ...]:
    parts = answer if isinstance(answer, tuple | list) else (answer,)
    return tuple(rational(part.item() if hasattr(part, "item") else part, name="an answer") for part in parts)
