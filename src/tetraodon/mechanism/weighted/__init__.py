"""Single values of one attribute, and weighted sums of them that are searched for what is asked.

Single values are measured, each with a weight of its own, and besides them a few weighted sums of values, found by
descent: the p-identity strategies of matrix mechanisms, but for a policy. The search only proposes: weights are rounded
to rationals, the kernel certifies them, and the planner takes them where they are better than all else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tetraodon.arrays import Floats
from tetraodon.certificate.kernel import sensitivity_of
from tetraodon.mechanism.hierarchical import Hierarchical
from tetraodon.mechanism.hierarchical.banded import BandedFit
from tetraodon.mechanism.hierarchical.intervals import fit_of
from tetraodon.mechanism.hierarchical.running_fit import RunningFit
from tetraodon.mechanism.hierarchical.shape_search import best_shape
from tetraodon.mechanism.hierarchical.written_out import WrittenOutFit
from tetraodon.mechanism.strategy import Measured, Scaled, Strategy
from tetraodon.mechanism.weighted.asked_pairs import AskedPairs, Sought
from tetraodon.mechanism.weighted.column_search import best_rows, bumps
from tetraodon.mechanism.weighted.dual_search import best_sums
from tetraodon.mechanism.weighted.running_search import running_sums
from tetraodon.noise.laws import GAUSSIAN, LAPLACE, NoiseLaw
from tetraodon.policy.attribute_graph import AttributeGraph, Everything, Public, Within
from tetraodon.policy.policy import Policy
from tetraodon.questions.query import Query
from tetraodon.workload.contribution import One, WeightedSums
from tetraodon.workload.linear import LinearQuery
from tetraodon.workload.smooth import Hats, Ramps
from tetraodon.workload.smooth_running import SmoothRunning
from tetraodon.workload.smooth_sums import SmoothSums

LONGEST = 1024
"""Values of an attribute for which sums are searched: some seconds."""
LONGEST_SQUARES = 4096
"""The same for Gaussian noise."""
SHORT = 256
"""The same where steps are listed, or the total is known, since there smoothed counts are as good."""
FEWEST = 8
MANY_STEPS = 12
"""An attribute this many times longer than a step, with known totals, is cut by running sums into pieces that are
alike; what a search gained there was below one percent."""
LONGEST_RUNNING, LONGEST_STEP = 2**16, 256
"""Values, and steps, for which running sums are searched with Gaussian noise."""
ENOUGH_STEPS, ALL_ALIKE = 8, 24
"""How many times longer than a step an attribute is where running sums may be best, and where they are."""
GRAIN = 5000
"""Found weights are rounded to multiples of 1 / GRAIN."""


@dataclass(frozen=True)
class Weighted(Hierarchical):
    """Noise on weighted single values and on weighted sums of them, one query; least squares is written out."""

    name = "weighted"
    words = "noise on counts and weighted sums"
    usual = False

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        """Sums along the last attribute of a table, for steps along it alone, or for steps to anywhere.

        Why   where counts are known, what is searched for is not what the kernel counts.
        """
        reading, graph = query.reading(policy.domain), policy.graph
        if not isinstance(reading, Sought) or graph.known or graph.groups:
            return
        *by, last = table = query.table(policy.domain)
        attribute, along = policy.domain[last.name], graph.factor_of(last.name)
        if (
            not attribute.ordered
            or last.bins is not None
            or not FEWEST <= attribute.size <= (LONGEST_RUNNING if policy.delta else LONGEST)
        ):
            return
        if not isinstance(along.graph, AttributeGraph):
            return
        totals = LinearQuery(One(), tuple(by))
        known = policy.size_is_public and sensitivity_of(graph, totals).value == 0
        if known and not isinstance(along.graph, Everything | Within):
            return  # totals of its parts are exact, and single values use them
        exact = (totals,) if known else ()
        for sums, noise in self._sought(last.name, along.graph, reading, policy, known=known, grouped=bool(by)):
            yield Strategy(self, (LinearQuery(sums, tuple(by)),), exact, table, made_for=noise)

    @staticmethod
    def _sought(
        name: str, graph: AttributeGraph, reading: Sought, policy: Policy, *, known: bool, grouped: bool
    ) -> Iterator[tuple[WeightedSums | SmoothSums | SmoothRunning, NoiseLaw]]:
        """The sums that are found, each with the noise that it is for."""
        far = known and isinstance(graph, Within) and graph.size > MANY_STEPS * graph.reach
        if policy.rho is None and not far and graph.size <= (SHORT if known else LONGEST):
            for steps, total in _searches(graph, known, grouped):
                if (found := searched_sums(name, steps, reading, total)) is not None:
                    yield found, LAPLACE
        times = graph.size // graph.reach if known and isinstance(graph, Within) else 0
        if policy.delta and isinstance(graph, Within) and times >= ENOUGH_STEPS and 1 < graph.reach <= LONGEST_STEP:
            yield running_sums(name, graph.size, graph.reach), GAUSSIAN  # for steps of one these are running counts
        if policy.delta and times < ALL_ALIKE and graph.size <= LONGEST_SQUARES:
            for steps in (graph,) if known else dict.fromkeys((graph, Public(graph.size))):
                if (best := best_sums(name, steps, reading, absent=not known)) is not None:
                    yield best, GAUSSIAN

    def sentence(self, at: Scaled, noise: str, size: str) -> str:
        sums = at.strategy.noisy[0].contribution
        if isinstance(sums, SmoothRunning):
            return (
                f"{noise} was added to the running counts of {at.strategy.table[-1].name}, each with some of those "
                f"around it, weighed as is best for steps this short{size}; least squares took them apart again."
            )
        assert isinstance(sums, WeightedSums | SmoothSums)
        return (
            f"{noise} was added to the weighted count of each value of {at.strategy.table[-1].name}, and to "
            f"{len(sums.sums)} weighted sums of them, made for what is asked{size}; least squares put them together, "
            f"so that long ranges do not add up the noise of single values."
        )

    def fit(self, at: Scaled, measured: Measured) -> Floats:
        """The table that fits single values and weighted sums together best."""
        fit, unit = fit_of(at), float(at.strategy.noisy[0].contribution.unit)
        sums, *exact = (array.astype(np.float64).reshape(-1, array.shape[-1]) for array in measured)
        if isinstance(fit, RunningFit):
            return fit.counts(sums, exact[0][:, 0]).reshape(at.shape)
        assert isinstance(fit, WrittenOutFit | BandedFit)
        given = sums if isinstance(fit, BandedFit) else sums * unit
        return fit.counts(given, exact[0][:, 0] if exact else None).reshape(at.shape)

    def cell_variance(self, at: Scaled) -> float:
        return float(np.mean(fit_of(at).leaves))


WEIGHTED = Weighted()


def _searches(graph: AttributeGraph, known: bool, grouped: bool) -> Iterator[tuple[AttributeGraph, float | None]]:
    """The steps to search for, each with the variance of the total in units of a column, None where it is not measured.

    Why   whoever may be absent may have any value, so that presence alone costs like steps to anywhere. A total besides
          is free unless presence is all that is secret, or steps may lead from one group to another.
    """
    short, anywhere = graph.size <= SHORT, Everything(graph.size)
    if known:
        if short or graph == anywhere:
            yield graph, 0.0
        return
    if short and graph.edge_count and graph != anywhere:
        yield graph, None
    if graph.edge_count and (short or not grouped):
        yield anywhere, 1.0
    if not graph.edge_count or grouped:
        yield anywhere, None


@lru_cache(maxsize=64)
def searched_sums(name: str, graph: AttributeGraph, reading: Sought, total: float | None) -> WeightedSums | None:
    """Single values of one attribute, and sums of them, for Laplace noise; None where no sums are worth it.

    Post  the same object for the same question, so that plans agree. A total with noise is the last sum.
    """
    found = best_rows(AskedPairs(reading, graph.size), graph, _firsts(graph, total), total)
    if found is None:
        return None
    single, rows = (np.round(weights * GRAIN).astype(np.int64) for weights in found)
    rows = rows[rows.any(axis=1)]
    if isinstance(graph, Everything):  # what all columns cost alike, however they were rounded
        single = GRAIN - rows.sum(axis=0)
    if total:
        rows = np.append(rows, np.full((1, graph.size), round(GRAIN / total**0.5)), axis=0)
    return WeightedSums.of(name, np.maximum(single, 1), rows, Fraction(1, GRAIN)) if len(rows) else None


def _firsts(graph: AttributeGraph, total: float | None) -> list[Floats]:
    """Where the search starts: smoothed counts in multiples of the noise on single values, or broad bumps.

    Why   of bumps that overlap and bumps that do not, now the ones and now the others lead to less error.
    """
    size = graph.size
    reach = min(graph.reach, size - 1) if isinstance(graph, Within) else size - 1
    if total is None and isinstance(graph, Everything):
        root = size**0.5
        sharp = bumps(size, (0.6 * root, 3 * root, 8 * root), 0.4, sharp=True)
        return [bumps(size, (0.75 * root, 4 * root), 0.4), sharp]
    shape = best_shape(size, reach)
    if shape is None or (shape.running and total is None):
        return [np.append(bumps(size, (12.0,), 1.0), np.ones((1, size)), axis=0)]
    leaves, bins, running = shape.scales(reach)
    rows = [
        kind("", size, width).columns() * (leaves / (scale * width))
        for kind, scales in ((Hats, bins), (Ramps, running))
        for width, scale in scales.items()
    ]
    return [np.concatenate(rows)]
