"""The mechanisms there are, each under its word in documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tetraodon.errors import ReleaseError
from tetraodon.mechanism.branches import BRANCHES
from tetraodon.mechanism.chosen_tables import CHOSEN
from tetraodon.mechanism.direct import DIRECT
from tetraodon.mechanism.disguise import DISGUISE
from tetraodon.mechanism.divided import DIVIDED
from tetraodon.mechanism.edges import EDGES
from tetraodon.mechanism.exact import EXACT
from tetraodon.mechanism.grid import GRID
from tetraodon.mechanism.hierarchical import HIERARCHICAL
from tetraodon.mechanism.identity import IDENTITY
from tetraodon.mechanism.kmeans import SYNOPSIS
from tetraodon.mechanism.levels import LEVELS
from tetraodon.mechanism.margins import MARGINS
from tetraodon.mechanism.ordered import ORDERED
from tetraodon.mechanism.policy_among import policy_among
from tetraodon.mechanism.ranks import RANKS
from tetraodon.mechanism.strategy import Mechanism, Strategy
from tetraodon.mechanism.weighted import WEIGHTED
from tetraodon.policy.policy import Policy
from tetraodon.questions.query import Query
from tetraodon.workload.records_where import RecordsWhere

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
        DISGUISE,
        LEVELS,
        DIVIDED,
        SYNOPSIS,
        CHOSEN,
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
            for strategy in mechanism.propose(query, asked):
                yield replace(strategy, among=among)
