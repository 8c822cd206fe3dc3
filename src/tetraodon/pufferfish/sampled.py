"""Verification of any Python function by running it: a statistical lower bound on the odds, never an upper one."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import beta

from tetraodon.errors import PolicyError
from tetraodon.pufferfish.blocks import classes_of
from tetraodon.pufferfish.definition import Definition
from tetraodon.pufferfish.features import Event, best_event
from tetraodon.pufferfish.pair import Masks, Pair
from tetraodon.pufferfish.prior import Prior
from tetraodon.pufferfish.statement import shown
from tetraodon.pufferfish.verdict import Verdict, Witness, no_loss
from tetraodon.pufferfish.world import World
from tetraodon.rational import rational

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


def judge_samples(
    mechanism: Callable[[Any], Any],
    definition: Definition,
    world: World,
    masks: Masks,
    groups: Sequence[frozenset[int] | None],
    priors: tuple[Prior, ...] | None,
    samples: int,
    alarm: Any,
) -> Verdict:
    """Whether samples refute a definition, at a false-alarm rate of at most `alarm`.

    Pre   without `priors`, the attackers include those who know which of two datasets it is that agree outside a
          pair's group.

    Post  with probability at least 1 - alarm over the mechanism's coins, `lower` is not above the true epsilon.
    Why   the first runs choose a few contrasts and for each an event; fresh runs then count how often the event
          happens on either side, and the bounds of Clopper and Pearson at level alarm / (2 * tests) hold together by
          the union bound. What was chosen does not depend on what is counted.
    """
    rate = rational(alarm, name="the false-alarm rate")
    if not 0 < rate < 1 or samples < 1:
        raise PolicyError(
            "there is no such false-alarm rate or number of samples", fix="write 0 < alarm < 1, samples >= 1"
        )
    chance = random.Random(0)  # chooses which datasets to try; the mechanism has coins of its own
    contrasts = list(_contrasts(world, masks, groups, priors, chance))
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


def _contrasts(
    world: World,
    masks: Masks,
    groups: Sequence[frozenset[int] | None],
    priors: tuple[Prior, ...] | None,
    chance: random.Random,
) -> Iterator[Contrast]:
    """Neighbouring datasets, or each listed attacker's view given either secret; a random choice among many."""
    half = Fraction(1, 2)
    listed: list[tuple[int, Any, Any]] = []
    for number, pair in enumerate(masks.pairs):
        one, other = masks.masks[masks.first[number]], masks.masks[masks.second[number]]
        if priors is not None:
            listed += [
                (number, prior, None)
                for prior in priors
                if prior.probability(pair.first) and prior.probability(pair.second)
            ]
            continue
        labels = classes_of(world, groups[number])
        for x in np.flatnonzero(one).tolist():
            listed += [(number, x, y) for y in np.flatnonzero(other & (labels == labels[x])).tolist()]
    for number, x, y in listed if len(listed) <= CONTRASTS else chance.sample(listed, CONTRASTS):
        pair = masks.pairs[number]
        if isinstance(x, Prior):
            yield Contrast(pair, x.given(pair.first), x.given(pair.second), x)
        else:
            one_, other_ = world.datasets[x], world.datasets[y]
            name = f"the attacker who knows it is {shown(one_)} or {shown(other_)}"
            prior = Prior(((one_, half), (other_, half)), name)
            yield Contrast(pair, Prior(((one_, half * 2),)), Prior(((other_, half * 2),)), prior)
