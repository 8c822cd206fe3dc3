"""Ways to answer a question: what is measured with noise, what is measured exactly, what comes out.

A strategy proposes; only the certifying kernel decides what it costs. New mechanisms are added here: write a
function that proposes strategies for a query, list it in `PROPOSERS`, and give `expected_error` its error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

import numpy as np

from tetraodon.certificate.kernel import certify_measurements, sensitivity_of
from tetraodon.errors import QueryError, Refused
from tetraodon.inference.margin import common_coarsening
from tetraodon.mechanism.known_totals import known_totals
from tetraodon.noise.laws import LAPLACE, NoiseLaw
from tetraodon.policy.attribute_graph import Everything, Public, Within
from tetraodon.policy.joint_metric import JointMetric
from tetraodon.policy.policy import Policy
from tetraodon.workload.areas import KMeans, Rectangles
from tetraodon.workload.contribution import One, Prefix
from tetraodon.workload.linear import LinearQuery, Measurement, Split
from tetraodon.workload.query import Cdf, Count, Histogram, Mean, Quantiles, Query, Ranges, Total, divisor, linear

Mechanism: TypeAlias = Literal["exact", "identity", "ordered", "hierarchical", "direct", "grid", "synopsis"]
COMPONENT_LIMIT = 5_000_000


@dataclass(frozen=True)
class Strategy:
    """What is measured. `noisy` queries get noise of one common scale, times their `weights`; `exact` ones none.

    exact     the policy lets the answer be told as it is: its sensitivity is zero ([HMD14] section 5).
    identity  noise on every cell of a table ([HMD14] Thm 5.1).
    ordered   noise on the running counts of the table's last attribute ([HMD14] section 7.1).
    hierarchical
              noise on single values, the first query, and on smoothed counts of several widths.
    direct    noise on the very answers that were asked for.
    grid      noise on the cells of a map and on smoothed counts of larger cells.
    synopsis  noise on a table of soft bins, to be clustered.
    """

    mechanism: Mechanism
    noisy: tuple[LinearQuery, ...]
    exact: tuple[LinearQuery, ...] = ()
    table: tuple[Split, ...] = ()
    weights: tuple[Fraction, ...] = ()
    """Noise of each noisy query in multiples of the common scale; none given means that all are one."""
    noise: NoiseLaw = LAPLACE

    def __post_init__(self) -> None:
        if self.mechanism not in get_args(Mechanism):
            raise QueryError(f"nobody can read what {self.mechanism!r} measures", fix="name it in `Mechanism` first")
        if self.weights and (len(self.weights) != len(self.noisy) or min(self.weights) <= 0):
            raise QueryError("a strategy has not one positive weight for each noisy query", fix="give one for each")

    def made_exact(self) -> Strategy:
        """The same without noise, for where the kernel finds that nothing moves."""
        return Strategy("exact", (), (*self.noisy, *self.exact), self.table)

    def measurements(self, scale: Fraction) -> tuple[Measurement, ...]:
        """Everything that is measured, at a given scale of noise."""
        weights = self.weights or (Fraction(1),) * len(self.noisy)
        noisy = (Measurement(q, scale * weight, self.noise) for q, weight in zip(self.noisy, weights, strict=True))
        return (*noisy, *(Measurement(q, Fraction(0)) for q in self.exact))


def proposals(query: Query, policy: Policy) -> Iterator[Strategy]:
    """Strategies that could answer a query under a policy, none of them certified yet."""
    for propose in PROPOSERS:
        yield from propose(query, policy)


def _identity(query: Query, policy: Policy) -> Iterator[Strategy]:
    table = _table(query, policy)
    if table:
        yield Strategy("identity", (LinearQuery(One(), table),), free_totals(table, policy), table)


def _ordered(query: Query, policy: Policy) -> Iterator[Strategy]:
    table = _table(query, policy)
    for position, split in enumerate(table):
        attribute = policy.domain[split.name]
        wanted = isinstance(query, Histogram | Rectangles) or position == len(table) - 1
        if not wanted or split.bins is not None or not attribute.ordered or attribute.size < 2:
            continue
        by = (*table[:position], *table[position + 1 :])
        totals = LinearQuery(One(), by)
        running = LinearQuery(Prefix(attribute.name, attribute.size, attribute.size - 1), by)
        known = policy.size_is_public and sensitivity_of(policy.graph, totals).value == 0
        free = free_totals(table, policy)
        if known:
            exact = (totals, *(query for query in free if query != totals))
            yield Strategy("ordered", (running,), exact, (*by, split))
        else:
            yield Strategy("ordered", (running, totals), free, (*by, split))


def _direct(query: Query, policy: Policy) -> Iterator[Strategy]:
    match query:
        case Count() | Total():
            yield Strategy("direct", (linear(query, policy.domain),))
        case Ranges() if query.named:
            yield Strategy("direct", (linear(query, policy.domain),))
        case Mean():
            counts = divisor(query, policy.domain)
            known = policy.size_is_public and sensitivity_of(policy.graph, counts).value == 0
            summed = linear(query, policy.domain)
            if known:
                yield Strategy("direct", (summed,), (counts,))
            else:
                yield Strategy("direct", (summed, counts), weights=(Fraction(1), _count_to_sum(counts, summed, policy)))
        case _:
            return


def _hierarchical(query: Query, policy: Policy) -> Iterator[Strategy]:
    from tetraodon.mechanism.hierarchical import propose  # it builds on strategies

    yield from propose(query, policy)


def _grid(query: Query, policy: Policy) -> Iterator[Strategy]:
    from tetraodon.mechanism.grid import propose

    yield from propose(query, policy)


def _synopsis(query: Query, policy: Policy) -> Iterator[Strategy]:
    from tetraodon.mechanism.kmeans import propose

    yield from propose(query, policy)


def _count_to_sum(counts: LinearQuery, summed: LinearQuery, policy: Policy) -> Fraction:
    """How much less noise the count of a mean needs than its sum: each is to cost as much as the other.

    Why   the error of S / C is about (error of S - mean * error of C) / C, and the mean is as large as what one
          record moves the sum by.
    """
    costs = [
        Fraction(certify_measurements(policy.graph, [Measurement(query, Fraction(1))]).epsilon)
        for query in (counts, summed)
    ]
    return costs[0] / costs[1] if all(costs) else Fraction(1)


PROPOSERS: tuple[Callable[[Query, Policy], Iterator[Strategy]], ...] = (
    _identity,
    _ordered,
    _hierarchical,
    _direct,
    _grid,
    _synopsis,
)


def _table(query: Query, policy: Policy) -> tuple[Split, ...]:
    """Axes of the table of counts that a query can be read from; none for sums and conditions."""
    match query:
        case Histogram() | Rectangles():
            return linear(query, policy.domain).by
        case Cdf() | Quantiles() | Ranges():
            return (*(Split(name) for name in query.by), Split(query.attribute))
        case Count() if query.by and not query.where:
            return tuple(Split(name) for name in query.by)
        case Count() | Total() | Mean() | KMeans():
            return ()


def free_totals(table: tuple[Split, ...], policy: Policy) -> tuple[LinearQuery, ...]:
    """Totals over these attributes that may be told exactly: no secret changes them, or everybody knows them.

    Why   once a count is known, neighbours differ in several records, and a total that no single secret changes may
          move after all. So with known counts each of them is certified anew.
    """
    free = _totals_of_parts(table, policy)
    if not policy.known:
        return free
    every = dict.fromkeys((*free, *known_totals(table, policy)))
    return tuple(query for query in every if _is_still(query, policy))


def _is_still(query: LinearQuery, policy: Policy) -> bool:
    """Whether an answer is the same for all neighbours; what cannot be priced is taken to move."""
    try:
        return sensitivity_of(policy.graph, query).value == 0
    except Refused:
        return False


def _totals_of_parts(table: tuple[Split, ...], policy: Policy) -> tuple[LinearQuery, ...]:
    """The finest table of totals over these attributes that no secret changes: it is exact, and costs nothing.

    Why   a step never leaves a connected part of the graph, so counts of connected parts do not move. With one
          part, that is the number of records. Nothing is free where somebody may be absent.
    """
    if not policy.size_is_public:
        return ()
    by = []
    for split in table:
        graph = policy.graph.factor_of(split.name).graph
        match graph:
            case Everything() | Within() | JointMetric():
                continue
            case Public():
                by.append(Split(split.name, split.bins, split.labels))
            case _ if graph.size <= COMPONENT_LIMIT:
                parts = np.unique(graph.components(), return_inverse=True)[1]
                merged = common_coarsening(parts.tolist(), split.bins)
                if max(merged) > 0:
                    by.append(Split(split.name, tuple(merged)))
            case _:
                continue
    return (LinearQuery(One(), tuple(by)),)
