"""Verification of any Python function by running it: a statistical lower bound on the odds, never an upper one.

Events that may tell two samples apart are thresholds on numbers drawn from the outputs, and exact values.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import beta

from tetraodon.errors import PolicyError
from tetraodon.exact.rational import rational
from tetraodon.pufferfish.definition import Definition, SpelledOut, Verdict, Witness, no_loss
from tetraodon.pufferfish.pairs import Pair
from tetraodon.pufferfish.scenarios import Prior

DIGITS = 9
CUTS = 40


@dataclass(frozen=True)
class Event:
    """Something that can be seen of an output; `forward` when it speaks for the first secret."""

    feature: str
    kind: str
    bound: Any
    forward: bool

    def happens(self, output: Any) -> bool:
        value = features(output).get(self.feature)
        if value is None:
            return False
        if self.kind == "is":
            return bool(_rounded(value) == self.bound)
        return bool(value <= self.bound if self.kind == "at most" else value > self.bound)

    def __repr__(self) -> str:
        return f"{self.feature} {self.kind} {self.bound}"


def features(output: Any) -> dict[str, Any]:
    """Numbers and values that can be seen of an output: its parts, their total and their differences.

    >>> features((3, 5))
    {'part 0': 3, 'part 1': 5, 'the total': 8, 'part 0 less part 1': -2}
    """
    if isinstance(output, np.ndarray):
        output = tuple(output.tolist())
    if not isinstance(output, tuple | list):
        return {"the output": output}
    found = {f"part {n}": part for n, part in enumerate(output)}
    numbers = [(n, part) for n, part in enumerate(output) if _is_number(part)]
    if numbers and len(numbers) == len(output):
        found["the total"] = sum(part for _, part in numbers)
        for (n, a), (m, b) in itertools.islice(itertools.combinations(numbers, 2), 50):
            found[f"part {n} less part {m}"] = a - b
    return found


def best_event(one: Sequence[Any], other: Sequence[Any]) -> list[tuple[float, Event]]:
    """The most telling event in either direction, scored by a cautious odds ratio."""
    seen = [[features(output) for output in side] for side in (one, other)]
    best: dict[bool, tuple[float, Event]] = {}

    def offer(name: str, kind: str, bound: Any, hits: tuple[int, int]) -> None:
        for forward in (True, False):
            likely, rare = hits if forward else (hits[1], hits[0])
            # a cautious ratio: two standard errors against the event, and never nought below
            low = likely - 2 * math.sqrt(likely)
            score = low / (rare + 2 * math.sqrt(rare) + 3)
            if forward not in best or score > best[forward][0]:
                best[forward] = (score, Event(name, kind, bound, forward))

    for name in seen[0][0]:
        columns = [[row[name] for row in side if name in row] for side in seen]
        if all(_is_number(value) for column in columns for value in column):
            numbers = [np.sort(np.array(column, dtype=float)) for column in columns]
            pooled = np.unique(np.concatenate(numbers))
            for cut in pooled[np.unique(np.linspace(0, len(pooled) - 1, CUTS).astype(int))].tolist():
                under = [int(np.searchsorted(column, cut, side="right")) for column in numbers]
                offer(name, "at most", cut, (under[0], under[1]))
                offer(name, "more than", cut, (len(numbers[0]) - under[0], len(numbers[1]) - under[1]))
        counts = [Counter(_rounded(value) for value in column) for column in columns]
        for value, _ in (counts[0] + counts[1]).most_common(5):
            offer(name, "is", value, (counts[0][value], counts[1][value]))
    return list(best.values())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and math.isfinite(value)


def _rounded(value: Any) -> Any:
    return round(float(value), DIGITS) if _is_number(value) else value


FINALISTS = 4
CONTRASTS = 40
TRIALS = 600


@dataclass(frozen=True)
class Contrast:
    """Two priors to tell apart, on the two sides of a pair: single datasets, or a prior given each secret."""

    pair: Pair
    first: Prior
    second: Prior
    prior: Prior


@dataclass(frozen=True)
class _Found:
    odds: float
    contrast: Contrast
    event: Event


def judge_samples(mechanism: Callable[[Any], Any], question: SpelledOut, samples: int, alarm: Any) -> Verdict:
    """Whether samples refute a definition, at a false-alarm rate of at most `alarm`.

    Pre   without priors, the attackers include those who know which of two datasets it is that agree outside a
          pair's group.

    Post  with probability at least 1 - alarm over the mechanism's coins, `lower` is not above the true epsilon.
    Why   the first runs choose a few contrasts and for each an event; fresh runs then count how often the event
          happens on either side, and the bounds of Clopper and Pearson at level alarm / (2 * tests) hold together by
          the union bound. What was chosen does not depend on what is counted.
    """
    definition = question.definition
    rate = rational(alarm, name="the false-alarm rate")
    if not 0 < rate < 1 or samples < 1:
        raise PolicyError(
            "there is no such false-alarm rate or number of samples", fix="write 0 < alarm < 1, samples >= 1"
        )
    chance = random.Random(0)  # chooses which datasets to try; the mechanism has coins of its own
    contrasts = list(_contrasts(question, chance))
    method = f"{samples:,} runs on either side"
    if not contrasts:
        return no_loss(definition, method, ())
    trials = []
    for contrast in contrasts:
        one = [mechanism(contrast.first.sample(chance)) for _ in range(TRIALS)]
        other = [mechanism(contrast.second.sample(chance)) for _ in range(TRIALS)]
        trials += [_Found(score, contrast, event) for score, event in best_event(one, other)]
    finalists = sorted(trials, key=lambda found: -found.odds)[:FINALISTS]
    level = float(rate) / (2 * len(finalists))
    forgiven = float(definition.delta)
    results = [_count(mechanism, found, samples, level, forgiven, chance) for found in finalists]
    return _verdict(definition, results, method, 1 - rate)


def _count(
    mechanism: Callable[[Any], Any],
    found: _Found,
    samples: int,
    level: float,
    forgiven: float,
    chance: random.Random,
) -> _Found:
    """A lower confidence bound on the odds ratio of an event, from fresh runs; with delta, on (P - delta) / Q."""
    sides = (found.contrast.first, found.contrast.second)
    hits = [sum(found.event.happens(mechanism(side.sample(chance))) for _ in range(samples)) for side in sides]
    likely, rare = (hits[0], hits[1]) if found.event.forward else (hits[1], hits[0])
    low = float(beta.ppf(level, likely, samples - likely + 1)) if likely else 0.0
    high = float(beta.ppf(1 - level, rare + 1, samples - rare)) if rare < samples else 1.0
    return _Found(max(0.0, low - forgiven) / high, found.contrast, found.event)


def _verdict(definition: Definition, results: list[_Found], method: str, confidence: Fraction) -> Verdict:
    best = max(results, key=lambda found: found.odds)
    forward = max((found.odds for found in results if found.event.forward), default=0.0)
    backward = max((found.odds for found in results if not found.event.forward), default=0.0)
    refuted = forward > float(definition.high) or backward * float(definition.low) > 1
    low = Fraction(max(0.0, math.log(best.odds)) if best.odds > 0 else 0.0)
    pair, prior = best.contrast.pair, best.contrast.prior
    before = prior.probability(pair.first) / prior.probability(pair.second)
    after = before * Fraction(best.odds) if best.event.forward else before / Fraction(max(best.odds, 1e-300))
    witness = Witness(pair, prior, best.event, before, after, definition.scenarios.text) if best.odds > 1 else None
    holds = False if refuted else None
    return Verdict(definition, low, math.inf, False, holds, witness, method, confidence=confidence)


def _contrasts(question: SpelledOut, chance: random.Random) -> Iterator[Contrast]:
    """Neighbouring datasets, or each listed attacker's view given either secret; a random choice among many."""
    listed: list[tuple[int, Any, Any]] = []
    for number, pair in enumerate(question.masks.pairs):
        if question.priors is None:
            listed += [(number, x, y) for x, y in question.neighbours(number)]
            continue
        listed += [
            (number, prior, None)
            for prior in question.priors
            if prior.probability(pair.first) and prior.probability(pair.second)
        ]
    for number, x, y in listed if len(listed) <= CONTRASTS else chance.sample(listed, CONTRASTS):
        pair = question.masks.pairs[number]
        if isinstance(x, Prior):
            yield Contrast(pair, x.given(pair.first), x.given(pair.second), x)
        else:
            one_, other_ = question.world.datasets[x], question.world.datasets[y]
            first, second = (Prior(((dataset, Fraction(1)),)) for dataset in (one_, other_))
            yield Contrast(pair, first, second, Prior.either(one_, other_))
