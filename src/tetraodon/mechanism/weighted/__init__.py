"""Single values of one attribute, and weighted sums of them that are searched for what is asked.

Single values are measured, and besides them a few weighted sums of values, found by descent: the p-identity strategies
of matrix mechanisms, but for a policy. The search only proposes: weights are rounded to rationals, the kernel
certifies them, and the planner takes them where they are better than all else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from tetraodon.arrays import Floats
from tetraodon.certificate.kernel import sensitivity_of
from tetraodon.mechanism.hierarchical import Hierarchical
from tetraodon.mechanism.hierarchical.intervals import fit_of
from tetraodon.mechanism.hierarchical.shape_search import best_shape
from tetraodon.mechanism.hierarchical.written_out import WrittenOutFit
from tetraodon.mechanism.strategy import Measured, Scaled, Strategy
from tetraodon.mechanism.weighted.column_search import best_rows, bumps
from tetraodon.policy.attribute_graph import AttributeGraph, Everything, Within
from tetraodon.policy.policy import Policy
from tetraodon.questions.query import EveryRange, ListedRanges, Query, RunningCounts
from tetraodon.workload.contribution import One, WeightedSums
from tetraodon.workload.linear import LinearQuery
from tetraodon.workload.smooth import Hats, Ramps

LONGEST = 256
"""Values of an attribute for which sums are searched: a fifth of a second."""
FEWEST = 8
MANY_STEPS = 12
"""An attribute this many times longer than a step, with known totals, is cut by running sums into pieces that are
alike; what a search gained there was below one percent."""
GRAIN = 1000
"""Found weights are rounded to multiples of 1 / GRAIN."""
Sought: TypeAlias = RunningCounts | EveryRange | ListedRanges


@dataclass(frozen=True)
class Weighted(Hierarchical):
    """Noise on single values, the first query, and on weighted sums of them; least squares is written out."""

    name = "weighted"
    words = "noise on counts and weighted sums"
    usual = False

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        """Sums along the last attribute of a table, for steps along it alone, or for steps to anywhere.

        Why   where counts are known, or some noise is Gaussian, what is searched for is not what the kernel counts.
        """
        reading, graph = query.reading(policy.domain), policy.graph
        if not isinstance(reading, Sought) or graph.known or graph.groups or policy.rho is not None:
            return
        *by, last = table = query.table(policy.domain)
        attribute, along = policy.domain[last.name], graph.factor_of(last.name)
        if not attribute.ordered or last.bins is not None or not FEWEST <= attribute.size <= LONGEST:
            return
        if not isinstance(along.graph, AttributeGraph):
            return
        totals = LinearQuery(One(), tuple(by))
        known = policy.size_is_public and sensitivity_of(graph, totals).value == 0
        if known and not isinstance(along.graph, Everything | Within):
            return  # totals of its parts are exact, and single values use them
        if known and isinstance(along.graph, Within) and attribute.size > MANY_STEPS * along.graph.reach:
            return
        steps = (along.graph,) if known else (along.graph, Everything(attribute.size))
        for one in dict.fromkeys(step for step in steps if step.edge_count):
            sums = searched_sums(last.name, one, reading, known)
            if sums is not None:
                noisy = (LinearQuery(One(), table), LinearQuery(sums, tuple(by)))
                yield Strategy(self, noisy, (totals,) if known else (), table, (Fraction(1), Fraction(GRAIN)))

    def sentence(self, at: Scaled, noise: str, size: str) -> str:
        return (
            f"{noise} was added to the count of each value of {at.strategy.table[-1].name}{size}, and noise "
            f"of its own to {at.strategy.noisy[1].contribution.rows} weighted sums of them, made for what is asked; "
            f"least squares put them together, so that long ranges do not add up the noise of single values."
        )

    def fit(self, at: Scaled, measured: Measured) -> Floats:
        """The table that fits single values and weighted sums together best."""
        fit, unit = fit_of(at), float(at.strategy.noisy[1].contribution.unit)
        assert isinstance(fit, WrittenOutFit)
        cells, sums, *exact = (array.astype(np.float64).reshape(-1, array.shape[-1]) for array in measured)
        cells = cells.reshape(-1, fit.size)
        found = fit.counts(np.concatenate([cells, sums * unit], axis=1), exact[0][:, 0] if exact else None)
        return found.reshape(measured[0].shape[:-1])


WEIGHTED = Weighted()


@lru_cache(maxsize=64)
def searched_sums(name: str, graph: AttributeGraph, reading: Sought, known: bool) -> WeightedSums | None:
    """Sums of the values of one attribute beside single values; None where none are worth it.

    Post  the same object for the same question, so that plans agree.
    """
    rows = best_rows(gram_of(reading, graph.size), graph, _first(graph, known), known=known)
    whole = None if rows is None else np.round(rows * GRAIN).astype(np.int64)
    if whole is None or not whole.any():
        return None
    return WeightedSums((name,), whole[whole.any(axis=1)], Fraction(1, GRAIN))


def gram_of(reading: Sought, size: int) -> Floats:
    """W'W for what is asked of the values of an attribute: for every pair, how many answers hold both."""
    codes = np.arange(size)
    low, high = np.minimum.outer(codes, codes), np.maximum.outer(codes, codes)
    match reading:
        case RunningCounts():
            return np.asarray(size - high, np.float64)
        case EveryRange():
            return np.asarray((low + 1.0) * (size - high))
        case ListedRanges(ends):
            rows = np.array([(a <= codes) & (codes <= b) for a, b in ends], np.float64)
            return np.asarray(rows.T @ rows)


def _first(graph: AttributeGraph, known: bool) -> Floats:
    """Where the search starts: smoothed counts in multiples of the noise on single values, or broad bumps."""
    size = graph.size
    reach = min(graph.reach, size - 1) if isinstance(graph, Within) else size - 1
    shape = best_shape(size, reach)
    if shape is None or (shape.running and not known):
        return bumps(size)
    leaves, bins, running = shape.scales(reach)
    rows = [
        kind("", size, width).columns() * (leaves / (scale * width))
        for kind, scales in ((Hats, bins), (Ramps, running))
        for width, scale in scales.items()
    ]
    return np.concatenate(rows)
