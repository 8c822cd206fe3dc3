"""Squares of smoothed counts on a line: each term is bounded by its own longest step, and often one attains all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tetraodon.certificate.axis import Peak, Term, best_edge, weighted
from tetraodon.certificate.linear_term import linear_in_code
from tetraodon.policy.attribute_graph import AttributeGraph, Everything, Within
from tetraodon.workload.contribution import One
from tetraodon.workload.smooth import Hats, Ramps
from tetraodon.workload.squared import Squared

LISTED = 200_000
"""Edges that are looked at one by one rather than bounded."""


def longest_step(graph: AttributeGraph, lone: Sequence[Term], same: Sequence[Term]) -> Peak | None:
    """The most that squares of smoothed counts move with each other; None where there are none, or others in the way.

    Post  exact where a step from code 0 attains every term's own maximum, or where the edges are few; else a bound.
    """
    if not isinstance(graph, Everything | Within) or not any(_smooth(term) for term in same):
        return None
    level = all(isinstance(t.contribution, One) or _smooth(t) is Hats for t in lone)
    if not level or not all(_smooth(term) or linear_in_code(term) for term in same):
        return None
    last = graph.size - 1
    reach = min(graph.reach, last) if isinstance(graph, Within) else last
    ends = {reach}
    for term in (*lone, *same):
        kind = term.contribution
        if isinstance(kind, Squared) and isinstance(kind.of, Hats) and kind.of.width <= reach:
            ends |= {kind.of.width, reach // kind.of.width * kind.of.width}
    y = np.array(sorted(ends))
    x = np.zeros_like(y)
    moved = weighted(lone, [t.contribution.alone(x) + t.contribution.alone(y) for t in lone], len(x)) + weighted(
        same, [t.contribution.apart(x, y) for t in same], len(x)
    )
    top = int(np.argmax(moved))
    found = Peak(int(moved[top]), 0, int(y[top]))
    start = np.array([0])
    bound = sum(2 * t.weight * int(t.contribution.alone(start)[0]) for t in lone)
    bound += sum(t.weight * _most(t, reach) for t in same)
    if found.value == bound:
        return found
    if graph.edge_count <= LISTED:
        cells = np.arange(graph.size)
        alone = weighted(lone, [t.contribution.alone(cells) for t in lone], len(cells))
        return best_edge(graph.edges(), [(t, cells) for t in same], alone)
    return Peak(bound, found.x, found.y, exact=False)


def _smooth(term: Term) -> type[Hats | Ramps] | None:
    kind = term.contribution
    return type(kind.of) if isinstance(kind, Squared) and isinstance(kind.of, Hats | Ramps) else None


def _most(term: Term, reach: int) -> int:
    """The largest move of a term whose largest move is its longest."""
    if isinstance(term.contribution, Squared) and _smooth(term):
        return term.contribution.most(reach)
    return int(term.contribution.apart(np.array([0]), np.array([reach]))[0])
