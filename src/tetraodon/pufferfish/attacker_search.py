"""Looking for the worst attacker of a set that no formula exhausts: what is found is real, what is missed is not.

The search runs in floats; the attacker it ends with is made exact and judged exactly.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import minimize

from tetraodon.exact.arrays import Bools, Floats, Ints
from tetraodon.pufferfish.largest_odds import Likelihoods
from tetraodon.pufferfish.pairs import Masks
from tetraodon.pufferfish.scenarios import Prior
from tetraodon.pufferfish.world import World

STEEP = 16.0
"""The search gives no record less than about e^-32 times the probability of another."""


@dataclass(frozen=True)
class Family:
    """Priors proportional to a product of one factor for each individual and record, `shared` individuals alike."""

    codes: Ints
    shared: tuple[int, ...]

    @property
    def columns(self) -> Ints:
        """For each dataset and individual, the number of the factor that applies."""
        columns = np.zeros_like(self.codes)
        start, common = 0, None
        for i in range(self.codes.shape[1]):
            if i in self.shared and common is not None:
                columns[:, i] = common + self.codes[:, i]
                continue
            if i in self.shared:
                common = start
            columns[:, i] = start + self.codes[:, i]
            start += int(self.codes[:, i].max()) + 1
        return columns


def search(
    table: Likelihoods, masks: Masks, spots: list[tuple[int, int]], shared: tuple[int, ...], seed: int = 0
) -> Iterator[Prior]:
    """Attackers with independent records (given the world) that make the odds of (pair, output) spots large."""
    columns = Family(_codes(table.world), shared).columns
    chance = random.Random(seed)
    for pair, output in spots:
        one, other = masks.masks[masks.first[pair]], masks.masks[masks.second[pair]]
        for turn in (1.0, -1.0):
            for start in _starts(table, one, other, output, columns, turn, chance):
                factors = _climb(table.floats[:, output], one, other, columns, start, turn)
                yield _exact(table, columns, factors)


def _codes(world: World) -> Ints:
    """For each dataset and individual, the place of the record among all records anybody can have."""
    everything = dict.fromkeys(value for options in world.options for value in options)
    place = {value: n for n, value in enumerate(everything)}
    translate = [np.array([place[value] for value in options], np.int64) for options in world.options]
    return np.stack([translate[i][world.codes[:, i]] for i in range(world.individuals)], axis=1)


def _starts(
    table: Likelihoods,
    one: Bools,
    other: Bools,
    output: int,
    columns: Ints,
    turn: float,
    chance: random.Random,
) -> Iterator[Floats]:
    """Level; steep towards the two datasets that differ most; and two at random."""
    size = int(columns.max()) + 1
    yield np.zeros(size)
    likely = table.floats[:, output] * turn
    x = int(np.argmax(np.where(one, likely, -np.inf)))
    y = int(np.argmin(np.where(other, likely, np.inf)))
    steep = np.full(size, -STEEP / 2)
    steep[columns[x]] = steep[columns[y]] = STEEP / 2
    yield steep
    for _ in range(2):
        yield np.array([chance.uniform(-STEEP / 2, STEEP / 2) for _ in range(size)])


def _climb(
    likely: Floats,
    one: Bools,
    other: Bools,
    columns: Ints,
    start: Floats,
    turn: float,
) -> Floats:
    """Factors, in logarithms, at which the log odds ratio is locally largest."""
    size, people, flat = len(start), columns.shape[1], columns.ravel()

    def loss(factors: Floats) -> tuple[float, Floats]:
        log_weights = factors[columns].sum(axis=1)
        weights = np.exp(log_weights - log_weights.max())
        value, slope = 0.0, np.zeros(len(weights))
        for mask, sign in ((one, turn), (other, -turn)):
            inside = np.where(mask, weights, 0.0)
            joint = inside * likely
            value += sign * (np.log(joint.sum() + 1e-300) - np.log(inside.sum() + 1e-300))
            slope += sign * (joint / (joint.sum() + 1e-300) - inside / (inside.sum() + 1e-300))
        spread = np.bincount(flat, weights=np.repeat(slope, people), minlength=size)
        gradient: Floats = spread.astype(np.float64)
        return -float(value), -gradient

    bounds = [(-STEEP, STEEP)] * size
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 60})
    best: Floats = found.x
    return best


def _exact(table: Likelihoods, columns: Ints, factors: Floats) -> Prior:
    """The exact prior with these factors, each rounded to a short fraction."""
    short: list[Fraction] = [Fraction(round(float(np.exp(factor)) * 2**32) or 1, 2**32) for factor in factors]
    weights: dict[Any, Fraction] = {}
    for dataset, row in zip(table.world.datasets, columns.tolist(), strict=True):
        weight = Fraction(1)
        for column in row:
            weight *= short[column]
        weights[dataset] = weight
    return Prior.proportional(weights, "an attacker found by search")
