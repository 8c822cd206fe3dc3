"""Pufferfish the slow way: plain loops over pairs, outputs and datasets, sharing no code with the verifier."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

from tetraodon.pufferfish import Channel, World
from tetraodon.pufferfish.pairs import SecretPairs
from tetraodon.pufferfish.scenarios import Prior


def likelihood(channel: Channel, prior: Prior, secret, output) -> Fraction:
    """P(output | secret) under a prior, straight from the definition."""
    inside = [(d, p) for d, p in prior.weights if secret.holds(d)]
    mass = sum(p for _, p in inside)
    return sum((p * channel.probability(d, output) for d, p in inside), Fraction(0)) / mass


def worst_odds(channel: Channel, pairs: SecretPairs, priors) -> Fraction | float:
    """The largest odds ratio of [KM12] Def. 3.1 in either direction, over a finite list of priors."""
    worst: Fraction | float = Fraction(1)
    for prior, (one, other), output in itertools.product(priors, pairs.on(channel.world), channel.outputs):
        if not prior.probability(one) or not prior.probability(other):
            continue
        a, b = likelihood(channel, prior, one, output), likelihood(channel, prior, other, output)
        if a or b:
            worst = max(worst, a / b if b else math.inf, b / a if a else math.inf)
    return worst


def two_point_priors(world: World, *, apart: int | None = None):
    """Every prior that is half on one dataset and half on another, at most `apart` records away."""
    half = Fraction(1, 2)
    for x, y in itertools.combinations(world.datasets, 2):
        if apart is None or sum(a != b for a, b in zip(x, y, strict=True)) <= apart:
            yield Prior(((x, half), (y, half)))


def random_channel(world: World, outputs: int, chance: random.Random, grain: int = 6, zeros: bool = True) -> Channel:
    """Small random probabilities, now and then zero."""
    rows = []
    for _ in world.datasets:
        row = [chance.randrange(0 if zeros else 1, grain) for _ in range(outputs)]
        row[chance.randrange(outputs)] += 1
        rows.append([Fraction(number, sum(row)) for number in row])
    return Channel(rows, world.datasets, range(outputs), world.names)


def random_prior(world: World, chance: random.Random, grain: int = 5) -> Prior:
    weights = {dataset: chance.randrange(grain) for dataset in world.datasets}
    weights[chance.choice(world.datasets)] += 1
    return Prior.proportional(weights)
