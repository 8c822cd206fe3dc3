"""Gaussian noise: the least delta at an epsilon, for one answer and for mixtures of laws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import ndtr

from tetraodon.errors import Refused
from tetraodon.exact.arrays import Bools, Floats
from tetraodon.pufferfish.additive import Additive, Gaussian
from tetraodon.pufferfish.definition import Definition, SpelledOut, Verdict, Witness, no_loss
from tetraodon.pufferfish.pairs import Pair
from tetraodon.pufferfish.scenarios import Prior
from tetraodon.pufferfish.world import Secret

# -- gaussian mixture -------------------------------------------------------------------------------
# Gaussian noise on an answer whose laws under two secrets are known: the smallest delta at an epsilon, enclosed.
#
# Under a secret the noisy answer is a mixture of normal laws, p under one and q under the other; the smallest delta
# is the integral of p - e^epsilon q where that is positive. The logarithm of p / q has a slope of at most R /
# sigma^2, R the distance of the extreme answers, because its derivative at w is the difference of two means of
# answers, as seen from w, over sigma^2. So the sign in the middle of a short interval holds on all of it, but next to
# where it changes.

MIXTURE_ROUNDING = 1e-12
"""Far above the error of sums of the normal distribution function in floats."""
BEYOND = 12.0
"""Standard deviations outside the answers at which looking ends: less than 1e-32 lies beyond."""
CELLS, HALVINGS = 4096, 16


@dataclass(frozen=True)
class Mixture:
    """Answers and their chances under a secret, which sum to one."""

    answers: Floats
    chances: Floats

    def log_density(self, where: Floats, sigma: float) -> Floats:
        """Up to a constant that all mixtures of this sigma share."""
        powers = -(((where[:, None] - self.answers[None, :]) / sigma) ** 2) / 2
        largest = powers.max(axis=1)
        found: Floats = largest + np.log(np.exp(powers - largest[:, None]) @ self.chances)
        return found

    def below(self, where: Floats, sigma: float) -> Floats:
        """The chance of a noisy answer below each number."""
        found: Floats = ndtr((where[:, None] - self.answers[None, :]) / sigma) @ self.chances
        return found


@dataclass(frozen=True)
class Excess:
    """Bounds on the smallest delta, and an output at which the odds move by more than e^epsilon, if there is one."""

    low: float
    high: float
    output: float


def excess(one: Mixture, other: Mixture, sigma: float, epsilon: float) -> Excess:
    """The integral of max(0, p - e^epsilon q).

    >>> point = Mixture(np.array([0.0]), np.ones(1)), Mixture(np.array([1.0]), np.ones(1))
    >>> found = excess(*point, sigma=1.0, epsilon=1.0)
    >>> found.low <= 0.12693673750664397 <= found.high, found.high - found.low < 1e-9
    (True, True)
    """
    everything = np.concatenate([one.answers, other.answers])
    start, end = everything.min() - BEYOND * sigma, everything.max() + BEYOND * sigma
    slope = float(np.ptp(everything)) / sigma**2
    edges = np.linspace(start, end, CELLS + 1)
    lefts, rights = edges[:-1], edges[1:]
    certain, unsure, output, farthest = 0.0, 0.0, 0.0, -math.inf
    for halving in range(HALVINGS):
        middles = (lefts + rights) / 2
        above = one.log_density(middles, sigma) - other.log_density(middles, sigma) - epsilon
        reach = slope * (rights - lefts) / 2 + 1e-9
        if above.max(initial=-math.inf) > farthest:
            output, farthest = float(middles[above.argmax()]), float(above.max())
        certain += _mass(one, other, lefts, rights, above > reach, sigma, epsilon)
        open_ = np.abs(above) <= reach
        if halving == HALVINGS - 1 or not open_.any() or open_.sum() > CELLS:
            chance = one.below(rights[open_], sigma) - one.below(lefts[open_], sigma)
            unsure = float((np.maximum(chance, 0) * np.minimum(1, 2 * (np.abs(above) + reach)[open_])).sum())
            break
        lefts, middles, rights = lefts[open_], middles[open_], rights[open_]
        lefts, rights = np.concatenate([lefts, middles]), np.concatenate([middles, rights])
        order = np.argsort(lefts, kind="stable")
        lefts, rights = lefts[order], rights[order]
    return Excess(max(0.0, certain - MIXTURE_ROUNDING), certain + unsure + MIXTURE_ROUNDING, output)


def _mass(
    one: Mixture, other: Mixture, lefts: Floats, rights: Floats, positive: Bools, sigma: float, epsilon: float
) -> float:
    """The integral over the intervals that are positive throughout; neighbours are joined, to lose fewer digits."""
    if not positive.any():
        return 0.0
    a, b = lefts[positive], rights[positive]
    starts = np.concatenate([[True], a[1:] != b[:-1]])
    ends = np.concatenate([starts[1:], [True]])
    a, b = a[starts], b[ends]
    first = one.below(b, sigma) - one.below(a, sigma)
    second = other.below(b, sigma) - other.below(a, sigma)
    return float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum())


# -- gaussian ---------------------------------------------------------------------------------------

ROUNDING = 1e-12
"""Far above the error of the normal distribution function in floats."""


@dataclass(frozen=True)
class _Contrast:
    """Two datasets on either side of a pair, and the squared distance of their answers in standard deviations."""

    pair: Pair
    x: int
    y: int
    squared: Fraction


def judge_gaussian(mechanism: Additive, question: SpelledOut) -> Verdict:
    """With delta = 0, whether the odds are bounded at all; with delta above, the smallest that serves.

    Post  against every prior, or independent records, delta is exact up to the rounding of floats, and against a list
          of priors too if the answer is one number. With several numbers and a list of priors the upper end is proved,
          because the excess is convex in the two mixtures, and the lower end is 0.
    Why   two datasets at distance d (in standard deviations) need
          delta = Phi(d/2 - epsilon/d) - e^epsilon Phi(-d/2 - epsilon/d), which grows with d.
    """
    if not all(isinstance(noise, Gaussian) for noise in mechanism.noises):
        raise Refused("Gaussian and Laplace noise are mixed", fix="verify the two releases one by one")
    definition, priors = question.definition, question.priors
    if priors is None and not question.exact:
        raise Refused(
            "Gaussian noise is verified against every prior, independent records or a list of priors",
            fix="ask against one of those, or use Laplace noise",
        )
    if definition.delta and priors is not None and len(mechanism.noises) == 1:
        return _against_priors(mechanism, question, float(definition.epsilon or 0))
    worst = max(_contrasts(mechanism, question), key=lambda c: c.squared, default=None)
    if worst is None or (worst.squared == 0 and priors is None):
        return no_loss(definition, "Gaussian noise", ())
    if not definition.delta:
        return _pure(mechanism, question, worst)
    epsilon = float(definition.epsilon or 0)
    middle = delta_of(math.sqrt(worst.squared), epsilon)
    low, high = max(0.0, middle - ROUNDING) if priors is None else 0.0, middle + ROUNDING
    holds = definition.allows_delta(low, high)
    stated = definition.epsilon or Fraction(0)
    witness = None  # the attackers of a list need not know that it is one of two datasets
    if priors is None:
        witness = _witness(mechanism, question, worst, far=math.sqrt(worst.squared) / 2 + epsilon + 1)
    method = "two datasets at the largest distance"
    return Verdict(definition, stated, stated, priors is None, holds, witness, method, delta=(low, high))


def _against_priors(mechanism: Additive, question: SpelledOut, epsilon: float) -> Verdict:
    """One number against listed attackers: the largest excess over pairs, both ways."""
    definition = question.definition
    (noise,) = mechanism.noises
    assert isinstance(noise, Gaussian)
    worst, low, high = None, 0.0, 0.0
    seen: dict[tuple[bytes, ...], Excess] = {}
    for prior, pair in itertools.product(question.priors or (), question.masks.pairs):
        first, second = (_mixture(mechanism, prior, secret) for secret in pair)
        if first is None or second is None:
            continue
        for one, other, forward in ((first, second, True), (second, first, False)):
            key = tuple(part.tobytes() for side in (one, other) for part in (side.answers, side.chances))
            if key not in seen:
                seen[key] = excess(one, other, float(noise.sigma), epsilon)
            found = seen[key]
            if worst is None or found.high > high:
                worst = (prior, pair, forward, one, other, found)
            low, high = max(low, found.low), max(high, found.high)
    if worst is None:
        return no_loss(definition, "Gaussian noise", ())
    prior, pair, forward, one, other, found = worst
    where = np.array([found.output])
    gain = float((one.log_density(where, float(noise.sigma)) - other.log_density(where, float(noise.sigma)))[0])
    pair = pair if forward else Pair(pair.second, pair.first)
    before = prior.probability(pair.first) / prior.probability(pair.second)
    after = before * Fraction(math.exp(min(gain, 700.0)))
    witness = Witness(pair, prior, found.output, before, after, definition.scenarios.text)
    holds = definition.allows_delta(low, high)
    stated = definition.epsilon or Fraction(0)
    sharp = high - low <= 1e-6 * high + 4 * MIXTURE_ROUNDING
    method = "the mixture under each secret of every listed attacker"
    return Verdict(definition, stated, stated, sharp, holds, witness, method, delta=(low, high))


def _mixture(mechanism: Additive, prior: Prior, secret: Secret) -> Mixture | None:
    """What an attacker thinks the answer is under a secret, if that is possible."""
    law: dict[Fraction, Fraction] = {}
    for dataset, weight in prior.weights:
        if weight and secret.holds(dataset):
            (answer,) = mechanism.answers[mechanism.world.index[dataset]]
            law[answer] = law.get(answer, Fraction(0)) + weight
    total = sum(law.values(), Fraction(0))
    if not law:
        return None
    answers = sorted(law)
    return Mixture(np.array([float(a) for a in answers]), np.array([float(law[a] / total) for a in answers]))


def delta_of(distance: float, epsilon: float) -> float:
    """The smallest delta for two normal laws of unit variance at a distance."""
    if distance == 0:
        return 0.0
    above = float(ndtr(distance / 2 - epsilon / distance))
    return max(0.0, above - math.exp(epsilon) * float(ndtr(-distance / 2 - epsilon / distance)))


def _pure(mechanism: Additive, question: SpelledOut, worst: _Contrast) -> Verdict:
    """Far out, the odds of two different answers exceed every bound."""
    definition = question.definition
    if question.priors is None:
        far = 10.0 * max(1.0, math.sqrt(worst.squared))
        witness: Witness | None = _witness(mechanism, question, worst, far)
    else:
        witness = _runs_away(mechanism, definition, question.masks.pairs, question.priors)
    if witness is None:
        raise Refused(
            "both secrets allow the same extreme answers, so the odds are bounded but not by a number we can prove",
            fix="ask for (epsilon, delta), or use Laplace noise",
        )
    method = "far out, Gaussian odds exceed every bound"
    return Verdict(definition, math.inf, math.inf, True, False, witness, method, math.inf, math.inf, math.inf)


def _runs_away(
    mechanism: Additive, definition: Definition, pairs: Sequence[Pair], priors: tuple[Prior, ...]
) -> Witness | None:
    """A listed attacker, and an output at which the odds run away, in a direction that the definition bounds.

    Why   where the largest answer along an axis, or the smallest, differs between two secrets, the odds grow without
          end on the way out along that axis.
    """
    sigmas = [noise.sigma for noise in mechanism.noises if isinstance(noise, Gaussian)]
    for prior, pair in itertools.product(priors, pairs):
        sides = [
            [(mechanism.answers[mechanism.world.index[d]], weight) for d, weight in prior.weights if secret.holds(d)]
            for secret in pair
        ]
        if not all(sides):
            continue
        for (axis, sigma), sign in itertools.product(enumerate(sigmas), (1, -1)):
            ends = [max(sign * answer[axis] for answer, _ in side) for side in sides]
            gap = ends[0] - ends[1]
            if gap > 0 or (gap < 0 and definition.low):
                output = list(sides[gap < 0][0][0])
                output[axis] = sign * (max(ends) + 40 * sigma**2 / abs(gap))
                before = prior.probability(pair.first) / prior.probability(pair.second)
                logs = [_log_likelihood(side, output, sigmas) for side in sides]
                after = math.inf if logs[0] - logs[1] > 700 else Fraction(math.exp(logs[0] - logs[1]))
                seen = tuple(map(float, output))
                shown_output = seen[0] if len(seen) == 1 else seen
                return Witness(pair, prior, shown_output, before, after, definition.scenarios.text)
    return None


def _log_likelihood(
    side: Sequence[tuple[tuple[Fraction, ...], Fraction]], output: Sequence[Fraction], sigmas: Sequence[Fraction]
) -> float:
    """The logarithm of P(output and secret), up to a constant."""
    powers = [math.log(weight) - float(_squared(output, answer, sigmas)) / 2 for answer, weight in side]
    return max(powers) + math.log(sum(math.exp(power - max(powers)) for power in powers))


def _contrasts(mechanism: Additive, question: SpelledOut) -> Iterator[_Contrast]:
    """The farthest two datasets of each pair: neighbours for sets of attackers, possible ones for priors."""
    world, priors = question.world, question.priors
    answers = [mechanism.answers[mechanism.world.index[dataset]] for dataset in world.datasets]
    sigmas = [noise.sigma for noise in mechanism.noises if isinstance(noise, Gaussian)]
    possible = np.ones((1, world.size), np.bool_)
    if priors is not None:
        possible = np.array([[weight > 0 for weight in prior.on(world)] for prior in priors], np.bool_)
    for number, pair in enumerate(question.masks.pairs):
        for alive in possible:
            near = ((x, y) for x, y in question.neighbours(number) if alive[x] and alive[y])
            found = [(_squared(answers[x], answers[y], sigmas), x, y) for x, y in near]
            if found:
                squared, x, y = max(found)
                yield _Contrast(pair, x, y, squared)


def _squared(one: Sequence[Fraction], other: Sequence[Fraction], sigmas: Sequence[Fraction]) -> Fraction:
    return sum((((a - b) / sigma) ** 2 for a, b, sigma in zip(one, other, sigmas, strict=True)), Fraction(0))


def _witness(mechanism: Additive, question: SpelledOut, worst: _Contrast, far: float) -> Witness:
    """An output `far` standard deviations beyond the answer on x, away from y, and the odds there."""
    x, y = question.world.datasets[worst.x], question.world.datasets[worst.y]
    a, b = (mechanism.answers[mechanism.world.index[dataset]] for dataset in (x, y))
    distance = math.sqrt(worst.squared)
    output = tuple(
        float(p) + far * float(p - q) / distance if distance else float(p) for p, q in zip(a, b, strict=True)
    )
    power = distance * far + worst.squared / 2
    after = math.inf if power > 700 else Fraction(math.exp(power))
    seen = output[0] if len(output) == 1 else output
    return Witness(worst.pair, Prior.either(x, y), seen, Fraction(1), after, question.definition.scenarios.text)
