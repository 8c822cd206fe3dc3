"""Additive noise as a mechanism to verify, and the exact loss of Laplace noise."""

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

from tetraodon.errors import NoiseError, PolicyError, Refused
from tetraodon.exact.arrays import Bools, Ints
from tetraodon.exact.exponent import DIGITS, display, exp_above, exp_below, sign_of_sum
from tetraodon.exact.rational import rational
from tetraodon.noise.laws import LAPLACE
from tetraodon.pufferfish.definition import Definition, SpelledOut, Verdict, log_range, no_loss, witness_of
from tetraodon.pufferfish.largest_odds import (
    Likelihoods,
    OddsPeak,
    Peaks,
    SecretSums,
    for_blocks,
    for_priors,
    near,
    whole_weights,
)
from tetraodon.pufferfish.pairs import Masks
from tetraodon.pufferfish.scenarios import Prior
from tetraodon.pufferfish.world import World

# -- additive ---------------------------------------------------------------------------------------

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


# -- laplace ----------------------------------------------------------------------------------------
# The exact loss of Laplace noise: a rational epsilon against whole sets, a sum of exponentials against one prior.


def judge_laplace(mechanism: Additive, question: SpelledOut) -> Verdict:
    """The smallest epsilon of added Laplace or discrete Laplace noise.

    Pre   without priors, the supremum is over datasets that agree outside a pair's group.
    Post  exact: against sets epsilon is a Fraction; against priors it is known to forty digits, and whether it
          exceeds the definition's is decided without rounding.
    """
    definition, masks = question.definition, question.masks
    if question.priors is None:
        table = mechanism.table(mechanism.points).restricted(question.world)
        return _against_sets(mechanism, definition, table, masks, for_blocks(table, masks, question.groups))
    table = mechanism.table(mechanism.outputs).restricted(question.world)
    peaks = for_priors(table, masks, question.priors)
    return _against_priors(mechanism, definition, table, masks, peaks, question.priors)


def _against_sets(
    mechanism: Additive, definition: Definition, table: Likelihoods, masks: Masks, peaks: Peaks
) -> Verdict:
    """Two datasets are told apart by exactly sum |f(x) - f(y)| / scale, at the output f(x)."""
    skipped = tuple(masks.pairs[n] for n in peaks.skipped)
    method = "all neighbouring datasets, at their true answers"
    if peaks.forward is None or peaks.backward is None:
        return no_loss(definition, method, skipped)
    losses = [_loss(mechanism, peak) for peak in (peaks.forward, peaks.backward)]
    best = peaks.forward if losses[0] >= losses[1] else peaks.backward
    epsilon = max(losses)
    # different losses are at least 1 / unit apart, which the table must be able to see
    rates = mechanism.rates
    unit = math.lcm(*((a * r).denominator for row in mechanism.answers for a, r in zip(row, rates, strict=True)))
    if unit * table.error * 8 >= 1:
        raise Refused("the scales and answers have too many digits", fix="round them to about fifteen digits")
    holds = _within(definition, losses[0], losses[1])
    witness = witness_of(table, masks, best, definition)
    odds = display(exp_below(epsilon)) if epsilon else Fraction(1)
    return Verdict(definition, epsilon, epsilon, True, holds, witness, method, odds, skipped=skipped)


def _loss(mechanism: Additive, peak: OddsPeak) -> Fraction:
    places = [mechanism.world.index[dataset] for dataset, _ in peak.prior.weights]
    exponents = mechanism.exponents([mechanism.points[peak.output]])
    return Fraction(abs(int(exponents.steps[places[0], 0]) - int(exponents.steps[places[1], 0])), exponents.unit)


def _within(definition: Definition, forward: Fraction, backward: Fraction) -> bool:
    if definition.odds is None:
        return max(forward, backward) <= (definition.epsilon or 0)
    low, high = definition.odds
    return _at_most(forward, high) and (low == 0 or _at_most(backward, 1 / low))


def _at_most(epsilon: Fraction, bound: Fraction) -> bool:
    """Whether e^epsilon <= bound, exactly."""
    terms = {epsilon: Fraction(1), Fraction(0): -bound} if epsilon else {Fraction(0): 1 - bound}
    return sign_of_sum(terms) <= 0


def _against_priors(
    mechanism: Additive,
    definition: Definition,
    table: Likelihoods,
    masks: Masks,
    peaks: Peaks,
    priors: tuple[Prior, ...],
) -> Verdict:
    skipped = tuple(masks.pairs[n] for n in peaks.skipped)
    method = "every listed attacker, at the true answers"
    if peaks.forward is None or peaks.backward is None:
        return no_loss(definition, method, skipped)
    best = peaks.forward if peaks.forward.odds >= peaks.backward.odds else peaks.backward
    slack = 1 + 4 * table.error
    assert isinstance(best.odds, Fraction)
    low, high = log_range(best.odds / slack)[0], log_range(best.odds * slack)[1]
    exponents = mechanism.exponents(mechanism.outputs)
    holds = all(_prior_holds(exponents, definition, table, masks, prior) for prior in priors)
    witness = witness_of(table, masks, best, definition)
    return Verdict(definition, low, high, True, holds, witness, method, display(best.odds), skipped=skipped)


def _prior_holds(exponents: Exponents, definition: Definition, table: Likelihoods, masks: Masks, prior: Prior) -> bool:
    weights = prior.on(table.world)
    sums, (whole, _) = SecretSums(table, masks.masks, weights), whole_weights(weights)
    return all(
        _direction_holds(exponents, definition, table.error, masks, sums, whole, forward) for forward in (True, False)
    )


def _direction_holds(
    exponents: Exponents,
    definition: Definition,
    error: Fraction,
    masks: Masks,
    sums: SecretSums,
    weights: NDArray[Any],
    forward: bool,
) -> bool:
    """Whether no output exceeds the bound; likelihoods too near to it are compared as sums of exponentials."""
    if definition.odds is None:
        power, factor = definition.epsilon or Fraction(0), Fraction(1)
        bound = exp_above(power)
    else:
        low, high = definition.odds
        if not forward and low == 0:
            return True
        power, factor = Fraction(0), high if forward else 1 / low
        bound = factor
    sides = (masks.first, masks.second) if forward else (masks.second, masks.first)
    for pair, output, odds in near(sums, masks, forward, bound / (1 + 8 * error)):
        if isinstance(odds, float) or odds > bound * (1 + 8 * error):
            return False
        one, other = (masks.masks[side[pair]] for side in sides)
        terms = _weight_by_exponent(exponents, weights, one, output, 1 / Fraction(weights[one].sum()))
        for exponent, weight in _weight_by_exponent(
            exponents, weights, other, output, -factor / Fraction(weights[other].sum())
        ).items():
            terms[exponent + power] = terms.get(exponent + power, Fraction(0)) + weight
        if sign_of_sum(terms) > 0:
            return False
    return True


def _weight_by_exponent(
    exponents: Exponents, weights: NDArray[Any], secret: Bools, output: int, factor: Fraction
) -> dict[Fraction, Fraction]:
    """P(output and secret) times a factor, as a sum of exponentials: exponents and their weights."""
    steps, places = np.unique(exponents.steps[secret, output], return_inverse=True)
    sums = np.zeros(len(steps), object)
    np.add.at(sums, places, weights[secret])
    return {Fraction(-int(n), exponents.unit): weight * factor for n, weight in zip(steps, sums, strict=True) if weight}
