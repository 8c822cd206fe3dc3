"""Counts, sums, averages and numbers of values of some records, from what the parts of a view show of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Bools, Floats, Ints
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

    def in_rows(self, rows: Ints) -> ShownPart:
        """The same, in rows of cells, by their places; nothing where a place is below 0."""
        counts = (np.where(rows < 0, 0, np.ravel(count)[rows]) for count in (self.in_view, self.in_domain))
        return ShownPart(self.channel, *counts)

    def where(self, known: Bools) -> ShownPart:
        """The same with nothing at the other cells."""
        return ShownPart(self.channel, np.where(known, self.in_view, 0), np.where(known, self.in_domain, 0))

    @property
    def net(self) -> Floats:
        """The unbiased estimate of the records at each cell."""
        noise = self.in_domain.astype(np.float64) * float(self.channel.added_per_tuple)
        return np.asarray((self.in_view.astype(np.float64) - noise) / float(self.channel.keep))


AT_ONCE = 2**16
"""So many cells are looked at together: as many as stay near to the processor."""
Ends: TypeAlias = tuple[Floats, Floats]
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

    def totals(self, parts: Parts, values: Floats) -> list[Estimate]:
        """The sums of the values, one for each row of cells; a fifth of the error is kept for the number of records.

        Pre   values that nobody can have are 0.
        """
        total, low, high, _ = self._added(parts, values, self.alpha / 5)
        return self._told(total, low, high)

    def means(self, parts: Parts, values: Floats, known: Bools) -> list[Estimate]:
        """The averages of the values where they are known, half of the error being for the number of records."""
        there = known & (sum(part.in_domain for part in parts) > 0)
        there = np.where(there.any(axis=-1, keepdims=True), there, known)
        first = np.where(there, values, np.inf).min(axis=-1, initial=np.inf)
        last = np.where(there, values, -np.inf).max(axis=-1, initial=-np.inf)
        centre = np.where(there.any(axis=-1), (first + last) / 2, 0.0)
        total, low, high, (least, most) = self._added(
            parts, np.where(there, values - centre[:, None], 0.0), self.alpha / 2
        )
        records = sum(part.net.sum(axis=-1) for part in parts)
        value = np.where(
            records <= 0, first, np.clip(centre + total / np.where(records <= 0, 1.0, records), first, last)
        )
        some = np.maximum(least, 1.0), np.maximum(most, 1.0)
        ends = [centre + end / count for end in (low, high) for count in some]
        lower = np.where(least <= 0, first, np.maximum(first, np.minimum.reduce(ends)))
        upper = np.where(least <= 0, last, np.minimum(last, np.maximum.reduce(ends)))
        return self._told(value, lower, upper)

    def _told(self, values: Floats, lower: Floats, upper: Floats) -> list[Estimate]:
        ends = zip(values.tolist(), lower.tolist(), upper.tolist(), strict=True)
        return [Estimate(value, low, high, self.confidence) for value, low, high in ends]

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

    def _added(self, parts: Parts, values: Floats, share: Fraction) -> tuple[Floats, Floats, Floats, Ends]:
        """The sums and their ends, and the ends of the numbers of records, which may miss with a chance `share`."""
        counts = [self._many_bounds(part, share / len(parts)) for part in parts]
        low, high = np.zeros(len(values)), np.zeros(len(values))
        step = max(1, AT_ONCE // max(1, values.shape[-1]))
        for start in range(0, len(values), step):
            rows = slice(start, start + step)
            for part, (_, most) in zip(parts, counts, strict=True):
                view, domain = (count[rows].astype(np.float64) for count in (part.in_view, part.in_domain))
                alpha = (self.alpha - share) / len(parts)
                ends = sum_interval(part.channel, view, domain, values[rows], most[rows], alpha)
                low[rows] += ends[0]
                high[rows] += ends[1]
        total = sum((part.net * values).sum(axis=-1) for part in parts)
        least, most = (np.sum([count[side] for count in counts], axis=0) for side in (0, 1))
        return np.asarray(total, np.float64), low, high, (least, most)

    def _many_bounds(self, part: ShownPart, alpha: Fraction) -> Ends:
        """`bounds` of each row of cells: rows that show as many of as many have the same."""
        pairs = list(zip(part.in_view.sum(axis=-1).tolist(), part.in_domain.sum(axis=-1).tolist(), strict=True))
        sides = alpha / 2, alpha / 2
        found = {one: count_interval(part.channel, one[0], (one[1], one[1]), sides, self.n) for one in set(pairs)}
        least, most = np.array([found[one] for one in pairs], np.float64).reshape(-1, 2).T
        return least, most
