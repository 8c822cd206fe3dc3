"""Mechanisms whose noisy numbers all have one scale: how far a sum can be off follows from how many it adds up."""

# ruff: noqa: ARG002 - every mechanism is asked in the same way, whatever it needs to know

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tetraodon.arrays import Bools, Floats, Ints
from tetraodon.domain import Domain
from tetraodon.mechanism.strategy import Ends, Mechanism, Scaled, Strategy
from tetraodon.questions.query import Query, Reading


@dataclass(frozen=True)
class OneScale(Mechanism):
    """`v` is the variance of one noisy number; terms are noisy numbers that are added up, or subtracted."""

    @abstractmethod
    def variance_factor(self, query: Query, strategy: Strategy, domain: Domain) -> float:
        """Mean over the answers of their variance, in multiples of v."""

    @abstractmethod
    def most_terms(self, query: Query, at: Scaled) -> int:
        """The most terms that one answer adds up, for a bound that holds for each answer."""

    def terms(self, at: Scaled, mask: Bools) -> int:
        """The terms that the sum over a mask needs."""
        raise self.no_table()

    def box_terms(self, at: Scaled, low: Ends, high: Ends) -> Ints:
        """The terms that sums over boxes need: here one by one."""
        return self.over_boxes(at, low, high, lambda mask: self.terms(at, mask)).astype(np.int64)

    def expected_error(self, query: Query, at: Scaled) -> float:
        unit, factor = _unit(at), self.variance_factor(query, at.strategy, at.domain)
        return math.sqrt(at.strategy.noise.variance(at.scale) * factor) * unit

    def largest_error(self, query: Query, at: Scaled, confidence: Fraction) -> float:
        return at.strategy.noise.sum_quantile(at.scale, self.most_terms(query, at), confidence) * _unit(at)

    def reach(self, at: Scaled, mask: Bools, confidence: Fraction) -> float:
        return at.strategy.noise.sum_quantile(at.scale, self.terms(at, mask), confidence)

    def is_certain(self, at: Scaled, mask: Bools) -> bool:
        return self.terms(at, mask) == 0

    def box_reach(self, at: Scaled, low: Ends, high: Ends, confidence: Fraction) -> Floats:
        terms = self.box_terms(at, low, high)
        kinds, which = np.unique(terms, return_inverse=True)
        reaches = [at.strategy.noise.sum_quantile(at.scale, int(kind), confidence) for kind in kinds]
        return np.array(reaches, np.float64)[which].reshape(terms.shape)


def _unit(at: Scaled) -> float:
    return float(at.strategy.noisy[0].contribution.unit)


def lengths(low: Ends, high: Ends) -> list[Ints]:
    """How many cells boxes have along each axis."""
    return [b - a + 1 for a, b in zip(low, high, strict=True)]


def reading_of(query: Query, domain: Domain) -> Reading:
    """What is read off a table; a table is only measured for a question that says so."""
    reading = query.reading(domain)
    assert reading is not None
    return reading
