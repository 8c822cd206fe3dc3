"""The certificate computed the slow way: every pair of records, every row, plain fractions.

It shares no code with the kernel beyond the definitions of a query and of an edge, and judges it in the tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.query.linear import LinearQuery


def largest_move(graph: SecretGraph, queries: Sequence[tuple[LinearQuery, Fraction]], *, power: int = 1) -> Fraction:
    """max over edges of sum over rows of (weight * |a(x) - a(y)|)^power, weights per unit. Tiny domains only."""
    domain = graph.domain
    rows = [(row, weight) for query, weight in queries for row in query.matrix(domain)[0].tolist()]
    best, values = Fraction(0), [domain.value(cell) for cell in range(domain.size)]
    for x in range(domain.size):
        if graph.absent:
            best = max(best, sum(((weight * abs(row[x])) ** power for row, weight in rows), Fraction(0)))
        for y in range(x):
            if graph.is_edge(values[x], values[y]):
                best = max(best, sum(((weight * abs(row[x] - row[y])) ** power for row, weight in rows), Fraction(0)))
    return best
