"""Gaussian noise on an answer whose laws under two secrets are known: the smallest delta at an epsilon, enclosed.

Under a secret the noisy answer is a mixture of normal laws, p under one and q under the other; the smallest delta is
the integral of p - e^epsilon q where that is positive. The logarithm of p / q has a slope of at most R / sigma^2, R
the distance of the extreme answers, because its derivative at w is the difference of two means of answers, as seen from
w, over sigma^2. So the sign in the middle of a short interval holds on all of it, but next to where it changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from tetraodon.arrays import Bools, Floats

ROUNDING = 1e-12
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
    return Excess(max(0.0, certain - ROUNDING), certain + unsure + ROUNDING, output)


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
