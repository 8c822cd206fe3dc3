"""Known inequalities about disjoint sets of records: which of them are reached decides who has to make up for whom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import combinations

import numpy as np

from tetraodon.certificate.edge_loss import Loss, Weighted
from tetraodon.certificate.part_steps import worse
from tetraodon.certificate.worst_edge import worst_edge
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Everything
from tetraodon.policy.known import Known, known_names, labels
from tetraodon.policy.secret_graph import Factor, SecretGraph, complete_graph

LISTED = 4
"""Up to so many inequalities every choice of those that are reached is priced; beyond, a bound is given."""


def worst_of_limits(graph: SecretGraph, price: Callable[[SecretGraph], Loss], bound: Callable[[], Fraction]) -> Loss:
    """The largest price over which of the known inequalities are reached, as if those counts were known exactly.

    Pre   what is known are counts of disjoint sets where any of it is an inequality; `bound` is not below the price.
    Why   then neighbours are paths and cycles through the sets, and whatever a path passes through keeps its count
          (docs/neighbours.md, on known inequalities).
    """
    exact, limits = ([entry for entry in graph.known if entry.bounded is is_limit] for is_limit in (False, True))
    if not limits:
        return price(graph)

    def reached(chosen: Sequence[Known]) -> Loss:
        return price(replace(graph, known=(*exact, *chosen)))

    found = worse(reached(limits), reached([]))
    if len(limits) == 1 or found.value >= (most := bound()):
        return found
    if len(limits) > LISTED:
        return Loss(most, None, False, "over paths through all known counts")
    others = (chosen for size in range(1, len(limits)) for chosen in combinations(limits, size))
    return reduce(worse, map(reached, others), found)


def farthest_path(graph: SecretGraph, queries: Sequence[Weighted]) -> Fraction:
    """A bound on what a path or cycle through the known counts, all about disjoint sets, moves answers by.

    Why   between its ends every set loses one record and gains another. So the answers move by as much as from the
          first record to the last, and by a move inside each set that is passed through. If the sets leave nobody out,
          its ends are in two of them, or it is a cycle and every set has a move inside.
    """
    sets, whole = len(graph.known), complete_graph(replace(graph, known=()))
    between = worst_edge(whole, queries).value
    names = known_names(graph.known, graph.domain)
    if len(names) != 1:
        return (sets + 1) * between
    part = graph.domain.project(names)
    owner = sets + np.arange(part.size)  # whoever is in none of them is at an end, or makes it a cycle
    for number, entry in enumerate(graph.known):
        owner[labels(entry, part, np.arange(part.size)) >= 0] = number
    same: dict[str, AttributeGraph] = {names[0]: Blocks(tuple(np.unique(owner, return_inverse=True)[1].tolist()))}
    factors = tuple(Factor((a.name,), same.get(a.name, Everything(a.size))) for a in graph.domain)
    inside = worst_edge(SecretGraph(graph.domain, factors, len(factors)), queries).value
    if graph.absent or owner.max() >= sets:
        return between + sets * inside
    return max(between + (sets - 2) * inside, sets * inside)
