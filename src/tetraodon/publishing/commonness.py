"""How common tuples are, learnt from a view: values one by one, then the tree of attributes that go together."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Floats, Ints
from tetraodon.domain import Domain
from tetraodon.publishing.channel import SourceChannel, ViewChannel
from tetraodon.publishing.columns import codes_of
from tetraodon.publishing.sampling import Cells

FINE, COARSE = 1 << 16, 512
"""Attributes of more values are looked at in so many equal parts: one by one, and in pairs."""
CLEAR = 3.0
"""An estimate stands out if it is so many standard deviations above zero."""
LEAST = 1e-3
"""The least share of the records that is left to values that do not stand out, or have no weight."""
SMOOTHING = 300.0
"""A pair of values starts from independence, with the weight of so many records in all."""


@dataclass(frozen=True)
class Parts:
    """In which equal part of its attribute each tuple lies."""

    place: NDArray[np.int32]
    size: int
    width: int

    @classmethod
    def of(cls, codes: NDArray[np.uint64], values: int, most: int) -> Parts:
        width = -(-values // most)
        return cls((codes // np.uint64(width)).astype(np.int32), -(-values // width), width)

    def weigh(self, weights: NDArray[Any]) -> Floats:
        """The weight of each part."""
        return np.bincount(self.place, weights=weights, minlength=self.size).astype(np.float64)

    def others(self, weights: Floats) -> Floats:
        """The share of all other tuples' weight that is in the same part; never none."""
        rest = np.maximum(self.weigh(weights)[self.place] - weights, 0.0)
        return np.asarray(
            (1 - LEAST) * rest / np.maximum(weights.sum() - weights, 1e-9) + LEAST / self.size, np.float64
        )


def _tuples(parts: Parts, place: int, channel: ViewChannel, size: int) -> Floats | float:
    """What the tuples in each part of an attribute count as where noise is expected for each."""
    if not isinstance(channel, SourceChannel):
        return size / parts.size
    weights = np.array(channel.weights[place], np.float64)
    own = np.add.reduceat(weights, np.arange(0, len(weights), parts.width))
    return np.asarray(own / weights.sum() * float(channel.over(size)))


class Learner:
    """The tuples of a view by their parts in each attribute, and what they teach."""

    def __init__(self, domain: Domain, cells: Cells) -> None:
        self.domain, self.cells = domain, cells
        codes = codes_of(domain, cells)
        self.fine = [Parts.of(own, size, FINE) for own, size in zip(codes, domain.shape, strict=True)]
        self.coarse = [
            parts if parts.size <= COARSE else Parts.of(own, size, COARSE)
            for parts, own, size in zip(self.fine, codes, domain.shape, strict=True)
        ]

    def from_margins(self, copies: Ints, channel: ViewChannel, total: float) -> Floats:
        """Records to be expected at each tuple if attributes were independent.

        Why  every share is estimated without bias, as any count. Values whose estimate does not stand out from its own
             error share what is left evenly, so that noise is not taken for people.
        """
        keep, added, variance = (
            float(number) for number in (channel.keep, channel.added_per_tuple, channel.variance_per_tuple)
        )
        shares = []
        for place, parts in enumerate(self.fine):
            tuples = _tuples(parts, place, channel, self.domain.size)
            found = (parts.weigh(copies) - tuples * added) / keep
            clear = found > CLEAR * np.sqrt(tuples * variance) / keep
            rest = max(total - float(found[clear].sum()), LEAST * total) / max(1, int((~clear).sum()))
            shares.append(_normal(np.where(clear, found, rest)))
        return self._independent(shares, total)

    def from_ties(self, weights: Floats, total: float) -> Floats:
        """Records to be expected at each tuple, by all *other* tuples, which are records with these weights.

        Why  the tree of the strongest ties between attributes ([CL68]) is the likeliest model of its kind, and needs
             pairs only. A tuple is no evidence for itself: if it were, any rare value would confirm its only tuple.
        """
        expected = np.full(len(self.cells), total)
        for parts in self.fine:
            expected *= parts.others(weights) / parts.width
        ties = {
            pair: _strength(weights, *(self.coarse[place] for place in pair))
            for pair in itertools.combinations(range(len(self.coarse)), 2)
        }
        for one, other in _tree(len(self.coarse), ties):
            expected *= _factor(weights, self.coarse[one], self.coarse[other])
        return expected

    def _independent(self, shares: list[Floats], total: float) -> Floats:
        """The total times the share of each tuple's parts, spread evenly within them."""
        expected = np.full(len(self.cells), total)
        for parts, share in zip(self.fine, shares, strict=True):
            expected *= share[parts.place] / parts.width
        return expected


def _pairs(weights: Floats, one: Parts, other: Parts) -> tuple[Ints, Floats]:
    """The pair of parts of each tuple, and the weight of each pair."""
    place = one.place.astype(np.int64) * other.size + other.place
    return place, np.bincount(place, weights=weights, minlength=one.size * other.size).astype(np.float64)


def _strength(weights: Floats, one: Parts, other: Parts) -> float:
    """How much two attributes tell of each other."""
    counted = _pairs(weights, one, other)[1].reshape(one.size, other.size) + 1e-9
    joint = _normal(counted + SMOOTHING * np.outer(_normal(counted.sum(axis=1)), _normal(counted.sum(axis=0))))
    return float(np.sum(joint * np.log(joint / np.outer(joint.sum(axis=1), joint.sum(axis=0)))))


def _factor(weights: Floats, one: Parts, other: Parts) -> Floats:
    """By what factor each tuple's pair of values is commoner than chance, by all other tuples."""
    place, counted = _pairs(weights, one, other)
    left, right, all_ = one.others(weights), other.others(weights), weights.sum() - weights + SMOOTHING
    both = np.maximum(counted[place] - weights, 0.0) + SMOOTHING * left * right
    rows = np.maximum(one.weigh(weights)[one.place] - weights, 0.0) + SMOOTHING * left
    columns = np.maximum(other.weigh(weights)[other.place] - weights, 0.0) + SMOOTHING * right
    return np.asarray(both * all_ / (rows * columns), np.float64)


def _normal(numbers: NDArray[np.floating[Any]]) -> Floats:
    return np.asarray(numbers / numbers.sum(), np.float64)


def _tree(size: int, strength: dict[tuple[int, int], float]) -> list[tuple[int, int]]:
    """The pairs of the strongest tree.

    >>> _tree(3, {(0, 1): 0.1, (0, 2): 0.3, (1, 2): 0.2})
    [(0, 2), (1, 2)]
    """
    group, chosen = list(range(size)), []
    for one, other in sorted(strength, key=lambda pair: -strength[pair]):
        if group[one] != group[other]:
            chosen.append((one, other))
            old = group[other]
            group = [group[one] if found == old else found for found in group]
    return chosen
