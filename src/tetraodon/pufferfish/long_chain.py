"""Sums over a Markov chain of any length: what a record moves nearby is summed, what it moves beyond a quilt bounds.

Take the records w before and w after record i, the *quilt*. Given the quilt, what lies beyond is independent of
record i, and what lies inside has a law that is summed exactly. So the odds of two states x and y of record i move by

    the largest, over the quilt's states q, of  P(q | x) / P(q | y)  times the odds that the noisy sum inside moves,

given q. The Markov quilt mechanism ([SWC17] Thm 4.3) pays the number of records inside for the second factor; the sum
inside is a mixture under x and another under y, and these differ by less.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tetraodon.arrays import Floats
from tetraodon.certificate.answer_laws import ROUNDING, AnswerLaw, LawPair
from tetraodon.errors import PolicyError, Refused
from tetraodon.policy.attackers import stationary
from tetraodon.pufferfish.least_noise import LeastNoise, least_noise_on
from tetraodon.rational import Number, probabilities, rational

WIDTHS = (1, 2, 4, 8, 16, 32, 64)
"""How many records to either side a quilt may be away."""


@dataclass(frozen=True)
class _Paths:
    """Weights of all paths of t steps from state u to x, by what the states after u add: `sums[t - 1][u, x]`."""

    sums: tuple[Floats, ...]
    start: Floats
    adds: tuple[int, ...]

    @property
    def states(self) -> int:
        return len(self.adds)

    def chance(self, steps: int) -> Floats:
        """P^t."""
        found: Floats = self.sums[steps - 1].sum(axis=2)
        return found

    def between(self, steps: int, one: int, other: int) -> Floats:
        """From `one` to `other`, without what the last state adds."""
        whole: Floats = self.sums[steps - 1][one, other]
        last = self.adds[other]
        return whole[last : len(whole) - (max(self.adds) - last) or None]


def long_chain(
    transition: Sequence[Sequence[Number]], *, length: int, epsilon: Number, adds: Sequence[int] | None = None
) -> LeastNoise:
    """The sum over a stationary chain, with the least noise that hides every record's state within epsilon.

    Post  the least over all widths of a quilt; the certificate is a bound, for any chain at least as long.
    Why   every width gives a bound on the loss of every record: those near an end have a quilt on one side alone, and
          everything up to that end inside.
    """
    budget = rational(epsilon, name="epsilon")
    matrix = tuple(probabilities(row, name="a transition") for row in transition)
    told = tuple(range(len(matrix))) if adds is None else tuple(adds)
    if len(told) != len(matrix) or min(told) < 0:
        raise PolicyError("a chain adds one whole number of at least 0 for each state", fix="list them in order")
    widths = [width for width in WIDTHS if 2 * width < length]
    if not widths:
        raise Refused("the chain is too short for a quilt", fix="use `tree_laws(chain_model(...))`, which is exact")
    start = np.array([float(p) for p in stationary(matrix)])
    paths = _paths(np.array([[float(p) for p in row] for row in matrix]), start, told, widths[-1])
    found: LeastNoise | None = None
    promise = f"nobody's state in a chain of {length:,} records, against attackers who know how it moves"
    for width in widths:
        pairs = tuple(_pairs(paths, width))
        if any(math.isinf(pair.apart) for pair in pairs) or max(pair.apart for pair in pairs) >= budget:
            continue
        made = least_noise_on(
            pairs, epsilon=budget, promise=promise, answer=sum, most=found.scale if found is not None else None
        )
        if found is None or made.scale < found.scale:
            found = made
    if found is None:
        raise Refused(
            "the chain forgets its states too slowly for this budget: no quilt is wide enough",
            fix="use a larger epsilon, coarser states, or a chain with longer steps",
        )
    return found


def _paths(matrix: Floats, start: Floats, adds: tuple[int, ...], steps: int) -> _Paths:
    states, most = len(adds), max(adds)
    sums = []
    here = np.zeros((states, states, 1))
    here[np.arange(states), np.arange(states), 0] = 1
    for _ in range(steps):
        moved = np.einsum("uys,yx->uxs", here, matrix)
        grown = np.zeros((states, states, moved.shape[2] + most))
        for state, added in enumerate(adds):
            grown[:, state, added : added + moved.shape[2]] = moved[:, state]
        here = grown
        sums.append(here)
    return _Paths(tuple(sums), start, adds)


def _pairs(paths: _Paths, width: int) -> Iterator[LawPair]:
    """Every two states of a record in the middle, and of each record nearer to an end than the quilt."""
    states, error = range(paths.states), 2 * (width + 2) * (paths.states + 2 * width * max(paths.adds) + 8) * ROUNDING
    chance = paths.chance(width)
    for x, y in itertools.combinations(states, 2):
        turn = math.log(paths.start[y]) - math.log(paths.start[x])
        for u in states:
            left = _log_ratio(chance[u, x], chance[u, y])
            before = None if left is None else left + turn
            sides = [paths.sums[width - 1][u, state] for state in (x, y)]
            for v in states:
                after = _log_ratio(chance[x, v], chance[y, v])
                if before is not None and after is not None:
                    ends = [paths.between(width, state, v) for state in (x, y)]
                    yield _pair(sides, ends, before + after, error, f"state {x} or {y}, in the middle")
            if before is not None:
                for place in range(width):
                    ends = [_onwards(paths, place, state) for state in (x, y)]
                    yield _pair(sides, ends, before, error, f"state {x} or {y}, {place} before the end")
        for v in states:
            after = _log_ratio(chance[x, v], chance[y, v])
            if after is None:
                continue
            ends = [paths.between(width, state, v) for state in (x, y)]
            for place in range(width):
                sides = [_from_start(paths, place, state) for state in (x, y)]
                yield _pair(sides, ends, after, error, f"state {x} or {y}, {place} after the start")


def _pair(sides: list[Floats], ends: list[Floats], influence: float, error: float, words: str) -> LawPair:
    if math.isinf(influence):
        point = AnswerLaw(0, np.ones(1))
        return LawPair(point, point, words, math.inf)
    one, other = (AnswerLaw(0, np.convolve(side, end), error) for side, end in zip(sides, ends, strict=True))
    return LawPair(one, other, words, abs(influence) + 2 * error + 1e-12)


def _log_ratio(one: float, other: float) -> float | None:
    """The logarithm of a ratio of chances; infinite where one of them is 0, None where both are."""
    if one == 0 and other == 0:
        return None
    return math.inf if one == 0 or other == 0 else math.log(one) - math.log(other)


def _from_start(paths: _Paths, place: int, state: int) -> Floats:
    """What the first records add, up to the one at `place` in a state; in the stationary law, up to a factor."""
    if place == 0:
        return _alone(paths.adds, state)
    found = np.zeros(paths.sums[place - 1].shape[2] + max(paths.adds))
    for first, chance in enumerate(paths.start):
        sums = paths.sums[place - 1][first, state] * chance
        found[paths.adds[first] : paths.adds[first] + len(sums)] += sums
    return found


def _onwards(paths: _Paths, place: int, state: int) -> Floats:
    """What the records after one in a state add, `place` of them up to the end."""
    if place == 0:
        return np.ones(1)
    found: Floats = paths.sums[place - 1][state].sum(axis=0)
    return found


def _alone(adds: tuple[int, ...], state: int) -> Floats:
    found = np.zeros(max(adds) + 1)
    found[adds[state]] = 1
    return found
