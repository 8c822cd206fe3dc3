"""Calibration by search: the least noise that a verdict accepts, never more than a theorem gives.

The Wasserstein mechanism pays for the farthest that any mass must travel; most of it travels less, and what is
published is the mixture. Where the law of the answer under each secret is known, the loss of every scale is too, and
it falls as the scale grows: noise of a larger scale is noise of a smaller one with more noise added to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from tetraodon.certificate.answer_laws import AnswerLaw, LawPair, certify_laws, largest_loss
from tetraodon.certificate.certificate import Certificate
from tetraodon.errors import Refused
from tetraodon.noise.laws import LAPLACE
from tetraodon.pufferfish.additive import Additive, Noise
from tetraodon.pufferfish.calibrated import AnswerGrid, Calibrated
from tetraodon.pufferfish.definition import Definition
from tetraodon.pufferfish.pair import masks_of
from tetraodon.pufferfish.scenario import Composable
from tetraodon.pufferfish.verification import verify
from tetraodon.pufferfish.wasserstein import wasserstein
from tetraodon.pufferfish.world import World
from tetraodon.rational import Number, rational

FINENESS = Fraction(1, 2000)
"""How much above the least scale a found one may be, relatively."""
LARGEST = Fraction(1 << 40)
UNKNOWN = Composable(False, None, "nothing is proved about a second release under the same laws of an answer")


@dataclass(frozen=True)
class LeastNoise(Calibrated):
    """One number with noise whose scale was searched for; `pairs` are the laws of the answer under the secrets."""

    pairs: tuple[LawPair, ...] = field(default=(), repr=False)
    searched: Fraction = Fraction(0)

    @property
    def scale(self) -> Fraction:
        return self.searched

    @property
    def certificate(self) -> Certificate:
        if not self.searched:
            return super().certificate
        return certify_laws(self.pairs, LAPLACE, self.searched, method=self.method)


def least_scale(accepts: Callable[[Fraction], bool], *, most: Fraction | None = None) -> Fraction:
    """The least scale that is accepted, to within a two-thousandth above it; `most` is known to be accepted.

    Pre   whatever is accepted is so at every larger scale.

    >>> float(least_scale(lambda scale: scale * scale >= 2))
    1.41455078125
    """
    high = most or Fraction(1)
    while most is None and not accepts(high):
        high *= 2
        if high > LARGEST:
            raise Refused("no noise that can be drawn is enough", fix="use a larger epsilon, or a coarser answer")
    low = Fraction(0) if most is not None or high == 1 else high / 2
    while high - low > FINENESS * high:
        middle = _short((low + high) / 2, high)
        if not low < middle < high:
            break
        if accepts(middle):
            high = middle
        else:
            low = middle
    return high


def _short(number: Fraction, near: Fraction) -> Fraction:
    """A number with few digits that is no more than a part of `FINENESS` away."""
    unit = Fraction(2) ** (math.floor(math.log2(near)) - 13)
    return round(number / unit) * unit


def least_noise_on(
    pairs: Sequence[LawPair],
    *,
    epsilon: Number,
    promise: str,
    answer: Callable[[Any], int] = sum,
    composable: Composable = UNKNOWN,
    most: Fraction | None = None,
) -> LeastNoise:
    """Discrete Laplace noise of the least scale that keeps epsilon, from the laws of an answer under each secret.

    Pre   the answer is a whole number, and the pairs are all that the definition protects, for all its attackers.

    >>> one, other = AnswerLaw.of({0: Fraction(1)}), AnswerLaw.of({0: Fraction(1, 2), 1: Fraction(1, 2)})
    >>> found = least_noise_on([LawPair(one, other, "a coin")], epsilon=1, promise="a coin")
    >>> 0.67 < found.scale < 0.68, found.certificate.epsilon <= 1
    (True, True)
    """
    budget = rational(epsilon, name="epsilon")
    moves = any(not math.isclose(pair.loss(Fraction(1))[1], 0, abs_tol=1e-9) for pair in pairs)
    scale = (
        least_scale(lambda scale: largest_loss(pairs, LAPLACE.rate(scale))[1] <= budget, most=most)
        if moves
        else Fraction(0)
    )
    return LeastNoise(
        "answer",
        promise,
        budget,
        int(moves),
        AnswerGrid(Fraction(1), exact=True),
        answer,
        composable,
        "largest odds over the laws of the answer under each secret, by search",
        False,
        tuple(pairs),
        scale,
    )


def least_noise(query: Callable[[Any], Any], definition: Definition, world: World) -> Calibrated:
    """Discrete Laplace noise of the least scale that keeps a definition, for finitely many attackers.

    Post  never more than `wasserstein` adds.
    """
    known, _ = wasserstein(query, definition, world)
    if not known.steps:
        return known
    pairs = laws_in(known.answer, definition, world)
    assert definition.epsilon is not None
    found = least_noise_on(
        pairs,
        epsilon=definition.epsilon,
        promise=definition.text,
        answer=known.answer,
        composable=known.composable,
        most=known.scale,
    )
    return replace(found, grid=known.grid) if found.scale < known.scale else known


def laws_in(answer: Callable[[Any], int], definition: Definition, world: World) -> tuple[LawPair, ...]:
    """The laws of a whole-numbered answer under the secrets of every pair, for every attacker of a finite list.

    Pre   `definition.scenarios` lists its attackers.
    """
    told = np.array([answer(dataset) for dataset in world.datasets], np.int64)
    masks = masks_of(definition.pairs.on(world), world)
    first = int(told.min())
    error = (world.size + 2) * 2.0**-52
    found = []
    for prior in definition.scenarios.priors(world) or ():
        weights = np.array([float(weight) for weight in prior.on(world)])
        sums = [np.bincount(told[mask] - first, weights[mask], int(np.ptp(told)) + 1) for mask in masks.masks]
        for pair, one, other in zip(masks.pairs, masks.first.tolist(), masks.second.tolist(), strict=True):
            if sums[one].any() and sums[other].any():
                laws = [AnswerLaw(first, sums[side], error) for side in (one, other)]
                found.append(LawPair(laws[0], laws[1], f"{pair.text}, for {prior.name}"))
    return tuple(found)


def least_accepted(
    noise: Callable[[Fraction], Noise], query: Callable[[Any], Any], definition: Definition, world: World
) -> Additive:
    """A query with the least noise of a family that `verify` accepts: any definition, one number or several, any kind.

    Pre   `noise` makes noise of a scale, and more of it is accepted wherever less is.

    >>> from tetraodon.pufferfish import Definition, Laplace, pairs, scenarios
    >>> coin = World.product((0, 1), individuals=1)
    >>> level = Definition(pairs.values(), scenarios.independent(), epsilon=2)
    >>> float(least_accepted(Laplace, sum, level, coin).noise.scale)
    0.5
    """

    def made(scale: Fraction) -> Additive:
        return Additive(query, noise(scale), world)

    return made(least_scale(lambda scale: verify(made(scale), definition).holds is True))
