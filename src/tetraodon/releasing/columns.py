"""What was released about an item, as its question turns it into named columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

from tetraodon.arrays import Floats
from tetraodon.domain import Domain
from tetraodon.inference.estimate import CONFIDENCE
from tetraodon.mechanism.kmeans import centres_of
from tetraodon.mechanism.strategy import Measured
from tetraodon.questions import KMeans
from tetraodon.questions.answered import Columns, MeasuredSum
from tetraodon.releasing.estimates import Estimated
from tetraodon.releasing.plan import PlannedItem
from tetraodon.releasing.table_answer import TableAnswer
from tetraodon.workload.contribution import Contribution, Table
from tetraodon.workload.linear import Measurement, Split


def columns_of(item: PlannedItem, domain: Domain, measured: Measured, estimated: Estimated | None) -> Columns:
    """Attributes first, then the answer, then `lower` and `upper`, which hold the truth with 95% probability."""
    return item.item.query.columns(AnsweredItem(item, domain, measured, estimated))


@dataclass(frozen=True, eq=False)
class AnsweredItem:
    """An item with what was measured for it, and the estimates of its table if it has one."""

    item: PlannedItem
    domain: Domain
    measured: Measured
    estimated: Estimated | None

    @property
    def whole(self) -> bool:
        """Whether counts are to be whole and not negative."""
        return self.item.item.whole

    @property
    def noisy(self) -> bool:
        """Whether there is any noise in it."""
        return bool(self.item.strategy.noisy)

    @property
    def axes(self) -> tuple[Split, ...]:
        """The axes of the table of counts."""
        return self.item.strategy.table

    @cached_property
    def table(self) -> TableAnswer | None:
        """The table of counts behind the answer, if there is one."""
        if self.estimated is None:
            return None
        return TableAnswer(self.item, self.domain, self.measured, self.estimated)

    @property
    def sums(self) -> tuple[MeasuredSum, ...]:
        """What was measured itself, in the order of `Query.sums`."""

        def made(measurement: Measurement, place: int) -> MeasuredSum:
            noise, scale = measurement.noise, measurement.scale

            def reach(failures: int) -> float:
                return noise.sum_quantile(scale, 1, 1 - (1 - CONFIDENCE) / failures) if scale else 0.0

            return MeasuredSum(self.measured[place], measurement.query.contribution.unit, not scale, reach)

        stated = self.item.strategy.stated(self.item.scale)
        found = [made(measurement, place) for place, measurement in enumerate(stated)]
        kinds = [query.contribution for query in self.item.item.query.sums(self.domain)]
        order = [_place(measurement.query.contribution, kinds) for measurement in stated]
        return tuple(one for _, one in sorted(zip(order, found, strict=True), key=itemgetter(0)))

    def clusters(self) -> tuple[Floats, Floats]:
        """Centres of clusters, the largest first, and about how many records each has."""
        strategy, query = self.item.strategy, self.item.item.query
        assert isinstance(query, KMeans), "only these are clustered"
        table = (*strategy.noisy, *strategy.exact)[0]
        known = (strategy.exact[0], self.measured[1]) if strategy.noisy and strategy.exact else None
        variance = strategy.noise.variance(self.item.scale) if strategy.noisy else 0.0
        return centres_of(query, self.domain, table, self.measured[0], variance, known)


def _place(measured: Contribution, asked: Sequence[Contribution]) -> int:
    """Which of the sums that a question asks was measured. It asks about one condition at most."""
    condition = isinstance(measured, Table)
    found = (n for n, one in enumerate(asked) if one == measured or (condition and isinstance(one, Table)))
    return next(found, len(asked))
