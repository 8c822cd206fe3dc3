"""Totals of a table that everybody knows already, or that no secret changes: they cost nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tetraodon.certificate.kernel import sensitivity_of
from tetraodon.errors import Refused
from tetraodon.inference.consistency import Margin, common_coarsening
from tetraodon.policy.attribute_graph import Everything, Public, Within
from tetraodon.policy.joint_graph import JointGraph
from tetraodon.policy.known import known_query
from tetraodon.policy.policy import Policy
from tetraodon.questions import Histogram
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import LinearQuery, Split

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
