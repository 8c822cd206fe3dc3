"""A released table of counts: any part of it can be added up, with an interval that is honest for that part."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tetraodon.arrays import Bools, Floats, Ints
from tetraodon.domain import Domain
from tetraodon.errors import QueryError
from tetraodon.inference.consistency import Margin
from tetraodon.inference.estimate import CONFIDENCE, Estimate
from tetraodon.mechanism.strategy import NOTHING, Ends, Measured, Scaled
from tetraodon.questions.answered import ends_of_counts, possible_ends
from tetraodon.questions.quantiles import read_quantile
from tetraodon.releasing.combined import CombinedGroup
from tetraodon.releasing.estimates import Estimated, raw_table
from tetraodon.releasing.plan import PlannedItem
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import LinearQuery


@dataclass(frozen=True, eq=False)
class TableAnswer:
    """Counts over the cells of an item's table. `values` are published, `measured` is what the noise left.

    `combined` estimates the table together with the others of the release, and says where it stands there.
    """

    item: PlannedItem
    domain: Domain
    measured: Measured
    estimated: Estimated
    combined: tuple[CombinedGroup, int] | None = None
    averaged: bool = False
    """Whether it was inferred as version 0.1 did."""

    @property
    def values(self) -> Floats:
        return self.estimated.published

    @property
    def unbiased(self) -> Floats:
        return self.estimated.unbiased

    @property
    def whole(self) -> bool:
        """Whether counts are whole and not negative, and so are the ends of intervals."""
        return self.item.item.whole

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(split.name for split in self.item.strategy.table)

    @cached_property
    def at(self) -> Scaled:
        """What is known of its errors before any data is seen."""
        return self.item.scaled(self.domain)

    @cached_property
    def raw(self) -> Floats:
        return raw_table(self.item, self.measured, self.domain)

    def add_up(self, mask: Bools, confidence: Fraction = CONFIDENCE) -> Estimate:
        """The number of records in the cells where `mask` is true.

        Why   the interval is that of an estimate without bias, widened to hold what is published: it covers the truth
              whatever the inference did. Of whole counts it has no end that is impossible.
        """
        together = self._together(mask.reshape(1, -1), confidence)
        if together is not None and self.combined is not None:
            centre, reach = float(together[0][0]), float(together[1][0])
            group, place = self.combined
            certain = reach < NOTHING and group.certain(place, mask.reshape(1, -1))
        elif (told := self.at.mechanism.interval(self.at, self.measured, mask, confidence)) is not None:
            centre, reach = told
            certain = reach == 0.0
        else:
            mechanism, at = self.at.mechanism, self.at
            centre = mechanism.sum_over(at, self.measured, self.raw, mask)
            certain = mechanism.is_certain(at, mask)
            reach = 0.0 if certain else self.reach(mask, confidence)
        if certain:
            return Estimate.certain(float(round(centre)))
        value = float(self.values[mask].sum())
        lower, upper = self._ends(np.asarray(centre), reach, np.asarray(value), self.most)
        return Estimate(value, float(lower), float(upper), confidence)

    @cached_property
    def most(self) -> float:
        """The most records that a sum of cells can have: all of them, where that is known."""
        return min((float(exact.sum()) for _, exact in self._exact_counts()), default=math.inf)

    @cached_property
    def most_in_cells(self) -> Floats:
        """The most records that each cell can have, where totals are known."""
        most = np.full(self.values.shape, math.inf)
        for query, exact in self._exact_counts():
            margin = Margin.of(query.by)
            totals = np.zeros(margin.cells(self.domain))
            totals[margin.places(query.by, self.domain)] = exact.ravel()
            inside = totals[margin.places(self.item.strategy.table, self.domain)]
            most = np.minimum(most, inside.reshape(most.shape))
        return most

    def _exact_counts(self) -> list[tuple[LinearQuery, Ints]]:
        """Numbers of records that were measured without noise."""
        strategy = self.item.strategy
        known = zip(strategy.exact, self.measured[len(strategy.noisy) :], strict=True)
        return [(query, array) for query, array in known if isinstance(query.contribution, One)]

    def reach(self, mask: Bools, confidence: Fraction = CONFIDENCE) -> float:
        """How far the sum over the cells where `mask` is true can be off by the noise of this item alone."""
        return self.at.mechanism.reach(self.at, mask, confidence)

    def _together(self, rows: Bools | Floats, confidence: Fraction) -> tuple[Floats, Floats] | None:
        """Sums of cells as everything that was measured tells them, and how far they can be off; a row of weights each.

        None where this table is all there is, or where it is too much work: then it speaks for itself. The plan alone
        decides, never the noise.
        """
        if self.combined is None or self.combined[0].alone:
            return None
        group, place = self.combined
        return group.sums(place, np.asarray(rows, np.float64), confidence)

    # -- very many boxes of cells at once ------------------------------------------------------------

    def boxes(
        self,
        low: Ends,
        high: Ends,
        centre: Floats,
        values: Floats,
        confidence: Fraction = CONFIDENCE,
        most: Floats | None = None,
    ) -> tuple[Floats, Floats]:
        """Lower and upper ends for sums over boxes of cells, each holding the truth by itself.

        Pre   `centre` are the sums of what the noise left, `values` those of the estimates; both ends are included.
              `most` is the most that they can be, by default all records.
        """
        together = self._boxes_together(low, high, confidence)
        together = together or self.at.mechanism.box_intervals(self.at, self.measured, low, high, confidence)
        if together is not None:
            centre, reach = (part.reshape(values.shape) for part in together)
        else:
            centre = self.at.mechanism.box_sums(self.at, self.measured, low, high, centre)
            reach = self.at.mechanism.box_reach(self.at, low, high, confidence)
        return self._ends(centre, reach, values, self.most if most is None else most)

    def _ends(
        self, centre: Floats, reach: Floats | float, values: Floats, most: Floats | float
    ) -> tuple[Floats, Floats]:
        if self.whole:
            return possible_ends(centre, reach, values, most)
        return ends_of_counts(centre, reach, values, averaged=self.averaged)

    def _boxes_together(self, low: Ends, high: Ends, confidence: Fraction) -> tuple[Floats, Floats] | None:
        ends = np.broadcast_arrays(*low, *high)
        if self.combined is None or self.combined[0].alone or not self.combined[0].affordable(ends[0].size):
            return None
        inside = np.ones((ends[0].size, *self.values.shape), np.bool_)
        for axis, size in enumerate(self.values.shape):
            first, last = (ends[axis + side * len(low)].ravel()[:, None] for side in (0, 1))
            within = (first <= np.arange(size)) & (np.arange(size) <= last)
            inside &= within.reshape(-1, *(size if a == axis else 1 for a in range(self.values.ndim)))
        return self._together(inside.reshape(len(inside), -1), confidence)

    def cells(self) -> tuple[Floats, Floats]:
        """Lower and upper end for every cell."""
        codes = np.ix_(*map(np.arange, self.raw.shape))
        together = None if self.combined is None else self.combined[0].each(self.combined[1], CONFIDENCE)
        if together is not None:
            centre, reach = (part.reshape(self.values.shape) for part in together)
            return self._ends(centre, reach, self.values, self.most_in_cells)
        return self.boxes(codes, codes, self.raw, self.values, most=self.most_in_cells)

    def running(self, confidence: Fraction = CONFIDENCE) -> tuple[Floats, Floats, Floats]:
        """Running counts along the last attribute with their lower and upper ends."""
        codes = np.ix_(*map(np.arange, self.raw.shape))
        low = (*codes[:-1], np.zeros_like(codes[-1]))
        values = np.cumsum(self.values, axis=-1)
        return _settled(values, *self.boxes(low, codes, np.cumsum(self.raw, axis=-1), values, confidence))

    @property
    def quantile_confidence(self) -> Fraction:
        """What running counts must be known with, so that a quantile read from them is known with `CONFIDENCE`.

        A quantile is missed when one of two running counts is, each on one side, or when the total is.
        """
        total_known = any(isinstance(query.contribution, One) for query in self.item.strategy.exact)
        return CONFIDENCE if total_known else 1 - (1 - CONFIDENCE) / 2

    def quantile(self, name: str, share: Fraction) -> tuple[int, int, int]:
        """Codes of the quantile of one attribute over the whole table, and of the ends of its interval."""
        axis = self.names.index(name)
        others = tuple(a for a in range(self.values.ndim) if a != axis)
        running, raw = (np.cumsum(counts.sum(axis=others)) for counts in (self.values, self.raw))
        high = [np.array([size - 1]) for size in self.values.shape]
        high[axis] = np.arange(len(running))
        low = tuple(np.zeros_like(ends) for ends in high)
        lower, upper = self.boxes(low, tuple(high), raw, running, self.quantile_confidence)
        if self.quantile_confidence == CONFIDENCE:  # the total is known: use it as it is
            lower[-1] = upper[-1] = running[-1]
        return read_quantile(running, lower, upper, share)

    # -- along an ordered attribute ------------------------------------------------------------

    def ordered_name(self, attribute: str | None, *, binned: bool = False) -> str:
        """The ordered attribute that a range is about, if only one can be meant; `binned` ones too, if asked for."""
        able = [s.name for s in self.item.strategy.table if self.domain[s.name].ordered and (binned or s.bins is None)]
        if attribute is not None:
            self.domain.position(attribute)
        if attribute is None and len(able) == 1:
            return able[0]
        if attribute is None or attribute not in able:
            raise QueryError(
                f"{self.item.name} has {'no' if not able else 'more than one'} ordered attribute to take a range of"
                if attribute is None
                else f"{attribute} cannot be ranged over in {self.item.name}",
                fix=f"name one of: {', '.join(able)}" if able else "ask a histogram or a cdf of an ordered attribute",
            )
        return attribute

    def slab(self, name: str, low: int, high: int) -> Bools:
        """The cells whose code of one attribute lies between two codes."""
        axis = self.names.index(name)
        view = [1] * self.values.ndim
        view[axis] = -1
        codes = np.arange(self.values.shape[axis]).reshape(view)
        return np.broadcast_to((codes >= low) & (codes <= high), self.values.shape)


def _settled(values: Floats, lower: Floats, upper: Floats) -> tuple[Floats, Floats, Floats]:
    """Counts with their ends, as whole numbers where no noise is left in them."""
    sure, whole = upper - lower < NOTHING, np.round(values)
    return np.where(sure, whole, values), np.where(sure, whole, lower), np.where(sure, whole, upper)
