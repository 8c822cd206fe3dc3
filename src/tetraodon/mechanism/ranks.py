"""Quantiles as values that are chosen by their ranks ([GJK21]): no counts are told, and no noise is added to any."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from tetraodon.certificate.kernel import sensitivity_of
from tetraodon.exact.arrays import Ints
from tetraodon.inference.estimate import CONFIDENCE
from tetraodon.mechanism.strategy import Measured, Mechanism, Scaled, Strategy, contribution_of
from tetraodon.noise.joint_exponential import MOST_RECORDS, rank_reach, usual_error
from tetraodon.noise.sparse_sampling import MOST_VALUES
from tetraodon.policy.policy import Policy
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, Measurement
from tetraodon.query.query import MeasuredSum, Query, RunningCounts
from tetraodon.query.ranks import MOST_SHARES, Ranks


@dataclass(frozen=True)
class ByRank(Mechanism):
    """A value's rank moves by one where a record moves past it, however many values there are."""

    name = "ranks"
    answers = (RunningCounts,)
    words = "values chosen by their ranks"
    tells_answers = True
    adds_noise = False

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        reading = query.reading(policy.domain)
        shares = reading.shares if isinstance(reading, RunningCounts) else ()
        *by_splits, split = query.table(policy.domain)
        attribute, by = policy.domain[split.name], tuple(by_splits)
        if not 1 <= len(shares) <= MOST_SHARES or attribute.size > MOST_VALUES or policy.known:
            return
        totals = LinearQuery(One(), by)
        known = policy.size_is_public and sensitivity_of(policy.graph, totals).value == 0
        yield Strategy(self, (LinearQuery(Ranks(attribute.name, attribute.size, shares), by),), (totals,) * known)

    def expected_error(self, query: Query, at: Scaled) -> float:
        """In records, where they lie evenly among the values near a quantile; `largest_error` holds for any data.

        Why   a cut lies between two records, so that one of the two is meant; that is off by half a record, squared.
        """
        return math.hypot(usual_error(len(at.contribution(Ranks).shares)) * float(at.scale), math.sqrt(1 / 2))

    def largest_error(self, query: Query, at: Scaled, confidence: Fraction) -> float:
        ranks = at.contribution(Ranks)
        return rank_reach(len(ranks.shares), ranks.size, at.scale, confidence)

    def measured_sum(self, measurement: Measurement, numbers: Ints, exact: Measured) -> MeasuredSum:
        """The values; how far their ranks are off is proved for as many records as `MOST_RECORDS`."""
        ranks, many = contribution_of(measurement.query, Ranks), any(int(array.sum()) > MOST_RECORDS for array in exact)
        off = math.inf if many else rank_reach(len(ranks.shares), ranks.size, measurement.scale, CONFIDENCE)
        return MeasuredSum(numbers, ranks.unit, False, lambda _: off)


RANKS = ByRank()
