"""Ranges, running counts and rectangles of sparse data: parts are divided where they are found to be large.

Where most records are in few places, most of the noise on a fixed table is in vain. So the budget is spent in rounds
([QYL13], [ZXX16]): counts of wide parts first, then of the pieces of those that are large, while a part that is small
is counted once more with all that is left for it. [LHM14] choose buckets first and measure them then; here what finds
the parts is measured too, and used. No part is looked at outside the budget, and the whole is certified before any data
is seen (`certificate/divided_loss.py`).
"""

# ruff: noqa: ARG002 - every mechanism is asked in the same way, whatever it needs to know

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tetraodon.arrays import Bools, Floats
from tetraodon.certificate.kernel import sensitivity_of
from tetraodon.mechanism.divided.intervals import LastNumbers
from tetraodon.mechanism.divided.rounds_fit import fitted, parts_of
from tetraodon.mechanism.free_totals import free_totals
from tetraodon.mechanism.strategy import Ends, Measured, Mechanism, Scaled, Strategy
from tetraodon.policy.policy import Policy
from tetraodon.questions.data_shape import SPARSE
from tetraodon.questions.query import EveryRange, EveryRectangle, ListedRanges, Query, Reading, RunningCounts
from tetraodon.workload.contribution import One
from tetraodon.workload.divided import Divided
from tetraodon.workload.linear import LinearQuery

SHORTEST = 16
"""Attributes with fewer values have no parts that are worth it."""
LONGEST = 2**17
MOST_CELLS = 2**22


@dataclass(frozen=True)
class DividedParts(Mechanism):
    """Small parts are taken to be even inside, so that `expected_error` is that of noise alone, if all were divided."""

    name = "divided"
    words = "noise on parts that are divided where they are large"
    adds_noise = False
    remark = (
        "That is the noise if all parts were divided. Where records are in few places there is less of it; what is "
        "uneven inside parts that are not divided comes on top, and no plan can know it. Intervals allow for both."
    )

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        reading, sides = query.reading(policy.domain), 1
        match reading:
            case EveryRectangle():
                sides = 2
            case EveryRange() | ListedRanges() | RunningCounts(shares=()):
                pass
            case _:
                return
        table = query.table(policy.domain)
        attributes = [policy.domain[split.name] for split in table[-sides:]]
        sizes = [split.size(policy.domain) for split in table]
        plain = all(a.ordered and s.bins is None for a, s in zip(attributes, table[-sides:], strict=True))
        fits = SHORTEST <= max(sizes[-sides:]) <= LONGEST and math.prod(sizes) <= MOST_CELLS
        if query.shape != SPARSE or not plain or not fits or policy.known:
            return
        by, exact = table[:-sides], free_totals(table, policy)
        totals = LinearQuery(One(), by)
        if policy.size_is_public and sensitivity_of(policy.graph, totals).value == 0:
            exact = (totals, *(one for one in exact if one != totals))
        parts = Divided(tuple(a.name for a in attributes), tuple(a.size for a in attributes))
        yield Strategy(self, (LinearQuery(parts, by),), exact, table)

    def expected_error(self, query: Query, at: Scaled) -> float:
        return math.sqrt(mean_variance(query, at))

    def compared_as(self, strategy: Strategy) -> float:
        """Why  on a line, running counts of other ways are made to rise, which helps where data are sparse, too."""
        return 0.6 if len(strategy.noisy[0].contribution.names) == 1 else 0.4

    def largest_error(self, query: Query, at: Scaled, confidence: Fraction) -> float:
        return math.inf  # how uneven small parts are inside, no plan can know

    def sentence(self, at: Scaled, noise: str, size: str) -> str:
        parts = parts_of(at)
        named = " and ".join(parts.names)
        return (
            f"{noise} was added to the counts of parts of {named}{size}, in {parts.rounds} rounds: a part whose noisy "
            "count was large was divided, and any other counted once more with what was left for it. A part that was "
            "not divided is shown as even inside. An interval goes from the parts that lie inside "
            "what is asked to all that touch it, so that it holds the truth however uneven they are."
        )

    def fit(self, at: Scaled, measured: Measured) -> Floats:
        return fitted(at, measured)

    def reach(self, at: Scaled, mask: Bools, confidence: Fraction) -> float:
        """If all parts were divided: tables are compared by it, and no interval is."""
        terms, scale = int(mask.sum()), parts_of(at).scale_of(at.scale, -1)
        return at.strategy.noise.sum_quantile(scale, terms, confidence) if terms else 0.0

    def interval(self, at: Scaled, measured: Measured, mask: Bools, confidence: Fraction) -> tuple[float, float]:
        last = LastNumbers.of(at, measured)
        inside, touched = (last.over(mask, touching=touching) for touching in (False, True))
        centre, reach = last.between(inside, touched, confidence)
        return float(centre), float(reach)

    def box_intervals(
        self, at: Scaled, measured: Measured, low: Ends, high: Ends, confidence: Fraction
    ) -> tuple[Floats, Floats]:
        last = LastNumbers.of(at, measured)
        inside, touched = (last.in_boxes(low, high, touching=touching) for touching in (False, True))
        return last.between(inside, touched, confidence)


