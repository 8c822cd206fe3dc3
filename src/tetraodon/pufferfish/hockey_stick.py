"""(epsilon, delta): the probability that has to be forgiven for the odds to stay within e^epsilon ([MK15] Def. 3)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tetraodon.exponent import exp_above, exp_below
from tetraodon.pufferfish.definition import Definition, SpelledOut
from tetraodon.pufferfish.likelihood import SLACK, Likelihoods, SecretSums
from tetraodon.pufferfish.pair import Masks
from tetraodon.pufferfish.prior import Prior
from tetraodon.pufferfish.verdict import Verdict, Witness
from tetraodon.pufferfish.world import classes_of


@dataclass(frozen=True)
class _Worst:
    low: Fraction
    high: Fraction
    pair: int
    prior: Prior
    first: Sequence[Fraction]
    second: Sequence[Fraction]
    forward: bool


def excess(one: Sequence[Fraction], other: Sequence[Fraction], factor: Fraction) -> Fraction:
    """The sum of max(0, P - factor * Q): the largest P(B) - factor * Q(B) over all events B.

    >>> half = Fraction(1, 2)
    >>> excess([Fraction(1), Fraction(0)], [half, half], Fraction(1))
    Fraction(1, 2)
    """
    return sum((max(Fraction(0), a - factor * b) for a, b in zip(one, other, strict=True)), Fraction(0))


def judge_delta(table: Likelihoods, question: SpelledOut) -> Verdict:
    """The smallest delta at the definition's epsilon.

    Post  enclosed by the rationals next to e^epsilon, forty digits apart; exact at epsilon = 0.
    Why   the excess is jointly convex in (P, Q), so against a set of attackers it is largest at single datasets, as
          the odds are in `for_blocks`. Where the set allows less than the groups say, the number is an upper bound.
    """
    definition, masks, priors = question.definition, question.masks, question.priors
    epsilon = definition.epsilon or Fraction(0)
    low, high = exp_below(epsilon), exp_above(epsilon)
    worst: _Worst | None = None
    source = (
        _given_priors(table, masks, priors)
        if priors is not None
        else _given_datasets(table, masks, question.groups, high)
    )
    seen = set()
    for pair, prior, one, other in source:
        seen.add(pair)
        for forward, a, b in ((True, one, other), (False, other, one)):
            found = _Worst(excess(a, b, high), excess(a, b, low), pair, prior, a, b, forward)
            if worst is None or found.high > worst.high:
                worst = found
    skipped = tuple(pair for number, pair in enumerate(masks.pairs) if number not in seen)
    if worst is None:
        zero = Fraction(0)
        return Verdict(
            definition, zero, zero, True, True, None, "no pair is in doubt", skipped=skipped, delta=(zero, zero)
        )
    real = question.exact or priors is not None  # else the two datasets may be more than any of these attackers knows
    attained = worst.low if real else Fraction(0)
    holds = True if worst.high <= definition.delta else False if attained > definition.delta else None
    gains = [a - high * b for a, b in zip(worst.first, worst.second, strict=True)]
    output = max(range(len(gains)), key=gains.__getitem__)
    witness = _witness(table, masks, worst, output, definition) if real else None
    return Verdict(
        definition,
        epsilon,
        epsilon,
        real,
        holds,
        witness,
        "largest excess over all events",
        skipped=skipped,
        delta=(attained, worst.high),
    )


def _given_priors(
    table: Likelihoods, masks: Masks, priors: tuple[Prior, ...]
) -> Iterator[tuple[int, Prior, list[Fraction], list[Fraction]]]:
    for prior in priors:
        sums = SecretSums(table, masks.masks, prior.on(table.world))
        for pair, (a, b) in enumerate(zip(masks.first.tolist(), masks.second.tolist(), strict=True)):
            if sums.mass[a] and sums.mass[b]:
                outputs = range(len(table.outputs))
                one = [sums.exact(a, output) / sums.mass[a] for output in outputs]
                yield pair, prior, one, [sums.exact(b, output) / sums.mass[b] for output in outputs]


def _given_datasets(
    table: Likelihoods, masks: Masks, groups: Sequence[frozenset[int] | None], factor: Fraction
) -> Iterator[tuple[int, Prior, list[Fraction], list[Fraction]]]:
    """The worst neighbours of each pair, chosen by floats among ties that make no difference beyond them."""
    half, floats, bound = Fraction(1, 2), table.floats, float(factor)
    for pair, group in enumerate(groups):
        labels = classes_of(table.world, group)
        one, other = masks.masks[masks.first[pair]], masks.masks[masks.second[pair]]
        found: list[tuple[float, int, int]] = []
        for label in np.intersect1d(labels[one], labels[other]):
            for x in np.flatnonzero(one & (labels == label)).tolist():
                ys = np.flatnonzero(other & (labels == label))
                there = np.maximum(0, floats[x] - bound * floats[ys]).sum(axis=1)
                back = np.maximum(0, floats[ys] - bound * floats[x]).sum(axis=1)
                found += zip(np.maximum(there, back).tolist(), [x] * len(ys), ys.tolist(), strict=True)
        top = max((score for score, _, _ in found), default=-math.inf)
        ranks = table.distinct[1]
        near = {(ranks[x].tobytes(), ranks[y].tobytes()): (x, y) for score, x, y in found if score >= top - SLACK}
        for x, y in near.values():
            prior = Prior(((table.world.datasets[x], half), (table.world.datasets[y], half)), "an informed attacker")
            yield pair, prior, table.row(x), table.row(y)


def _witness(table: Likelihoods, masks: Masks, worst: _Worst, output: int, definition: Definition) -> Witness:
    pair = masks.pairs[worst.pair]
    before = worst.prior.probability(pair.first) / worst.prior.probability(pair.second)
    a, b = worst.first[output], worst.second[output]
    a, b = (a, b) if worst.forward else (b, a)
    after: Fraction | float = before * a / b if b else math.inf
    return Witness(pair, worst.prior, table.outputs[output], before, after, definition.scenarios.text)
