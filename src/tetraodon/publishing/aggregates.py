"""Counts, sums, averages and numbers of values of some records, from what the parts of a view show of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Floats
from tetraodon.inference.estimate import Estimate
from tetraodon.publishing.channel import ViewChannel
from tetraodon.publishing.interval import count_interval, sum_interval

Counts: TypeAlias = NDArray[Any]
"""Exact whole numbers, in an array of objects."""


@dataclass(frozen=True)
class ShownPart:
    """A part of a view over some cells: its channel, what it shows at each cell, and how many tuples the domain has."""

    channel: ViewChannel
    in_view: Counts
    in_domain: Counts

    def at(self, cells: Any) -> ShownPart:
        """The same over some of the cells."""
        return ShownPart(
            self.channel, np.asarray(self.in_view[cells], object), np.asarray(self.in_domain[cells], object)
        )

    def by_group(self, groups: int) -> ShownPart:
        """The same, a row of cells for each of so many groups."""
        counts = (np.asarray(count, object).reshape(groups, -1) for count in (self.in_view, self.in_domain))
        return ShownPart(self.channel, *counts)

    @property
    def net(self) -> Floats:
        """The unbiased estimate of the records at each cell."""
        noise = self.in_domain.astype(np.float64) * float(self.channel.added_per_tuple)
        return np.asarray((self.in_view.astype(np.float64) - noise) / float(self.channel.keep))


Parts: TypeAlias = Sequence[ShownPart]
"""A later view of a series has two parts, any other one. Their tuples are apart, and so are their records."""


@dataclass(frozen=True)
class Records:
    """What is told of the records at some cells, with intervals that miss with a chance of at most `alpha`.

    `n` is a public bound on the records, and `confidence` what the intervals are said to have.
    """

    alpha: Fraction
    n: int | None
    confidence: Fraction

    def bounds(self, part: ShownPart, alpha: Fraction) -> tuple[int, int]:
        """The least and the largest number of records of a part."""
        there = int(part.in_domain.sum())
        return count_interval(part.channel, int(part.in_view.sum()), (there, there), (alpha / 2, alpha / 2), self.n)

    def count(self, parts: Parts) -> Estimate:
        """How many there are: what the parts say, added; each interval misses its share of the time."""
        parts = [part for part in parts if part.in_domain.sum()]
        if not parts:
            return Estimate.certain(0.0)
        values = [part.channel.estimate(int(part.in_view.sum()), int(part.in_domain.sum())) for part in parts]
        ends = np.array([self.bounds(part, self.alpha / len(parts)) for part in parts]).sum(axis=0)
        return Estimate(float(sum(values)), float(ends[0]), float(ends[1]), self.confidence)

    def total(self, parts: Parts, values: Floats) -> Estimate:
        """The sum of the values; a fifth of the error is kept for the number of records."""
        total, low, high, _ = self._added(parts, values, self.alpha / 5)
        return Estimate(total, low, high, self.confidence)

    def mean(self, parts: Parts, values: Floats) -> Estimate:
        """The average of the values, half of the error being for the number of records."""
        there = values[sum(part.in_domain for part in parts) > 0]
        possible = there if len(there) else values
        first, last = float(possible.min(initial=np.inf)), float(possible.max(initial=-np.inf))
        centre = (first + last) / 2
        total, low, high, (least, most) = self._added(parts, values - centre, self.alpha / 2)
        records = sum(float(part.net.sum()) for part in parts)
        value = first if records <= 0 else min(max(centre + total / records, first), last)
        if least <= 0:
            return Estimate(value, first, last, self.confidence)
        ends = [centre + end / count for end in (low, high) for count in (least, most)]
        return Estimate(value, max(first, min(ends)), min(last, max(ends)), self.confidence)

    def distinct(self, parts: Parts, labels: Floats) -> Estimate:
        """How many values occur: those of which a record is likely, between those that surely do and those that may.

        Why  with intervals for all values that hold together, at least those occur whose interval is above 0, and at
             most those whose interval is not 0 alone.
        """
        there = sum(part.in_domain for part in parts) > 0
        groups = [there & (labels == label) for label in np.unique(labels[there])]
        if not groups:
            return Estimate.certain(0.0)
        each = Records(self.alpha / len(groups), self.n, self.confidence)
        counts = [each.count([part.at(group) for part in parts]) for group in groups]
        low, high = (sum(one.lower >= 1 for one in counts), sum(one.upper >= 1 for one in counts))
        high = high if self.n is None else min(high, self.n)
        value = min(max(sum(one.value >= 1 / 2 for one in counts), low), max(low, high))
        return Estimate(value, low, high, self.confidence)

    def _added(self, parts: Parts, values: Floats, share: Fraction) -> tuple[float, float, float, tuple[int, int]]:
        """The sum and its ends, and the ends of the number of records, which may miss with a chance `share`."""
        counts = [self.bounds(part, share / len(parts)) for part in parts]
        ends = [
            sum_interval(
                part.channel,
                part.in_view.astype(np.float64),
                part.in_domain.astype(np.float64),
                values,
                float(most),
                (self.alpha - share) / len(parts),
            )
            for part, (_, most) in zip(parts, counts, strict=True)
        ]
        total = sum(float(part.net @ values) for part in parts)
        low, high = (sum(end[side] for end in ends) for side in (0, 1))
        least, most = (sum(count[side] for count in counts) for side in (0, 1))
        return total, low, high, (least, most)
