"""What was released about an item, as its question turns it into named columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import itemgetter

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.certificate.choice_loss import choices_of
from tetraodon.domain import Domain
from tetraodon.inference.estimate import CONFIDENCE
from tetraodon.mechanism.chosen_tables import records_told
from tetraodon.mechanism.disguise import TotalOfShown
from tetraodon.mechanism.kmeans import centres_of
from tetraodon.mechanism.levels import TotalOfLevels
from tetraodon.mechanism.strategy import Measured
from tetraodon.noise.rank_cuts import MOST_RECORDS, rank_reach
from tetraodon.questions import KMeans
from tetraodon.questions.answered import Columns, MeasuredSum
from tetraodon.releasing.estimates import Estimates
from tetraodon.releasing.plan import PlannedItem
from tetraodon.releasing.table_answer import TableAnswer
from tetraodon.workload.contribution import Contribution, Table
from tetraodon.workload.disguised import disguised_of
from tetraodon.workload.level_sums import LevelSums
from tetraodon.workload.linear import Measurement, Split
from tetraodon.workload.ranks import Ranks


def columns_of(item: PlannedItem, domain: Domain, measured: Measured, estimates: Estimates) -> Columns:
    """Attributes first, then the answer, then `lower` and `upper`, which hold the truth with 95% probability."""
    return item.item.query.columns(AnsweredItem(item, domain, measured, estimates))


def table_of(item: PlannedItem, domain: Domain, measured: Measured, estimates: Estimates) -> TableAnswer | None:
    """The table of counts behind an item, if there is one."""
    key = item.name, None
    if key not in estimates.tables:
        return None
    combined = estimates.combined.places.get(key) if estimates.combined else None
    return TableAnswer(item, domain, measured, estimates.tables[key], combined, estimates.combined is None)


@dataclass(frozen=True, eq=False)
class AnsweredItem:
    """An item with what was measured for it, and the estimates of the release."""

    item: PlannedItem
    domain: Domain
    measured: Measured
    estimates: Estimates

    @property
    def whole(self) -> bool:
        """Whether counts are to be whole and not negative."""
        return self.item.item.whole

    @property
    def noisy(self) -> bool:
        """Whether there is any noise in it."""
        return bool(self.item.strategy.noisy)

    @property
    def averaged(self) -> bool:
        """Whether it was inferred as version 0.1 did."""
        return self.estimates.combined is None

    @property
    def axes(self) -> tuple[Split, ...]:
        """The axes of the table of counts."""
        return self.item.strategy.table

    @cached_property
    def table(self) -> TableAnswer | None:
        """The table of counts behind the answer, if there is one."""
        return table_of(self.item, self.domain, self.measured, self.estimates)

    @property
    def sums(self) -> tuple[MeasuredSum, ...]:
        """What was measured itself, in the order of `Query.sums`, as everything that was measured tells it."""
        stated = self.item.strategy.stated(self.item.scale)
        found = [self._sum(place, one) for place, one in enumerate(stated)]
        kinds = [query.contribution for query in self.item.item.query.sums(self.domain)]
        order = [_place(measurement.query.contribution, kinds) for measurement in stated]
        return tuple(one for _, one in sorted(zip(order, found, strict=True), key=itemgetter(0)))

    def _sum(self, place: int, measurement: Measurement) -> MeasuredSum:
        numbers, noise, scale = self.measured[place], measurement.noise, measurement.scale
        unit, key, combined = measurement.query.contribution.unit, (self.item.name, place), self.estimates.combined
        made = self.estimates.tables.get(key)
        told = None if made is None else made.published.reshape(numbers.shape) / float(unit)
        group, where = combined.places.get(key, (None, 0)) if combined else (None, 0)
        found = group.each(where, CONFIDENCE) if group else None

        def reach(failures: int) -> Floats:
            sure = 1 - (1 - CONFIDENCE) / failures
            together = group.each(where, sure) if group and found else None
            if together is not None:
                return together[1].reshape(numbers.shape) / float(unit)
            return np.full(numbers.shape, noise.sum_quantile(scale, 1, sure) if scale else 0.0)

        if isinstance(ranks := measurement.query.contribution, Ranks):
            return MeasuredSum(numbers, unit, not scale, lambda _: _rank_reach(ranks, scale, self.measured))
        if isinstance(levels := measurement.query.contribution, LevelSums):
            summed = TotalOfLevels(levels, scale, numbers, self.measured[-1][..., 0])
            ends = summed.centre[..., None], unit, False, lambda n: summed.reach(n)[..., None]
            return MeasuredSum(*ends, summed.total[..., None])
        if (shown := disguised_of(measurement.query)) is not None:
            told_total = TotalOfShown(shown, scale, numbers)
            return MeasuredSum(told_total.total[..., None], unit, False, lambda n: told_total.reach(n)[..., None])
        centre = numbers if found is None else found[0].reshape(numbers.shape) / float(unit)
        return MeasuredSum(centre, unit, not scale, reach, told)

    def clusters(self) -> tuple[Floats, Floats]:
        """Centres of clusters, the largest first, and about how many records each has."""
        strategy, query = self.item.strategy, self.item.item.query
        assert isinstance(query, KMeans), "only these are clustered"
        table = (*strategy.noisy, *strategy.exact)[0]
        known = (strategy.exact[0], self.measured[1]) if strategy.noisy and strategy.exact else None
        variance = strategy.noise.variance(self.item.scale) if strategy.noisy else 0.0
        return centres_of(query, self.domain, table, self.measured[0], variance, known)

    def made_up(self, n: int) -> dict[str, Ints]:
        """The codes of so many made-up records, by attribute."""
        strategy = self.item.strategy
        tables = choices_of(strategy.noisy[0])
        assert tables is not None, "only from such tables"
        return records_told(tables, self.measured[0], self.item.scale, strategy.noise, self.domain, n)


def _rank_reach(ranks: Ranks, scale: Fraction, measured: Measured) -> float:
    """How far the ranks of chosen values are off; without end where more records are known than that is proved for."""
    if any(int(array.sum()) > MOST_RECORDS for array in measured[1:]):
        return math.inf
    return rank_reach(len(ranks.shares), ranks.size, scale, CONFIDENCE)


def _place(measured: Contribution, asked: Sequence[Contribution]) -> int:
    """Which of the sums that a question asks was measured. It asks about one condition at most."""
    condition = isinstance(measured, Table)
    found = (n for n, one in enumerate(asked) if one == measured or (condition and isinstance(one, Table)))
    return next(found, len(asked))
