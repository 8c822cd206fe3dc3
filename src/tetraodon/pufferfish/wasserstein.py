"""The Wasserstein mechanism: noise for how far a secret moves the law of an answer ([SWC17] section 3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Ints
from tetraodon.errors import Refused
from tetraodon.pufferfish.calibrated import AnswerGrid, Calibrated
from tetraodon.pufferfish.definition import Definition
from tetraodon.pufferfish.pair import Pair, masks_of
from tetraodon.pufferfish.world import World
from tetraodon.rational import rational


@dataclass(frozen=True)
class Moved:
    """The farthest that a pair of secrets moves the law of an answer, and for whom. `skipped` pairs are impossible."""

    distance: Fraction
    pair: Pair | None
    attacker: str
    skipped: tuple[Pair, ...]


def wasserstein(query: Callable[[Any], Any], definition: Definition, world: World) -> tuple[Calibrated, Moved]:
    """Laplace noise of scale W / epsilon, W the largest infinity-Wasserstein distance between the laws of the answer
    given the two secrets of a pair, over pairs and attackers ([SWC17] Thm 3.2).

    Pre   finitely many attackers; the answer is one number.
    Why   the laws can be coupled so that the two answers are never more than W apart, and for each coupled pair the
          likelihoods differ by e^epsilon at most; so do their mixtures.
    """
    if definition.epsilon is None or definition.delta:
        raise Refused("this mechanism is for an epsilon alone", fix="write the definition with epsilon=...")
    priors = definition.scenarios.priors(world)
    if priors is None:
        raise Refused(
            "there are infinitely many attackers, so the laws of the answer cannot be listed",
            fix="list the attackers: scenarios.explicit, chain, network, or groups with a joint distribution",
        )
    told = [rational(query(dataset), name="the answer") for dataset in world.datasets]
    answers = sorted(set(told))
    place = {answer: number for number, answer in enumerate(answers)}
    at = np.array([place[answer] for answer in told], np.int64)
    masks = masks_of(definition.pairs.on(world), world)
    far = Moved(Fraction(0), None, "", ())
    possible: set[int] = set()
    for prior in priors:
        weights = _whole(prior.on(world))
        laws = [_law(answers, at[mask], weights[mask]) for mask in masks.masks]
        for number, (one, other) in enumerate(zip(masks.first.tolist(), masks.second.tolist(), strict=True)):
            if laws[one] and laws[other]:
                possible.add(number)
                distance = infinity_distance(laws[one], laws[other])
                if distance > far.distance:
                    far = Moved(distance, masks.pairs[number], prior.name, ())
    skipped = tuple(pair for number, pair in enumerate(masks.pairs) if number not in possible)
    unit = Fraction(1, math.lcm(*(answer.denominator for answer in answers)))
    made = Calibrated(
        "answer",
        definition.text,
        definition.epsilon,
        int(far.distance / unit),
        AnswerGrid(unit, exact=True),
        _Units(query, unit),
        definition.scenarios.composability(definition.pairs, world),
        "infinity-Wasserstein distance ([SWC17] Thm 3.2)",
        False,
    )
    return made, Moved(far.distance, far.pair, far.attacker, skipped)


def _whole(weights: Sequence[Fraction]) -> NDArray[np.object_]:
    """Whole numbers of any size in the same proportions: they add up many times faster than fractions."""
    unit = math.lcm(*{weight.denominator for weight in weights})
    return np.array([weight.numerator * (unit // weight.denominator) for weight in weights], np.object_)


def _law(answers: Sequence[Fraction], at: Ints, weights: NDArray[np.object_]) -> dict[Fraction, Fraction]:
    """How likely each answer is, up to a factor; answers that are impossible are left out."""
    sums = np.zeros(len(answers), np.object_)
    np.add.at(sums, at, weights)
    return {answer: Fraction(weight) for answer, weight in zip(answers, sums, strict=True) if weight}


@dataclass(frozen=True, slots=True)
class _Units:
    query: Callable[[Any], Any]
    unit: Fraction

    def __call__(self, dataset: Any) -> int:
        return int(rational(self.query(dataset), name="the answer") / self.unit)


def infinity_distance(one: Mapping[Fraction, Fraction], other: Mapping[Fraction, Fraction]) -> Fraction:
    """The largest distance that mass must travel from one law on the line to another, both up to a factor.

    Why   on the line the coupling that keeps the order is best: the distance is that of the farthest quantiles.

    >>> infinity_distance({Fraction(0): Fraction(1), Fraction(1): Fraction(1)}, {Fraction(1): Fraction(1)})
    Fraction(1, 1)
    """
    totals = sum(one.values(), Fraction(0)), sum(other.values(), Fraction(0))
    left = [(x, mass / totals[0]) for x, mass in sorted(one.items())]
    right = [(x, mass / totals[1]) for x, mass in sorted(other.items())]
    farthest = Fraction(0)
    while left and right:
        (x, here), (y, there) = left[0], right[0]
        farthest = max(farthest, abs(x - y))
        moved = min(here, there)
        left[:1] = [(x, here - moved)] if here > moved else []
        right[:1] = [(y, there - moved)] if there > moved else []
    return farthest