DIVIDED = DividedParts()


@lru_cache(maxsize=64)
def mean_variance(query: Query, at: Scaled) -> float:
    """Mean over the answers of the variance of their noise, if all parts were divided.

    Why   parts of every round lie inside those of the round before. So tables that are even inside the parts of round
          l and add up to nothing in those of round l - 1 are common eigenvectors of all rounds: a part of w cells has
          w times their squares in its counts. What of an answer lies in each of these spaces is a difference of means
          over parts. It is exact where the parts of every round are equally wide.
    """
    parts, reading = parts_of(at), query.reading(at.domain)
    assert reading is not None
    noise = [at.strategy.noise.variance(parts.scale_of(at.scale, place)) for place in range(parts.rounds)]
    known = LinearQuery(One(), at.strategy.noisy[0].by) in at.strategy.exact
    total, before, cells = 0.0, _evenly(reading, parts.sizes, max(parts.sizes)) if known else 0.0, len(parts.sizes)
    for place, width in enumerate(parts.widths):
        even = _evenly(reading, parts.sizes, width)
        precision = sum(parts.widths[later] ** cells / noise[later] for later in range(place, parts.rounds))
        total += max(even - before, 0.0) / precision
        before = even
    return total


def _evenly(reading: Reading, sizes: tuple[int, ...], width: int) -> float:
    """The mean square of what is left of an answer's weights when they are made even inside parts of a width."""
    found = 1.0
    for size in sizes:
        found *= _along(EveryRange() if isinstance(reading, EveryRectangle) else reading, size, width)
    return found


def _along(reading: Reading, size: int, width: int) -> float:
    """The same along one side: the mean over answers of the sum over parts B of |answer and B|^2 / |B|."""
    codes, starts = np.arange(size), np.arange(0, size, width)
    if isinstance(reading, ListedRanges):
        rows = (np.add.reduceat((low <= codes) & (codes <= high), starts, dtype=np.int64) for low, high in reading.ends)
        whole = np.diff(np.append(starts, size))
        return float(np.mean([(row**2 / whole).sum() for row in rows]))
    # how many answers hold both i and j, of which i is not the larger: before[i] * after[j]
    after = (size - codes).astype(np.float64)
    before: Floats = np.ones(size) if isinstance(reading, RunningCounts) else codes.astype(np.float64) + 1
    every = size if isinstance(reading, RunningCounts) else size * (size + 1) / 2
    upto = np.append(0.0, np.cumsum(before))
    own = upto[:-1] - upto[codes // width * width]
    whole = np.minimum(width, size - codes // width * width)
    return float((after * (before + 2 * own) / whole).sum() / every)
