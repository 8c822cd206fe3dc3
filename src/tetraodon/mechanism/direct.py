"""Noise on the answers themselves, no noise where sensitivity is zero, and totals that are free."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tetraodon.certificate.kernel import certify_measurements, sensitivity_of
from tetraodon.domain import Attribute, Domain
from tetraodon.errors import Refused
from tetraodon.exact.arrays import Bools, Floats
from tetraodon.inference.consistency import Margin, common_coarsening
from tetraodon.mechanism.strategy import Ends, Measured, Mechanism, OneScale, Scaled, Strategy
from tetraodon.policy.attribute_graph import Everything, Public, Within
from tetraodon.policy.joint_graph import JointGraph
from tetraodon.policy.known import known_query
from tetraodon.policy.policy import Policy
from tetraodon.query.contribution import Answerers, EachPerson, One
from tetraodon.query.kinds import Histogram
from tetraodon.query.linear import LinearQuery, Measurement, Split
from tetraodon.query.number import Number
from tetraodon.query.query import Query

# -- direct -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Direct(OneScale):
    """Counts, sums and named ranges; a mean is a sum and a count."""

    name = "direct"
    words = "noise on the answer"
    tells_answers = True

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        """Of several sums those that no secret changes are told exactly, unless none would be left."""
        sums = query.sums(policy.domain)
        if sums:
            able = len(sums) > 1 and policy.size_is_public
            exact = tuple(one for one in sums if able and sensitivity_of(policy.graph, one).value == 0)
            noisy = tuple(one for one in sums if one not in exact)
            if not noisy:
                noisy, exact = sums, ()
            yield Strategy(self, noisy, exact, weights=_equal_costs(noisy, policy))

    def variance_factor(self, query: Query, strategy: Strategy, domain: Domain) -> float:
        return 1.0

    def most_terms(self, query: Query, at: Scaled) -> int:
        return 1

    @staticmethod
    def measured(at: Scaled) -> list[str]:
        """What gets noise, in words."""
        return [_called(query) for query in at.strategy.noisy]


DIRECT = Direct()


def _called(query: LinearQuery) -> str:
    match query.contribution:
        case One():
            return "the number of records"
        case Answerers((name,)):
            return f"the number of those whose {name} is not missing"
        case Number(attribute=attribute, times=Attribute() as times):
            return f"the sum of products of {attribute.name} and {times.name}"
        case Number(attribute=attribute, squared=squared):
            return f"the sum of {'squares of ' if squared else ''}{attribute.name}"
        case EachPerson(attribute=None):
            return "the number of people"
        case EachPerson(attribute=Attribute() as attribute):
            return f"the sum of what people have of {attribute.name}"
        case _:
            return "the answer itself"


def _equal_costs(sums: Sequence[LinearQuery], policy: Policy) -> tuple[Fraction, ...]:
    """How much less noise the other sums need than the first: each is to cost as much as the first.

    Why   the error of S / C is about (error of S - mean * error of C) / C, and the mean is as large as what one
          record moves the sum by.
    """
    if len(sums) == 1:
        return ()
    each = policy.rows_per_person
    first, *others = (
        Fraction(certify_measurements(policy.graph, [Measurement(query, Fraction(1))], rows_per_person=each).epsilon)
        for query in sums
    )
    return (Fraction(1), *(cost / first if first and cost else Fraction(1) for cost in others))


# -- exact ------------------------------------------------------------------------------------------
# No noise: the policy lets the answer be told as it is, since its sensitivity is zero ([HMD14] section 5).


@dataclass(frozen=True)
class Exact(Mechanism):
    """What the kernel finds that nothing moves; nobody proposes it."""

    name = "exact"
    words = "exact, no noise"
    tells_answers = True

    def of(self, strategy: Strategy) -> Strategy:
        """A strategy without its noise."""
        return Strategy(self, (), (*strategy.noisy, *strategy.exact), strategy.table, among=strategy.among)

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        yield from ()

    def expected_error(self, query: Query, at: Scaled) -> float:
        return 0.0

    def largest_error(self, query: Query, at: Scaled, confidence: Fraction) -> float:
        return 0.0

    def fit(self, at: Scaled, measured: Measured) -> Floats:
        if at.strategy.exact[0] != LinearQuery(One(), at.strategy.table):
            raise self.no_table()
        return measured[0][..., 0].astype(np.float64)

    def reach(self, at: Scaled, mask: Bools, confidence: Fraction) -> float:
        return 0.0

    def box_reach(self, at: Scaled, low: Ends, high: Ends, confidence: Fraction) -> Floats:
        return np.zeros(np.broadcast_shapes(*(ends.shape for ends in (*low, *high))))


EXACT = Exact()


# -- free totals ------------------------------------------------------------------------------------
# Totals of a table that everybody knows already, or that no secret changes: they cost nothing.

COMPONENT_LIMIT = 5_000_000


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
            case Everything() | Within() | JointGraph():
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


def known_totals(table: Sequence[Split], policy: Policy) -> tuple[LinearQuery, ...]:
    """What the known tables say about a table: each added up over its other attributes, and to groups of its bins.

    Post  every one is a margin of the table: known bins that cross those of the table are joined.
    Why   neighbours agree on everything that is known, so the certificate finds that these do not move.
    """
    whole = Margin.of(table)
    found = [known_query(entry, policy.domain).by for entry in policy.known if isinstance(entry.fact, Histogram)]
    margins = dict.fromkeys(whole.meet(Margin.of(by)) for by in found)
    return tuple(LinearQuery(One(), _splits(dict(margin.groups), table)) for margin in margins)


def _splits(groups: Mapping[str, tuple[int, ...] | None], table: Sequence[Split]) -> tuple[Split, ...]:
    """A margin of a table as splits, in the order of the table, and as there where it is as fine."""
    kept = [split for split in table if split.name in groups]
    return tuple(s if groups[s.name] in (None, s.bins) else Split(s.name, groups[s.name]) for s in kept)
