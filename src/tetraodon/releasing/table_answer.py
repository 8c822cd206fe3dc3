"""A released table of counts: any part of it can be added up, with an interval that is honest for that part."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Domain
from tetraodon.errors import QueryError
from tetraodon.inference.estimate import CONFIDENCE, Estimate
from tetraodon.inference.margin import Margin
from tetraodon.releasing.estimates import Measured, no_table, raw_table
from tetraodon.releasing.grid_reach import cell_reach, mask_reach
from tetraodon.releasing.plan import PlannedItem
from tetraodon.releasing.smooth_reach import running_reach, sum_reach
from tetraodon.workload.contribution import One

NOTHING = 1e-3
"""Counts are whole numbers. One that is known up to less than this has no noise left in it, only what floats add."""

Known: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64]]
"""For every cell the group whose total is known exactly, and those totals."""


@dataclass(frozen=True, eq=False)
class TableAnswer:
    """Counts over the cells of an item's table. `values` are the estimates, `measured` what the noise left."""

    item: PlannedItem
    domain: Domain
    measured: Measured
    values: NDArray[np.float64]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(split.name for split in self.item.strategy.table)

    @cached_property
    def raw(self) -> NDArray[np.float64]:
        return raw_table(self.item, self.measured, self.domain)

    @cached_property
    def _known(self) -> Known | None:
        """For every cell the group whose total is known exactly, and those totals."""
        if self.item.mechanism != "identity":
            return None
        for query, array in zip(self.item.strategy.exact, self.measured[len(self.item.strategy.noisy) :], strict=True):
            if isinstance(query.contribution, One):
                margin = Margin.of(query.by)
                places = margin.places(self.item.strategy.table, self.domain)
                order = margin.places(query.by, self.domain)
                totals = np.zeros(array.size)
                totals[order] = array[..., 0].ravel()
                return places, totals
        return None

    def add_up(self, mask: NDArray[np.bool_]) -> Estimate:
        """The number of records in the cells where `mask` is true.

        Why   the interval is that of the noisy numbers themselves, widened to hold the estimate: it covers the
              truth whatever the inference did. Where a group's total is known, the noise of the cells outside
              the mask may be used instead of that inside, whichever is less.
        """
        value = float(self.values[mask].sum())
        if self.item.mechanism == "exact":
            return Estimate.certain(value)
        centre, reach = self._centre(mask), self.reach(mask)
        if self._terms(mask) == 0 or (self._terms(mask) is None and reach < NOTHING):
            return Estimate.certain(float(round(centre)))
        return Estimate(value, max(0.0, centre - reach), max(0.0, centre + reach))

    def reach(self, mask: NDArray[np.bool_]) -> float:
        """How far the sum over the cells where `mask` is true can be off: the plan alone says it, before any noise."""
        strategy, scale, terms = self.item.strategy, self.item.scale, self._terms(mask)
        if terms is not None:
            return strategy.noise.sum_quantile(scale, terms, CONFIDENCE)
        if self.item.mechanism == "grid":
            return mask_reach(strategy, scale, self.domain, mask, CONFIDENCE)
        return sum_reach(strategy, scale, mask, CONFIDENCE)

    def _terms(self, mask: NDArray[np.bool_]) -> int | None:
        """How many noisy numbers of one scale the sum over a mask needs; None where there are several scales."""
        match self.item.mechanism:
            case "exact":
                return 0
            case "hierarchical" | "grid":
                return None
            case "ordered":
                step = np.diff(mask.astype(np.int64), axis=-1, append=0)  # running count p is used with weight -step[p]
                free_last = len(self.item.strategy.noisy) == 1
                return int(np.abs(step[..., :-1] if free_last else step).sum())
            case "identity" if self._known is not None:
                taken, members = self._taken(mask, self._known)
                return int(np.minimum(taken, members - taken).sum())
            case "identity":
                return int(mask.sum())
            case "direct" | "synopsis":
                raise no_table(self.item.mechanism)
            case _:
                assert_never(self.item.mechanism)

    @staticmethod
    def _taken(mask: NDArray[np.bool_], known: Known) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many cells of every group with a known total are in the mask, and how many there are."""
        places, totals = known
        return np.bincount(places[mask.ravel()], minlength=len(totals)), np.bincount(places, minlength=len(totals))

    def _centre(self, mask: NDArray[np.bool_]) -> float:
        """The sum as the noise left it, in every group by the cells inside or by those outside, whichever are fewer."""
        if self._known is None:
            return float(self.raw[mask].sum())
        (places, totals), inside = self._known, mask.ravel()
        taken, members = self._taken(mask, self._known)
        direct = np.bincount(places[inside], weights=self.raw.ravel()[inside], minlength=len(totals))
        whole = np.bincount(places, weights=self.raw.ravel(), minlength=len(totals))
        return float(np.where(taken > members - taken, totals - (whole - direct), direct).sum())

    # -- all cells, or all running counts, at once -----------------------------------------------

    def cells(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper end for every cell."""
        centre, terms = self.raw, np.ones(self.raw.shape, np.int64)
        match self.item.mechanism:
            case "grid":
                far = cell_reach(self.item.strategy, self.item.scale, self.domain, CONFIDENCE)
                return self._within(self.raw, far, self.values)
            case "exact":
                terms = np.zeros_like(terms)
            case "ordered":
                terms[..., 1:] = 2
                if len(self.item.strategy.noisy) == 1:
                    terms[..., -1] = 1
            case "identity" if self._known is not None:
                places, totals = self._known
                alone = (np.bincount(places, minlength=len(totals)) == 1)[places].reshape(centre.shape)
                centre = np.where(alone, totals[places].reshape(centre.shape), centre)
                terms[alone] = 0
            case "identity" | "hierarchical":
                pass
            case "direct" | "synopsis":
                raise no_table(self.item.mechanism)
            case _:
                assert_never(self.item.mechanism)
        return self._around(centre, terms, self.values)

    @property
    def quantile_confidence(self) -> Fraction:
        """What running counts must be known with, so that a quantile read from them is known with `CONFIDENCE`.

        A quantile is missed when one of two running counts is, each on one side, or when the total is.
        """
        total_known = any(isinstance(query.contribution, One) for query in self.item.strategy.exact)
        return CONFIDENCE if total_known else 1 - (1 - CONFIDENCE) / 2

    def running(
        self, confidence: Fraction = CONFIDENCE
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Running counts along the last attribute with their lower and upper ends."""
        centre = np.cumsum(self.raw, axis=-1)
        size = self.raw.shape[-1]
        values = np.cumsum(self.values, axis=-1)
        match self.item.mechanism:
            case "hierarchical":
                reach = running_reach(self.item.strategy, self.item.scale, confidence)
                return _settled(values, *self._within(centre, np.broadcast_to(reach, centre.shape), values))
            case "exact":
                terms = np.zeros(size, np.int64)
            case "ordered":
                terms = np.ones(size, np.int64)
                terms[-1] = len(self.item.strategy.noisy) - 1
            case "identity":
                terms = np.arange(1, size + 1)
                if self._known is not None and len(self._known[1]) == 1 and self.raw.ndim == 1:
                    shorter = size - terms < terms
                    surplus = float(self._known[1][0]) - float(self.raw.sum())
                    centre = np.where(shorter, centre + surplus, centre)
                    terms = np.where(shorter, size - terms, terms)
            case "grid" | "direct" | "synopsis":
                raise no_table(self.item.mechanism)
            case _:
                assert_never(self.item.mechanism)
        return _settled(values, *self._around(centre, np.broadcast_to(terms, centre.shape), values, confidence))

    def _around(
        self,
        centre: NDArray[np.float64],
        terms: NDArray[np.int64],
        values: NDArray[np.float64],
        confidence: Fraction = CONFIDENCE,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        kinds, which = np.unique(terms, return_inverse=True)
        scale, noise = self.item.scale, self.item.strategy.noise
        reaches = np.array([noise.sum_quantile(scale, int(kind), confidence) for kind in kinds], np.float64)
        return self._within(centre, reaches[which].reshape(terms.shape), values)

    @staticmethod
    def _within(
        centre: NDArray[np.float64], reach: NDArray[np.float64], values: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The ends around what the noise left, widened to hold the estimates."""
        lower, upper = np.maximum(centre - reach, 0.0), np.maximum(centre + reach, 0.0)
        return np.minimum(lower, values), np.maximum(upper, values)

    # -- along an ordered attribute ------------------------------------------------------------

    def ordered_name(self, attribute: str | None) -> str:
        """The ordered attribute that a range is about, if only one can be meant."""
        able = [s.name for s in self.item.strategy.table if s.bins is None and self.domain[s.name].ordered]
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

    def slab(self, name: str, low: int, high: int) -> NDArray[np.bool_]:
        """The cells whose code of one attribute lies between two codes."""
        axis = self.names.index(name)
        view = [1] * self.values.ndim
        view[axis] = -1
        codes = np.arange(self.values.shape[axis]).reshape(view)
        return np.broadcast_to((codes >= low) & (codes <= high), self.values.shape)


def _settled(
    values: NDArray[np.float64], lower: NDArray[np.float64], upper: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Counts with their ends, as whole numbers where no noise is left in them."""
    sure, whole = upper - lower < NOTHING, np.round(values)
    return np.where(sure, whole, values), np.where(sure, whole, lower), np.where(sure, whole, upper)
