"""Noise on every cell of a table ([HMD14] Thm 5.1)."""

# ruff: noqa: ARG002 - every mechanism is asked in the same way, whatever it needs to know

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import assert_never

import numpy as np

from tetraodon.arrays import Bools, Floats, Ints
from tetraodon.domain import Domain
from tetraodon.inference.consistency import Margin
from tetraodon.mechanism.free_totals import free_totals
from tetraodon.mechanism.identity.known_share import (
    Asked,
    each_prefix,
    each_range,
    each_value,
    known_share,
    named_ranges,
)
from tetraodon.mechanism.one_scale import OneScale, lengths, reading_of
from tetraodon.mechanism.strategy import Ends, Measured, Scaled, Strategy
from tetraodon.policy.policy import Policy
from tetraodon.questions.query import Cells, EveryRange, EveryRectangle, ListedRanges, Query, RunningCounts
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import LinearQuery


@dataclass(frozen=True)
class Identity(OneScale):
    """Sums add up cells. Where a group's total is known, the noise of the cells outside a sum may be used instead of
    that inside, whichever is less.
    """

    name = "identity"
    words = "noise on each count"
    each_cell = True

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        table = query.table(policy.domain)
        if table:
            yield Strategy(self, (LinearQuery(One(), table),), free_totals(table, policy), table)

    def variance_factor(self, query: Query, strategy: Strategy, domain: Domain) -> float:
        """Answers add up cells, less what totals that are known exactly take from the noise in them."""
        sizes = [split.size(domain) for split in strategy.table]
        others = [each_value] * (len(sizes) - 1)
        asked: list[Asked]
        match reading_of(query, domain):
            case Cells():
                whole, asked = 1.0, [*others, each_value]
            case EveryRectangle():
                whole, asked = math.prod((size + 2) / 3 for size in sizes), [each_range] * len(sizes)
            case RunningCounts():
                whole, asked = (sizes[-1] + 1) / 2, [*others, each_prefix]
            case ListedRanges(ends):
                whole, asked = sum(high - low + 1 for low, high in ends) / len(ends), [*others, named_ranges(ends)]
            case EveryRange():
                whole, asked = (sizes[-1] + 2) / 3, [*others, each_range]
            case _ as never:
                assert_never(never)
        return whole - known_share(strategy.table, strategy.exact, asked, domain)

    def most_terms(self, query: Query, at: Scaled) -> int:
        whole = any(not one.by for one in at.strategy.exact)
        match query.reading(at.domain):
            case EveryRectangle():
                cells = math.prod(at.shape)
                return max(1, cells // 2 if whole else cells)
            case RunningCounts() | EveryRange() | ListedRanges():
                size = at.shape[-1]
                return max(1, size // 2 if whole and len(at.shape) == 1 else size)
            case _:
                return 1

    def sentence(self, at: Scaled, noise: str, size: str) -> str:
        return f"{noise} was added to each cell of the table of counts{size}."

    def fit(self, at: Scaled, measured: Measured) -> Floats:
        return measured[0][..., 0].astype(np.float64)

    def parts(self, at: Scaled, weights: Floats) -> tuple[Floats, ...]:
        return (weights,)

    def terms(self, at: Scaled, mask: Bools) -> int:
        known = _known_groups(at)
        if known is None:
            return int(mask.sum())
        taken = known.taken(mask)
        return int(np.minimum(taken, known.members - taken).sum())

    def sum_over(self, at: Scaled, measured: Measured, table: Floats, mask: Bools) -> float:
        known = _known_groups(at)
        if known is None:
            return super().sum_over(at, measured, table, mask)
        inside, cells, groups = mask.ravel(), table.ravel(), len(known.members)
        direct = np.bincount(known.places[inside], weights=cells[inside], minlength=groups)
        whole = np.bincount(known.places, weights=cells, minlength=groups)
        taken = known.taken(mask)
        by_rest = known.totals(measured) - (whole - direct)
        return float(np.where(taken > known.members - taken, by_rest, direct).sum())

    def box_terms(self, at: Scaled, low: Ends, high: Ends) -> Ints:
        known, cells = _known_groups(at), np.asarray(math.prod(lengths(low, high)))
        if known is not None and len(known.members) == 1:
            return np.asarray(np.minimum(cells, known.members[0] - cells))
        if known is not None and (cells == 1).all():
            return np.where(known.is_alone(at, low), 0, 1)
        return cells

    def box_sums(self, at: Scaled, measured: Measured, low: Ends, high: Ends, sums: Floats) -> Floats:
        known, cells = _known_groups(at), math.prod(lengths(low, high))
        if known is not None and len(known.members) == 1:
            missing = float(known.totals(measured)[0]) - float(measured[0].sum())
            return np.where(known.members[0] - cells < cells, sums + missing, sums)
        if known is not None and np.all(cells == 1):
            total = known.totals(measured)[known.places[_numbers(at, low)]]
            return np.where(known.is_alone(at, low), total, sums)
        return sums


IDENTITY = Identity()


@dataclass(frozen=True, eq=False)
class _KnownGroups:
    """For every cell the group whose total is known exactly, and how many cells each has."""

    place: int
    """Which measurement tells the totals."""
    places: Ints
    members: Ints
    order: Ints

    def taken(self, mask: Bools) -> Ints:
        """How many cells of every group are in a mask."""
        return np.bincount(self.places[mask.ravel()], minlength=len(self.members))

    def totals(self, measured: Measured) -> Floats:
        totals = np.zeros(len(self.members))
        totals[self.order] = measured[self.place][..., 0].ravel()
        return totals

    def is_alone(self, at: Scaled, codes: Ends) -> Bools:
        """Whether cells are the only ones of their groups, so that they are known."""
        return np.asarray((self.members[self.places] == 1)[_numbers(at, codes)])


def _numbers(at: Scaled, codes: Ends) -> Ints:
    return np.ravel_multi_index(np.broadcast_arrays(*codes), at.shape)


@lru_cache(maxsize=8)
def _known_groups(at: Scaled) -> _KnownGroups | None:
    strategy = at.strategy
    for place, query in enumerate(strategy.exact, start=len(strategy.noisy)):
        if isinstance(query.contribution, One):
            margin = Margin.of(query.by)
            places = margin.places(strategy.table, at.domain)
            order = margin.places(query.by, at.domain)
            return _KnownGroups(place, places, np.bincount(places, minlength=order.size), order)
    return None
