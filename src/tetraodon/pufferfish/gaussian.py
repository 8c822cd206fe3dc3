"""Gaussian noise: no finite epsilon of its own, so the smallest delta at an epsilon; and why the odds run away."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import ndtr

from tetraodon.errors import Refused
from tetraodon.pufferfish.additive import Additive
from tetraodon.pufferfish.blocks import classes_of
from tetraodon.pufferfish.definition import Definition
from tetraodon.pufferfish.noise_kind import Gaussian
from tetraodon.pufferfish.pair import Masks, Pair
from tetraodon.pufferfish.prior import Prior
from tetraodon.pufferfish.statement import shown
from tetraodon.pufferfish.verdict import Verdict, Witness, no_loss
from tetraodon.pufferfish.world import World

ROUNDING = 1e-12
"""Far above the error of the normal distribution function in floats."""


@dataclass(frozen=True)
class _Contrast:
    """Two datasets on either side of a pair, and the squared distance of their answers in standard deviations."""

    pair: Pair
    x: int
    y: int
    squared: Fraction


def judge_gaussian(
    mechanism: Additive,
    definition: Definition,
    world: World,
    masks: Masks,
    groups: Sequence[frozenset[int] | None],
    priors: tuple[Prior, ...] | None,
    exact: bool,
) -> Verdict:
    """With delta = 0, whether the odds are bounded at all; with delta above, the smallest that serves.

    Post  against every prior, or independent records, delta is exact up to the rounding of floats; against a list of
          priors the upper end is proved, because the excess is convex in the two mixtures, and the lower end is 0.
    Why   two datasets at distance d (in standard deviations) need
          delta = Phi(d/2 - epsilon/d) - e^epsilon Phi(-d/2 - epsilon/d), which grows with d.
    """
    if not all(isinstance(noise, Gaussian) for noise in mechanism.noises):
        raise Refused("Gaussian and Laplace noise are mixed", fix="verify the two releases one by one")
    if priors is None and not exact:
        raise Refused(
            "Gaussian noise is verified against every prior, independent records or a list of priors",
            fix="ask against one of those, or use Laplace noise",
        )
    worst = max(_contrasts(mechanism, world, masks, groups, priors), key=lambda c: c.squared, default=None)
    if worst is None or (worst.squared == 0 and priors is None):
        return no_loss(definition, "Gaussian noise", ())
    if not definition.delta:
        return _pure(mechanism, definition, world, worst, priors)
    epsilon = float(definition.epsilon or 0)
    middle = delta_of(math.sqrt(worst.squared), epsilon)
    low, high = max(0.0, middle - ROUNDING) if priors is None else 0.0, middle + ROUNDING
    holds = True if high <= definition.delta else False if low > definition.delta else None
    stated = definition.epsilon or Fraction(0)
    witness = _witness(mechanism, definition, world, worst, far=math.sqrt(worst.squared) / 2 + epsilon + 1)
    method = "two datasets at the largest distance"
    return Verdict(definition, stated, stated, priors is None, holds, witness, method, delta=(low, high))


def delta_of(distance: float, epsilon: float) -> float:
    """The smallest delta for two normal laws of unit variance at a distance."""
    if distance == 0:
        return 0.0
    above = float(ndtr(distance / 2 - epsilon / distance))
    return max(0.0, above - math.exp(epsilon) * float(ndtr(-distance / 2 - epsilon / distance)))


def _pure(
    mechanism: Additive, definition: Definition, world: World, worst: _Contrast, priors: tuple[Prior, ...] | None
) -> Verdict:
    """Far out, the odds of two different answers exceed every bound."""
    if priors is not None and not _runs_away(mechanism, world, worst.pair, priors):
        raise Refused(
            "both secrets allow the same extreme answers, so the odds are bounded but not by a number we can prove",
            fix="ask for (epsilon, delta), or use Laplace noise",
        )
    distance = math.sqrt(worst.squared)
    witness = _witness(mechanism, definition, world, worst, far=10.0 * max(1.0, distance))
    method = "far out, Gaussian odds exceed every bound"
    return Verdict(definition, math.inf, math.inf, True, False, witness, method, math.inf, math.inf, math.inf)


def _runs_away(mechanism: Additive, world: World, pair: Pair, priors: tuple[Prior, ...]) -> bool:
    """Whether the largest or smallest possible answer differs between the two secrets for some attacker."""
    for prior in priors:
        ends = []
        for secret in pair:
            answers = [mechanism.answers[world.index[d]] for d, _ in prior.weights if secret.holds(d)]
            ends.append([(min(column), max(column)) for column in zip(*answers, strict=True)])
        if ends[0] and ends[1] and ends[0] != ends[1]:
            return True
    return False


def _contrasts(
    mechanism: Additive,
    world: World,
    masks: Masks,
    groups: Sequence[frozenset[int] | None],
    priors: tuple[Prior, ...] | None,
) -> Iterator[_Contrast]:
    """The farthest two datasets of each pair: neighbours for sets of attackers, possible ones for priors."""
    answers = [mechanism.answers[mechanism.world.index[dataset]] for dataset in world.datasets]
    sigmas = [noise.sigma for noise in mechanism.noises if isinstance(noise, Gaussian)]
    possible = np.ones((1, world.size), np.bool_)
    if priors is not None:
        possible = np.array([[weight > 0 for weight in prior.on(world)] for prior in priors], np.bool_)
    for number, pair in enumerate(masks.pairs):
        labels = classes_of(world, groups[number])
        for alive in possible:
            one, other = (masks.masks[side[number]] & alive for side in (masks.first, masks.second))
            found = [
                (
                    sum(
                        (((a - b) / s) ** 2 for a, b, s in zip(answers[x], answers[y], sigmas, strict=True)),
                        Fraction(0),
                    ),
                    x,
                    y,
                )
                for x in np.flatnonzero(one).tolist()
                for y in np.flatnonzero(other & (labels == labels[x])).tolist()
            ]
            if found:
                squared, x, y = max(found)
                yield _Contrast(pair, x, y, squared)


def _squared(one: Sequence[Fraction], other: Sequence[Fraction], sigmas: Sequence[Fraction]) -> Fraction:
    return sum((((a - b) / sigma) ** 2 for a, b, sigma in zip(one, other, sigmas, strict=True)), Fraction(0))


def _witness(mechanism: Additive, definition: Definition, world: World, worst: _Contrast, far: float) -> Witness:
    """An output `far` standard deviations beyond the answer on x, away from y, and the odds there."""
    half = Fraction(1, 2)
    x, y = world.datasets[worst.x], world.datasets[worst.y]
    prior = Prior(((x, half), (y, half)), f"the attacker who knows it is {shown(x)} or {shown(y)}")
    a, b = (mechanism.answers[mechanism.world.index[dataset]] for dataset in (x, y))
    distance = math.sqrt(worst.squared)
    output = tuple(
        float(p) + far * float(p - q) / distance if distance else float(p) for p, q in zip(a, b, strict=True)
    )
    power = distance * far + worst.squared / 2
    after = math.inf if power > 700 else Fraction(math.exp(power))
    seen = output[0] if len(output) == 1 else output
    return Witness(worst.pair, prior, seen, Fraction(1), after, definition.scenarios.text)
