"""Ways to answer a question: what is measured with noise, what is measured exactly, what comes out.

A strategy proposes; only the certifying kernel decides what it costs. New mechanisms are added here: write a
function that proposes strategies for a query, list it in `PROPOSERS`, and give `expected_error` its error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
from tetraodon.questions.query import Cells, EveryRectangle, Query
from tetraodon.workload.contribution import One, Prefix
from tetraodon.workload.linear import LinearQuery, Measurement, Split

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
    table = query.table(policy.domain)
    if table:
        yield Strategy("identity", (LinearQuery(One(), table),), free_totals(table, policy), table)


def _ordered(query: Query, policy: Policy) -> Iterator[Strategy]:
    table = query.table(policy.domain)
    # the order of what a histogram names means nothing; `by` comes before what is asked
    anywhere = isinstance(query.reading(policy.domain), Cells | EveryRectangle) and not query.by
    for position, split in enumerate(table):
        attribute = policy.domain[split.name]
        wanted = anywhere or position == len(table) - 1
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
    """Noise on the sums that the answer is computed from. The last of them that no secret changes are told exactly."""
    sums = query.sums(policy.domain)
    if sums:
        noisy = list(sums)
        while len(noisy) > 1 and policy.size_is_public and sensitivity_of(policy.graph, noisy[-1]).value == 0:
            noisy.pop()
        yield Strategy("direct", tuple(noisy), sums[len(noisy) :], weights=_equal_costs(noisy, policy))


def _hierarchical(query: Query, policy: Policy) -> Iterator[Strategy]:
    from tetraodon.mechanism.hierarchical import propose  # it builds on strategies

    yield from propose(query, policy)


def _grid(query: Query, policy: Policy) -> Iterator[Strategy]:
    from tetraodon.mechanism.grid import propose

    yield from propose(query, policy)


def _synopsis(query: Query, policy: Policy) -> Iterator[Strategy]:
    from tetraodon.mechanism.kmeans import propose

    yield from propose(query, policy)


def _equal_costs(sums: Sequence[LinearQuery], policy: Policy) -> tuple[Fraction, ...]:
    """How much less noise the other sums need than the first: each is to cost as much as the first.

    Why   the error of S / C is about (error of S - mean * error of C) / C, and the mean is as large as what one
          record moves the sum by.
    """
    if len(sums) == 1:
        return ()
    first, *others = (
        Fraction(certify_measurements(policy.graph, [Measurement(query, Fraction(1))]).epsilon) for query in sums
    )
    return (Fraction(1), *(cost / first if first and cost else Fraction(1) for cost in others))


PROPOSERS: tuple[Callable[[Query, Policy], Iterator[Strategy]], ...] = (
    _identity,
    _ordered,
    _hierarchical,
    _direct,
    _grid,
    _synopsis,
)


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
