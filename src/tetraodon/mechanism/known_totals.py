"""Totals that everybody knows already: repeating them costs nothing, and released tables agree with them."""

from __future__ import annotations

from collections.abc import Sequence

from tetraodon.policy.known import known_query
from tetraodon.policy.policy import Policy
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import LinearQuery, Split
from tetraodon.workload.query import Histogram


def known_totals(table: Sequence[Split], policy: Policy) -> tuple[LinearQuery, ...]:
    """What the known tables say about the attributes of a table: each added up over its other attributes.

    Why  neighbours agree on everything that is known, so the certificate finds that these do not move.
    """
    names = {split.name for split in table}
    found = [known_query(entry, policy.domain).by for entry in policy.known if isinstance(entry.fact, Histogram)]
    kept = [tuple(split for split in by if split.name in names) for by in found]
    return tuple(LinearQuery(One(), by) for by in dict.fromkeys(kept))
