"""Totals that everybody knows already: repeating them costs nothing, and released tables agree with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tetraodon.inference.margin import Margin
from tetraodon.policy.known import known_query
from tetraodon.policy.policy import Policy
from tetraodon.questions import Histogram
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import LinearQuery, Split


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
