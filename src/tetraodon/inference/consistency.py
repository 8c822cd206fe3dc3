"""Tables that share a margin agree on it: averages weighted by precision, from the coarsest margin to the finest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tetraodon.domain import Domain
from tetraodon.inference.margin import Margin
from tetraodon.inference.meeting import CLOSE, EstimatedTable, Meeting, settle


def shared_margins(tables: Sequence[EstimatedTable], domain: Domain) -> list[Margin]:
    """Every margin that two or more tables share, closed under meeting, coarsest first."""
    whole = [Margin.of(table.splits) for table in tables]
    found = {a.meet(b) for i, a in enumerate(whole) for b in whole[:i]}
    while True:
        more = {a.meet(b) for a in found for b in found} - found
        if not more:
            break
        found |= more
    return sorted(found, key=lambda margin: (margin.cells(domain), repr(margin.groups)))


def agree(tables: Sequence[EstimatedTable], domain: Domain) -> None:
    """Change the tables, as little as their precision allows, so that they agree on every shared margin.

    Pre   exact tables are of the same data.
    Why   agreeing on one margin is an orthogonal projection in the metric of the precisions: a weighted average,
          spread evenly behind each of its cells. For splits by value, going from coarse to fine, one round does
          it: a change at one margin adds up to nothing on another whose common part agrees already. Bins that
          overlap crosswise need more rounds, and projections taken in turn converge.
    """
    steps = []
    for margin in shared_margins(tables, domain):
        members = [t for t in tables if Margin.of(t.splits).meet(margin) == margin]
        if len(members) > 1 and any(t.variance > 0 for t in members):
            steps.append(Meeting(members, [margin.places(t.splits, domain) for t in members], margin.cells(domain)))
    settle(steps)


def follow(table: EstimatedTable, leaders: Sequence[EstimatedTable], domain: Domain) -> bool:
    """Change one table so that it agrees with others; whether it could, since no table may agree with all of them."""
    return settle(_to_follow(table, leaders, domain))


def agrees(table: EstimatedTable, leaders: Sequence[EstimatedTable], domain: Domain) -> bool:
    """Whether a table agrees with others as it is."""
    copy = EstimatedTable(table.splits, table.values, table.variance)
    return all(meeting.project() < CLOSE for meeting in _to_follow(copy, leaders, domain))


def _to_follow(table: EstimatedTable, leaders: Sequence[EstimatedTable], domain: Domain) -> list[Meeting]:
    """Where one table meets the first of the others that know a margin, which stay as they are."""
    meetings = []
    for margin in shared_margins([table, *leaders], domain):
        leader = next((t for t in leaders if Margin.of(t.splits).meet(margin) == margin), None)
        if leader is not None and Margin.of(table.splits).meet(margin) == margin:
            cells = margin.cells(domain)
            fixed = EstimatedTable((), leader.totals(margin.places(leader.splits, domain), cells), 0.0)
            meetings.append(Meeting([fixed, table], [np.arange(cells), margin.places(table.splits, domain)], cells))
    return meetings
