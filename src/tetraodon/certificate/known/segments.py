"""Values that no known count tells apart, whatever the other attributes are, taken as one: a smaller graph.

A range of a million positions of which three rectangles are known has a handful of segments. Whether two classes of
values are joined by a secret, and so which neighbours there are, is the same in the small graph as in the large one: a
step changes some attributes along edges, and each of them stays in its segment or goes to another that an edge joins.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import Refused
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Everything, Pairs, Public, Within, WithinOrMissing
from tetraodon.policy.joint_graph import JointGraph
from tetraodon.policy.known import Known, known_query
from tetraodon.policy.secret_graph import Factor, Groups, SecretGraph
from tetraodon.workload.contribution import Table

Link: TypeAlias = dict[tuple[int, int], tuple[int, int]]
LISTED = 5_000_000
RUNS = 2000


@dataclass(frozen=True, eq=False)
class Coarse:
    """The graph on segments, a code of every segment, the segment of every code, and an edge between any two segments
    that are joined, for each group that has its own graph and for None, all others. Not `exact`, it joins segments that
    no secret joins, too."""

    graph: SecretGraph
    codes: Mapping[str, Ints]
    segments: Mapping[str, Ints]
    links: Mapping[tuple[int | None, str], Link]
    exact: bool


def coarse(graph: SecretGraph, known: Sequence[Known], most: int) -> Coarse | None:
    """The graph with values taken as one that no known count tells apart; None if it still has more than `most` cells.

    Refused where attributes are too long.
    Why  a joint metric or blocks of cells become the complete graph of their attributes. More secrets make more
         neighbours: N* of any graph holds those neighbours of the complete graph that use one of its edges
         (docs/neighbours.md). So what is priced over it is a bound; for a histogram beside p disjoint known
         rectangles 2 (p + 1), as for the complete graph ([HMD14] Thm 8.6, corrected in docs/known-counts.md).
    """
    labels = {a.name: _segments(a, known, graph) for a in graph.domain}
    domain = Domain(tuple(Attribute(n, Integers(0, int(found.max()))) for n, found in labels.items()))
    if domain.size > most:
        return None
    codes = {name: np.unique(found, return_index=True)[1] for name, found in labels.items()}
    links: dict[tuple[int | None, str], Link] = {}

    def small(one: SecretGraph, group: int | None = None) -> SecretGraph:
        factors = []
        for factor in one.factors:
            if isinstance(factor.graph, JointGraph):
                size = domain.project(factor.names).size
                factors.append(Factor(factor.names, Everything(size) if factor.graph.has_edges else Public(size)))
                continue
            name = factor.names[0]
            found = joined(factor.graph, labels[name])
            size = int(labels[name].max()) + 1
            pairs = frozenset((min(u, v), max(u, v)) for u, v in found)
            whole = isinstance(factor.graph, Everything)
            own: AttributeGraph = Public(size)
            if pairs:
                own = Everything(size) if whole else Pairs(size, pairs)
            links[group, name] = found
            factors.append(Factor((name,), own))
        groups = one.groups and Groups(one.groups.by, tuple((code, small(g, code)) for code, g in one.groups.own))
        return SecretGraph(domain, tuple(factors), one.at_most, one.absent, groups=groups)

    graphs = [graph, *(own for _, own in graph.groups.own)] if graph.groups else [graph]
    exact = not any(isinstance(factor.graph, JointGraph) for one in graphs for factor in one.factors)
    return Coarse(small(graph), codes, labels, links, exact)


def _segments(attribute: Attribute, known: Sequence[Known], graph: SecretGraph) -> Ints:
    if attribute.size > LISTED:
        raise Refused(
            f"{attribute.name} has too many values to be compared with what is known", fix="use a coarser attribute"
        )
    found: Ints = np.zeros(attribute.size, np.int64)
    if graph.groups is not None and graph.groups.by == attribute.name:
        return np.arange(attribute.size)
    for entry in known:
        label = labels_along(entry, graph.domain, attribute)
        found = np.unique(found * (int(label.max()) + 1) + label, return_inverse=True)[1].ravel()
    return found


def labels_along(entry: Known, domain: Domain, attribute: Attribute) -> Ints:
    """Equal numbers for values of one attribute that a fact never tells apart."""
    query = known_query(entry, domain)
    for split in query.by:
        if split.name == attribute.name:
            return split.of(np.arange(attribute.size))
    table = query.contribution
    if attribute.name not in table.names or not isinstance(table, Table):
        return np.zeros(attribute.size, np.int64)
    sizes = [domain[name].size for name in table.names]
    rows = np.moveaxis(table.matrix[0].reshape(sizes), table.names.index(attribute.name), 0)
    return np.unique(rows.reshape(attribute.size, -1), axis=0, return_inverse=True)[1].ravel()


def joined(graph: AttributeGraph, label: Ints) -> Link:
    """Pairs of different segments that an edge joins, in both directions, each with such an edge."""
    first = np.unique(label, return_index=True)[1].tolist()
    ends: Link = {}
    match graph:
        case Public():
            return {}
        case Everything():
            ends = {(u, v): (first[u], first[v]) for u, v in itertools.combinations(range(len(first)), 2)}
        case Within():
            starts = np.flatnonzero(np.diff(label, prepend=-1))
            if len(starts) > RUNS:
                raise Refused("what is known cuts an attribute into too many segments", fix="use a coarser attribute")
            lasts = np.append(starts[1:] - 1, len(label) - 1)
            for i, start in enumerate(starts):  # the ends of two runs are their nearest values
                for j in range(i + 1, len(starts)):
                    if starts[j] - lasts[i] > graph.reach:
                        break
                    ends.setdefault((int(label[start]), int(label[starts[j]])), (int(lasts[i]), int(starts[j])))
        case Blocks():
            inside = np.unique(np.stack([graph.components(), label]), axis=1, return_index=True)[1]
            by_block: dict[int, list[int]] = {}
            for code in inside.tolist():
                by_block.setdefault(graph.blocks[code], []).append(code)
            for codes in by_block.values():
                for x, y in itertools.combinations(codes, 2):
                    ends.setdefault((int(label[x]), int(label[y])), (x, y))
        case WithinOrMissing():
            ends = dict(joined(graph.there, label[:-1]))
            ends |= {(u, int(label[-1])): (code, graph.size - 1) for u, code in enumerate(first)}
        case Pairs():
            ends = {(int(label[x]), int(label[y])): (x, y) for x, y in graph.pairs}
        case _:
            assert_never(graph)
    there = {(u, v): pair for (u, v), pair in ends.items() if u != v}
    return {**{(v, u): (y, x) for (u, v), (x, y) in there.items()}, **there}
