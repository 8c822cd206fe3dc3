"""The mechanisms there are, each under its word in documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tetraodon.errors import ReleaseError
from tetraodon.mechanism.adaptive_partition import ADAPTIVE_PARTITION
from tetraodon.mechanism.aim import AIM
from tetraodon.mechanism.edge_noise import BRANCHES, EDGES
from tetraodon.mechanism.grid import GRID
from tetraodon.mechanism.hierarchical import HIERARCHICAL
from tetraodon.mechanism.kmeans import SYNOPSIS
from tetraodon.mechanism.local_log_noise import LEVELS, LOCAL_LOG_NOISE
from tetraodon.mechanism.marginals import MARGINS
from tetraodon.mechanism.one_scale import DIRECT, EXACT, IDENTITY, ORDERED
from tetraodon.mechanism.ranks import RANKS
from tetraodon.mechanism.strategy import Mechanism, Strategy, policy_among
from tetraodon.mechanism.strategy_optimiser import WEIGHTED
from tetraodon.policy.policy import Policy
from tetraodon.query.query import Query
from tetraodon.query.records_where import RecordsWhere

MECHANISMS: dict[str, Mechanism] = {
    one.name: one
    for one in (
        EXACT,
        IDENTITY,
        ORDERED,
        BRANCHES,
        HIERARCHICAL,
        WEIGHTED,
        DIRECT,
        GRID,
        EDGES,
        RANKS,
        LOCAL_LOG_NOISE,
        LEVELS,
        ADAPTIVE_PARTITION,
        SYNOPSIS,
        AIM,
        MARGINS,
    )
}
"""In the order in which they are asked; of equally good proposals the first is taken."""


def mechanism_named(name: object) -> Mechanism:
    """The mechanism that a document names. Raises ReleaseError where there is none."""
    found = MECHANISMS.get(name) if isinstance(name, str) else None
    if found is None:
        raise ReleaseError(
            "release.json does not describe a release that we know: its mechanism is not ours",
            fix="upgrade tetraodon, or add the mechanism that made it",
        )
    return found


def proposals(
    query: Query, policy: Policy, *, usual: bool = False, among: RecordsWhere | None = None
) -> Iterator[Strategy]:
    """Strategies that could answer a query under a policy, none of them certified yet; only `usual` ones, if asked.

    With `among`, the query is about these records.
    """
    asked = policy if among is None else policy_among(among, policy)
    for mechanism in tuple(MECHANISMS.values()):
        if mechanism.usual or not usual:
            for strategy in mechanism.proposals(query, asked):
                yield replace(strategy, among=among)
