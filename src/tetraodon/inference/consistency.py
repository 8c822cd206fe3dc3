"""Tables that share a margin agree on it: averages weighted by precision, from the coarsest margin to the finest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.components import components
from tetraodon.domain import Domain
from tetraodon.inference.meeting import CLOSE, EstimatedTable, Meeting, settle
from tetraodon.workload.linear import Split


def common_coarsening(first: Sequence[int] | None, second: Sequence[int] | None) -> list[int]:
    """Labels of the finest grouping that is coarser than both; None stands for every value apart.

    >>> common_coarsening([0, 0, 1, 2], [0, 1, 1, 2])
    [0, 0, 0, 1]
    """
    if first is None or second is None:
        known = second if first is None else first
        assert known is not None
        return list(np.unique(np.asarray(known), return_inverse=True)[1].tolist())
    firsts: tuple[dict[int, int], dict[int, int]] = ({}, {})
    links = [
        (value, seen.setdefault(group, value))
        for groups, seen in zip((first, second), firsts, strict=True)
        for value, group in enumerate(groups)
    ]
    order: dict[int, int] = {}
    return [order.setdefault(part, len(order)) for part in components(len(first), links)]


@dataclass(frozen=True)
class Margin:
    """Attributes, each with a grouping of its values (None: every value apart)."""

    groups: tuple[tuple[str, tuple[int, ...] | None], ...]

    @classmethod
    def of(cls, table: Sequence[Split]) -> Margin:
        """The whole of a table."""
        return cls(tuple(sorted(((s.name, s.bins) for s in table), key=lambda group: group[0])))

    def meet(self, other: Margin) -> Margin:
        """The finest margin that both can be added up to."""
        theirs = dict(other.groups)
        shared: list[tuple[str, tuple[int, ...] | None]] = []
        for name, mine in self.groups:
            if name in theirs:
                if mine is None and theirs[name] is None:
                    shared.append((name, None))
                else:
                    merged = tuple(common_coarsening(mine, theirs[name]))
                    if max(merged) > 0:
                        shared.append((name, merged))
        return Margin(tuple(shared))

    def shape(self, domain: Domain) -> tuple[int, ...]:
        return tuple(domain[name].size if groups is None else max(groups) + 1 for name, groups in self.groups)

    def cells(self, domain: Domain) -> int:
        """How many cells it has."""
        return math.prod(self.shape(domain))

    def places(self, table: Sequence[Split], domain: Domain) -> Ints:
        """For every cell of a table, row by row, the cell of this margin it adds up into.

        Pre  the margin is not finer than the table.
        """
        mine = dict(self.groups)
        shape = self.shape(domain)
        place = np.zeros([1] * len(table), np.int64)
        for axis, split in enumerate(table):
            if split.name not in mine:
                continue
            groups = mine[split.name]
            size = split.size(domain)
            if groups is None:
                label = np.arange(size)
            else:
                label = np.zeros(size, np.int64)
                label[split.of(np.arange(domain[split.name].size))] = groups
            position = [name for name, _ in self.groups].index(split.name)
            stride = int(np.prod(shape[position + 1 :], dtype=np.int64))
            place = place + stride * label.reshape([-1 if a == axis else 1 for a in range(len(table))])
        full = tuple(split.size(domain) for split in table)
        return np.asarray(np.broadcast_to(place, full).ravel())


def shared_margins(tables: Sequence[EstimatedTable], domain: Domain) -> list[Margin]:
    """Every margin that two or more tables share, closed under meeting, coarsest first."""
    return list(_shared(tuple(Margin.of(table.splits) for table in tables), domain))


@lru_cache(maxsize=64)
def _shared(whole: tuple[Margin, ...], domain: Domain) -> tuple[Margin, ...]:
    """As `shared_margins`, once for every plan: a release of many tables asks again and again."""
    found = {a.meet(b) for i, a in enumerate(whole) for b in whole[:i]}
    while True:
        more = {a.meet(b) for a in found for b in found} - found
        if not more:
            break
        found |= more
    return tuple(sorted(found, key=lambda margin: (margin.cells(domain), repr(margin.groups))))


def agree(tables: Sequence[EstimatedTable], domain: Domain) -> None:
    """Change the tables, as little as their precision allows, so that they agree on every shared margin.

    Pre   exact tables are of the same data; all have as many numbers in a cell.
    Why   agreeing on one margin is an orthogonal projection in the metric of the precisions: a weighted average,
          spread evenly behind each of its cells. For splits by value, going from coarse to fine, one round does
          it: a change at one margin adds up to nothing on another whose common part agrees already. Bins that
          overlap crosswise need more rounds, and projections taken in turn converge.
    """
    settle(meetings(tables, domain))


def meetings(tables: Sequence[EstimatedTable], domain: Domain) -> list[Meeting]:
    """Where tables meet, from the coarsest margin to the finest."""
    found = []
    for margin in shared_margins(tables, domain):
        members = [t for t in tables if Margin.of(t.splits).meet(margin) == margin]
        if len(members) > 1 and any(t.variance > 0 for t in members):
            rows = members[0].rows
            places = [margin.places(t.splits, domain)[:, None] * rows + np.arange(rows) for t in members]
            found.append(Meeting(members, [place.ravel() for place in places], margin.cells(domain) * rows))
    return found


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
