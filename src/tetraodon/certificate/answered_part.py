"""The loss of questions that are all about the same part of the records, looked at over that part.

To such questions everybody else is the same as somebody who is absent: nothing is added. So the worst step is that
among the records of the part, where leaving an answer out, or no longer satisfying the condition, is leaving. Their
attributes may have many values, as fast paths for lines and products need no listing there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tetraodon.certificate.edge_loss import Loss, Weighted
from tetraodon.certificate.product_bounds import FEW_CELLS
from tetraodon.domain import Domain
from tetraodon.exact.arrays import Bools
from tetraodon.policy.attribute_graph import Blocks, Everything, Public, Within, WithinOrMissing
from tetraodon.policy.secret_graph import ABSENT, Factor, SecretGraph
from tetraodon.query.contribution import Among
from tetraodon.query.linear import LinearQuery
from tetraodon.query.records_where import Kept, left_of

TRIED = 64
"""Values of an attribute with which somebody may have left that are tried, to find one that is a secret."""


@dataclass(frozen=True)
class AnsweredPart:
    """The same secrets and queries over the records of a part; `inside` says which codes they can have."""

    whole: SecretGraph
    graph: SecretGraph
    queries: tuple[Weighted, ...]
    inside: dict[str, Bools]

    def lifted(self, found: Loss) -> Loss:
        """The loss as one over all records: somebody who is absent has left the part, unless absence is a secret.

        Post  exact only if the two records that attain it are a secret.
        """
        if found.witness is None:
            return found
        ends = [record if record is ABSENT else self._within(record) for record in found.witness]
        if self.whole.absent or ABSENT not in ends:
            return replace(found, witness=(ends[0], ends[1]))
        there = next(record for record in ends if record is not ABSENT)
        pair = next((pair for pair in self._leaving(there) if self.whole.is_edge(*pair)), None)
        if pair is None:
            return replace(found, witness=None, exact=False)
        first, second = sorted(pair, key=self.whole.domain.codes)
        return replace(found, witness=(first, second))

    def _within(self, record: Any) -> Any:
        """A record that was found, as one of the part: attributes that nothing else looks at may have any value."""
        codes = list(self.whole.domain.codes(record))
        for name, able in self.inside.items():
            place = self.whole.domain.position(name)
            codes[place] = codes[place] if able[codes[place]] else int(np.argmax(able))
        return self.whole.domain.value_of(codes)

    def _leaving(self, record: Any) -> Iterator[tuple[Any, Any]]:
        """Records that add as much as this one, each with one like it that is not of the part."""
        domain = self.whole.domain
        added = {name for query, _ in self.queries for name in query.names}
        for name, able in self.inside.items():
            place, codes = domain.position(name), list(domain.codes(record))
            steps = [(codes[place], out) for out in np.flatnonzero(~able)[::-1][:TRIED].tolist()]  # missing is the last
            borders = np.flatnonzero(able[1:] != able[:-1])[:TRIED].tolist() if name not in added else []
            steps += [(low, low + 1) if able[low] else (low + 1, low) for low in borders]
            for ends in steps:
                here, there = ([*codes[:place], end, *codes[place + 1 :]] for end in ends)
                yield domain.value_of(here), domain.value_of(there)


def answered_part(graph: SecretGraph, queries: Sequence[Weighted]) -> AnsweredPart | None:
    """What queries are about if all are about the same records: those who answered what is added up, or have values
    of it between two ends; and for whom there may be conditions on attributes that nothing else looks at. Else None.

    Pre   nothing is known, and secrets are the same for everybody.
    """
    first = queries[0][0].contribution if queries else None
    if not isinstance(first, Among):
        return None
    inside: list[Weighted] = []
    looked_at = set[str]()
    for query, weight in queries:
        part = query.contribution
        if not isinstance(part, Among) or (part.held, part.truth) != (first.held, first.truth):
            return None
        if any(split.name in part.held for split in query.by):
            return None
        looked_at |= {*part.inner.names}
        inside.append((LinearQuery(part.inner, query.by), weight))
    able = _able(first)
    kept = {name: _range(able[name]) for name in first.held if name in looked_at} if able else None
    if able is None or kept is None or None in kept.values():
        return None
    ranges = {name: ends for name, ends in kept.items() if ends is not None}
    factors = [_there(factor, ranges) for factor in graph.factors]
    if any(factor is None for factor in factors) or not all(_begins(query, ranges) for query, _ in queries):
        return None
    domain = Domain(tuple(left_of(a, Kept(*ranges[a.name])) if a.name in ranges else a for a in graph.domain))
    leaves = any(_can_leave(graph.factor_of(name), able[name]) for name in first.held)
    there = SecretGraph(domain, tuple(f for f in factors if f), graph.at_most, absent=graph.absent or leaves)
    return AnsweredPart(graph, there, tuple(inside), able)


def by_answers(graph: SecretGraph, queries: Sequence[Weighted]) -> list[list[Weighted]]:
    """Queries about those who answered several questions that are asked about together, by which these are, and then
    all others.

    All are in one group where their attributes have so few values together that every edge can be looked at.
    Why   no step moves all groups more than the worst steps of each do.
    """
    parts = [query.contribution for query, _ in queries if isinstance(query.contribution, Among)]
    tied = {(part.held, part.truth) for part in parts if len(part.inner.names) > 1}
    groups: dict[Any, list[Weighted]] = {}
    for query, weight in queries:
        part, key = query.contribution, None
        if isinstance(part, Among) and (part.held, part.truth) in tied:
            key = (part.held, part.truth) if answered_part(graph, [(query, weight)]) is not None else None
        groups.setdefault(key, []).append((query, weight))
    names = {name for key, group in groups.items() if key for query, _ in group for name in query.names}
    wide = bool(names) and graph.domain.project(sorted(names)).size > FEW_CELLS
    return list(groups.values()) if wide else [list(queries)]


def _able(part: Among) -> dict[str, Bools] | None:
    """The codes that records of a part can have of each attribute, where its condition is no more than these."""
    axes = range(len(part.held))
    able = [np.asarray(part.table.any(axis=tuple(other for other in axes if other != axis))) for axis in axes]
    if int(np.count_nonzero(part.table)) != int(np.prod([np.count_nonzero(one) for one in able])):
        return None
    return dict(zip(part.held, able, strict=True))


def _range(able: Bools) -> tuple[int, int] | None:
    """The first and the last code, where all between them are able."""
    codes = np.flatnonzero(able).tolist()
    return (codes[0], codes[-1]) if codes[-1] - codes[0] + 1 == len(codes) else None


def _begins(query: LinearQuery, ranges: Mapping[str, tuple[int, int]]) -> bool:
    """Whether what a query adds up is about just these codes."""
    part = query.contribution
    assert isinstance(part, Among)
    own = zip(part.inner.names, part.first, part.within, strict=True)
    return all((first, first + size - 1) == ranges.get(name, (0, size - 1)) for name, first, size in own)


def _there(factor: Factor, ranges: Mapping[str, tuple[int, int]]) -> Factor | None:
    """The secrets of a factor among codes of a range; None where nobody says."""
    if not set(factor.names) & set(ranges):
        return factor
    if len(factor.names) > 1:
        return None
    low, high = ranges[factor.names[0]]
    size, there = high - low + 1, factor.graph
    match there:
        case Everything():
            there = Everything(size)
        case Public():
            there = Public(size)
        case Within(reach=reach):
            there = Within(size, reach)
        case WithinOrMissing(size=whole, reach=reach) if high < whole - 1:
            there = Within(size, reach)
        case Blocks(blocks):
            there = Blocks(blocks[low : high + 1])
        case _:
            return None
    return Factor(factor.names, there)


def _can_leave(factor: Factor, able: Bools) -> bool:
    """Whether a step along an attribute may lead out of a part; said to where nobody looks closer."""
    match factor.graph:
        case Public():
            return False
        case Blocks(blocks):
            return bool(set(np.asarray(blocks)[able].tolist()) & set(np.asarray(blocks)[~able].tolist()))
        case _:
            return True
