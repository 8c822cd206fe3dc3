"""The Wasserstein mechanism: noise for how far a secret moves the law of an answer ([SWC17] section 3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tetraodon.errors import Refused
from tetraodon.exact.arrays import Ints
from tetraodon.exact.rational import rational
from tetraodon.pufferfish.calibrated import AnswerGrid, Calibrated
from tetraodon.pufferfish.definition import Definition
from tetraodon.pufferfish.largest_odds import whole_weights
from tetraodon.pufferfish.pairs import Pair, masks_of
from tetraodon.pufferfish.world import World


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
    laws = coupled_laws(query, definition, world)
    far = Moved(Fraction(0), None, "", ())
    for one in laws.found:
        if one.farthest > far.distance:
            far = Moved(one.farthest, laws.pairs[one.pair], one.attacker, ())
    possible = {one.pair for one in laws.found}
    skipped = tuple(pair for number, pair in enumerate(laws.pairs) if number not in possible)
    unit = Fraction(1, math.lcm(*(answer.denominator for answer in laws.answers)))
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


@dataclass(frozen=True, slots=True)
class Coupled:
    """How far mass travels from one law on the line to another: the mass of each distance.

    The laws are those of an answer under the two secrets of the pair of that number, for an attacker.
    """

    distances: tuple[tuple[Fraction, Fraction], ...]
    pair: int = 0
    attacker: str = ""

    @property
    def farthest(self) -> Fraction:
        """The infinity-Wasserstein distance."""
        return max(distance for distance, _ in self.distances)

    def log_average(self, times: float) -> float:
        """The logarithm of the average of e^(times distance^2)."""
        far = float(self.farthest) ** 2
        rest = sum(float(mass) * math.exp(times * (float(one) ** 2 - far)) for one, mass in self.distances)
        return times * far + math.log(rest)


@dataclass(frozen=True, slots=True)
class CoupledLaws:
    """The laws of an answer under the secrets of possible pairs, coupled; with all answers and pairs there are."""

    answers: tuple[Fraction, ...]
    pairs: tuple[Pair, ...]
    found: tuple[Coupled, ...]


def coupled_laws(query: Callable[[Any], Any], definition: Definition, world: World) -> CoupledLaws:
    """The laws of the answer given the two secrets of each possible pair, coupled, for every attacker.

    Pre   finitely many attackers; the answer is one number.
    """
    priors = definition.scenarios.priors(world)
    if priors is None:
        raise Refused(
            "there are infinitely many attackers, so the laws of the answer cannot be listed",
            fix="list the attackers: scenarios.explicit, chain, network, or groups with a joint distribution",
        )
    each = [rational(query(dataset), name="the answer") for dataset in world.datasets]
    answers = sorted(set(each))
    place = {answer: number for number, answer in enumerate(answers)}
    at = np.array([place[answer] for answer in each], np.int64)
    masks = masks_of(definition.pairs.on(world), world)
    found = []
    for prior in priors:
        weights, _ = whole_weights(prior.on(world))
        laws = [_law(answers, at[mask], weights[mask]) for mask in masks.masks]
        for number, (one, other) in enumerate(zip(masks.first.tolist(), masks.second.tolist(), strict=True)):
            if laws[one] and laws[other]:
                found.append(Coupled(coupled(laws[one], laws[other]).distances, number, prior.name))
    return CoupledLaws(tuple(answers), tuple(masks.pairs), tuple(found))


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


def coupled(one: Mapping[Fraction, Fraction], other: Mapping[Fraction, Fraction]) -> Coupled:
    """The coupling of two laws on the line that keeps the order; both are given up to a factor.

    Why   for any cost that is convex in the distance it is the best, and for the farthest that mass must travel too.

    >>> coupled({Fraction(0): Fraction(1), Fraction(1): Fraction(1)}, {Fraction(1): Fraction(1)}).farthest
    Fraction(1, 1)
    """
    totals = sum(one.values(), Fraction(0)), sum(other.values(), Fraction(0))
    left = [(x, mass / totals[0]) for x, mass in sorted(one.items())]
    right = [(x, mass / totals[1]) for x, mass in sorted(other.items())]
    found: dict[Fraction, Fraction] = {}
    while left and right:
        (x, here), (y, there) = left[0], right[0]
        moved = min(here, there)
        found[abs(x - y)] = found.get(abs(x - y), Fraction(0)) + moved
        left[:1] = [(x, here - moved)] if here > moved else []
        right[:1] = [(y, there - moved)] if there > moved else []
    return Coupled(tuple(found.items()))
