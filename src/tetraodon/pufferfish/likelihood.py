"""Exact likelihoods of outputs, dataset by dataset and secret by secret, fast where numbers are small.

Floats only choose what is looked at; whatever they cannot rule out is compared in whole numbers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Bools, Floats, Ints
from tetraodon.pufferfish.world import World

SMALL_BITS = 2048
SLACK = 1e-9
"""Far above the relative error of any float below, (n + 8) * 2**-52 for n datasets; a million of them at most."""
TINY = 1e-140
"""Products of two numbers above this are floats with all their digits."""


@dataclass(frozen=True)
class Likelihoods:
    """Likelihoods of some outputs on every dataset; columns need not sum to anything.

    `places` says which of the `values` each dataset and output has; added noise has few values on many datasets.
    `error` bounds the relative error of the values: 0 for a rational channel.
    """

    world: World
    outputs: tuple[Any, ...]
    values: Sequence[Fraction]
    places: Ints
    error: Fraction = Fraction(0)

    @classmethod
    def of(cls, world: World, outputs: tuple[Any, ...], rows: Sequence[Sequence[Fraction]]) -> Likelihoods:
        """A table written out, with a row for each dataset."""
        values = [number for row in rows for number in row]
        return cls(world, outputs, values, np.arange(len(values)).reshape(world.size, len(outputs)))

    def row(self, dataset: int) -> list[Fraction]:
        """The likelihoods of all outputs on one dataset."""
        return [self.values[place] for place in self.places[dataset].tolist()]

    def entry(self, dataset: int, output: int) -> Fraction:
        place: int = self.places[dataset, output]
        return self.values[place]

    @cached_property
    def distinct(self) -> tuple[list[Fraction], Ints]:
        """The different entries from smallest to largest, and the rank of each entry among them."""
        near = sorted(set(self.values), key=float)  # floats first: much faster
        found = [number for _, tied in itertools.groupby(near, key=float) for number in sorted(tied)]
        rank = {number: n for n, number in enumerate(found)}
        return found, np.array([rank[number] for number in self.values], np.int64)[self.places]

    @cached_property
    def has_tiny(self) -> bool:
        """Whether some entry is too small for floats to say anything about it."""
        return any(0 < number < TINY for number in self.distinct[0])

    @cached_property
    def distinct_floats(self) -> Floats:
        return np.array([float(number) for number in self.distinct[0]])

    @cached_property
    def floats(self) -> Floats:
        found: Floats = np.array([float(number) for number in self.values])[self.places]
        return found

    @cached_property
    def denominator(self) -> int:
        return math.lcm(*{number.denominator for number in self.values})

    @cached_property
    def numerators(self) -> NDArray[Any]:
        common = self.denominator
        whole: NDArray[Any] = np.array([n.numerator * (common // n.denominator) for n in self.values], dtype=object)
        return whole[self.places]

    def restricted(self, world: World) -> Likelihoods:
        """The same likelihoods on part of the world."""
        if world == self.world:
            return self
        keep = [self.world.index[dataset] for dataset in world.datasets]
        return replace(self, world=world, places=self.places[keep])


class SecretSums:
    """P(output and secret) for every secret and output under one prior: floats to look at, whole numbers to judge.

    Post  `exact(secret, output)` is the probability; `floats` is within SLACK / 4 of it, relatively.
    """

    def __init__(self, table: Likelihoods, masks: Bools, weights: Sequence[Fraction]) -> None:
        self._table, self._masks, self._weights = table, masks, weights
        self._known: dict[tuple[int, int], Fraction] = {}
        factors, common = whole_weights(weights)
        self._masses = whole_sums(masks, factors[:, None])[:, 0].tolist()
        self.mass = [Fraction(number, common) for number in self._masses]
        self._whole: NDArray[Any] | None = None
        if _small(table) and common.bit_length() <= SMALL_BITS:
            self._unit = common * table.denominator
            self._whole = whole_sums(masks, factors[:, None] * table.numerators)
            self.floats = (self._whole / self._unit).astype(np.float64)
        else:
            spread = np.array([float(weight) for weight in weights])
            self.floats = masks.astype(np.float64) @ (spread[:, None] * table.floats)

    @cached_property
    def trustworthy(self) -> bool:
        """Whether no float is so small that its relative error is lost."""
        if self._whole is not None:
            return not bool(((self._whole > 0) & (self.floats <= TINY)).any())
        if any(weight and float(weight) <= TINY for weight in self._weights):
            return False
        return not any(self._table.entry(n, w) for n, w in np.argwhere(self._table.floats <= TINY).tolist())

    def compared(self, one: int, other: int, output: int) -> tuple[Fraction | int, Fraction | int]:
        """Two numbers in the exact proportion of P(output | one) to P(output | other)."""
        if self._whole is not None:
            high, low = self._whole[one, output] * self._masses[other], self._whole[other, output] * self._masses[one]
            return high, low
        return self.exact(one, output) * self.mass[other], self.exact(other, output) * self.mass[one]

    def exact(self, secret: int, output: int) -> Fraction:
        if self._whole is not None:
            return Fraction(self._whole[secret, output], self._unit)
        key = (secret, output)
        if key not in self._known:
            datasets = np.flatnonzero(self._masks[secret]).tolist()
            self._known[key] = total([self._weights[n] * self._table.entry(n, output) for n in datasets])
        return self._known[key]


def _small(table: Likelihoods) -> bool:
    """Whether a common denominator of all entries stays handy."""
    common = 1
    for denominator in {number.denominator for number in table.values}:
        common = math.lcm(common, denominator)
        if common.bit_length() > SMALL_BITS:
            return False
    return True


def whole_weights(weights: Sequence[Fraction]) -> tuple[NDArray[Any], int]:
    """Fractions as whole numbers over a common denominator: they add up many times faster."""
    common = math.lcm(*{weight.denominator for weight in weights})
    return np.array([weight.numerator * (common // weight.denominator) for weight in weights], object), common


def whole_sums(masks: Bools, numbers: NDArray[Any]) -> NDArray[Any]:
    """masks @ numbers for whole numbers of any size, through exact float products of their limbs.

    Why   a sum of n limbs of 52 - log2(n) bits stays below 2**52, where floats count exactly.
    """
    datasets, outputs = numbers.shape
    result: NDArray[Any] = np.zeros((masks.shape[0], outputs), dtype=object)
    bits = max((int(number).bit_length() for number in numbers.ravel()), default=0)
    width = 52 - max(1, datasets.bit_length())
    chosen = masks.astype(np.float64)
    for shift in range(0, bits, width):
        limb = ((numbers >> shift) & ((1 << width) - 1)).astype(np.float64)
        result += (chosen @ limb).astype(np.int64).astype(object) << shift
    return result


def total(terms: Sequence[Fraction]) -> Fraction:
    """A sum of many fractions by halves, so that only the last steps are long."""
    if len(terms) <= 2:
        return sum(terms, Fraction(0))
    middle = len(terms) // 2
    return total(terms[:middle]) + total(terms[middle:])
