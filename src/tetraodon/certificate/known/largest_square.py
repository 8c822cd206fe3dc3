"""The largest sum of squares by which neighbours push answers when counts are known: what Gaussian noise costs.

Let no answer of a query move by more than h. Then the squares of its moves are at most h times the moves themselves,
and as much where every answer moves by h or not at all. So the squares are bounded by an L1 push in which each query
weighs h times as much, and where the neighbours that attain that push move every answer by all or nothing, as those of
tables, running counts and sums do, it is the maximum itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from tetraodon.certificate.edge_loss import Loss, Weighted
from tetraodon.certificate.known.answer_space import answer_space
from tetraodon.certificate.known.classes import Classes, classes_of
from tetraodon.certificate.known.largest_push import farthest_together
from tetraodon.certificate.known.sign_patterns import EDGE_WORK, reach_of_rows
from tetraodon.certificate.known.unlisted_domain import farthest_neighbours, is_unlisted, long_table, touched_cells
from tetraodon.certificate.loss_of_pair import rho_of_pair
from tetraodon.noise.laws import GAUSSIAN
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import LinearQuery, Measurement
from tetraodon.workload.squared import zeros_and_ones

WEIGHTS = 2**20
"""Weights are whole numbers up to about this, or are rounded up to such."""


def largest_square(graph: SecretGraph, queries: Sequence[Weighted]) -> Loss:
    """max over neighbours of the sum of (weight * what an answer moves by, in units)^2, or a bound on it.

    Pre   some secret changes a known count; weights are above zero.
    Post  as `largest_push`.
    """
    unlisted = is_unlisted(graph, queries)
    heights = [_height(graph, query, unlisted) for query, _ in queries]
    asked = [(query, weight**2 * height) for (query, weight), height in zip(queries, heights, strict=True) if height]
    if not asked:
        return Loss(Fraction(0), None, True, "over nothing: the known counts fix these answers")
    rounded = _rounded(asked)
    found = farthest_neighbours(graph, rounded)
    if rounded == asked and (set(heights) <= {0, 1} or not found.exact):
        return found
    if rounded != asked:
        each = sum((weight * farthest_neighbours(graph, [(q, Fraction(1))]).value for q, weight in asked), Fraction(0))
        found = replace(found, value=min(found.value, each))
    attained = found.witness is not None and _squares(graph, queries, found.witness) == found.value
    return replace(found, exact=attained, witness=found.witness if attained else None)


def _rounded(queries: Sequence[Weighted]) -> list[Weighted]:
    """The same with weights that are too long for whole numbers of 64 bits made a little larger."""
    unit = max(weight for _, weight in queries) / WEIGHTS
    if math.lcm(*((weight / queries[0][1]).denominator for _, weight in queries)) <= WEIGHTS:
        return list(queries)
    return [(query, math.ceil(weight / unit) * unit) for query, weight in queries]


def _squares(graph: SecretGraph, queries: Sequence[Weighted], pair: tuple[Any, Any]) -> Fraction:
    """The sum of squares between two datasets, or two records."""
    return 2 * rho_of_pair(graph.domain, [Measurement(q, 1 / weight, GAUSSIAN) for q, weight in queries], pair)


def _height(graph: SecretGraph, query: LinearQuery, unlisted: bool) -> int:
    """A whole number of units by which no answer of a query moves more between neighbours."""
    by_sequence = _by_sequence(graph, query, unlisted)
    if by_sequence is not None:
        return by_sequence
    push = farthest_neighbours(graph, [(query, Fraction(1))]).value
    # as much goes up as goes down, where everybody counts one
    return math.ceil(push / 2 if isinstance(query.contribution, One) and not graph.absent else push)


def _by_sequence(graph: SecretGraph, query: LinearQuery, unlisted: bool) -> int | None:
    """The same from what a sequence of moves does to one answer, where that is told at once; None otherwise."""
    whole = long_table(graph)
    if whole is not None:
        return touched_cells(graph, whole, query) if zeros_and_ones(query.contribution) else None
    classes = classes_of(graph, graph.known, () if unlisted else tuple(sorted(query.names)))
    domain = classes.graph.domain
    if not unlisted and query.size(domain) * max(domain.size, len(classes.crossing[0])) <= EDGE_WORK:
        return _along_rows(classes, query)
    if classes.count > classes.dimension + 1:
        return None
    if isinstance(query.contribution, One):
        return _most_classes(classes, query)
    return classes.count if zeros_and_ones(query.contribution) else None


def _most_classes(classes: Classes, query: LinearQuery) -> int:
    """How many classes an answer counts some of, for cycles, which change one record for another in each class.

    Why   a class of which it counts all, or nobody, leaves it as it is.
    """
    if classes.coarse is not None:
        return classes.count
    domain = classes.graph.domain
    row = np.zeros(domain.size, np.int64)
    codes = dict(zip(domain.names, np.unravel_index(np.arange(domain.size), domain.shape), strict=True))
    for split in query.by:
        if split.name in codes:
            row = row * split.size(classes.whole) + split.of(codes[split.name])
    pairs, cells = np.unique(np.stack([row, classes.class_of[: domain.size]]), axis=1, return_counts=True)
    some = cells < classes.sizes[pairs[1]] if set(query.names) <= set(domain.names) else np.ones_like(cells, np.bool_)
    return int(np.unique(pairs[0][some], return_counts=True)[1].max(initial=0))


def _along_rows(classes: Classes, query: LinearQuery) -> int | None:
    """The most that neighbours move any one answer."""
    space = answer_space(classes, [(query, Fraction(1))])
    x, y = classes.inside
    alone = int(np.abs(space.rows[:, x] - space.rows[:, y]).max(initial=0))
    found, exact, _ = farthest_together(reach_of_rows(space), None)
    if found is not None and not exact:
        return None
    return max(alone, 0 if found is None else found.value)
