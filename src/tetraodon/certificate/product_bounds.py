"""The loss of tables of products, judged by what the kernel can judge.

A table of products of soft bins is neither a sum over one attribute nor a table of cells. Two things that are lose at
least as much, each for its own reason, and the smaller loss counts:

* *cells*: sharing a record out among cells, in shares that add up to one, never moves more than moving the
  record itself. So the table of the values that the shares are computed from loses at least as much.
* *axes*: |p q - p' q'| <= |p - p'| q + p' |q - q'|, so a table of products moves no more than the tables of its axes
  do in total. Where somebody appears or leaves, the cells are right, so that step is judged by them alone.

Everything else that is released takes part as it is. Where two records are found that lose as much as the bound, it is
the loss itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from tetraodon.certificate.edge_loss import Loss, Weighted, largest_over_edges
from tetraodon.certificate.pair_loss import loss_of_pair
from tetraodon.errors import Refused
from tetraodon.policy.attribute_graph import Public
from tetraodon.policy.secret_graph import Factor, SecretGraph, complete_graph
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, Measurement, splits
from tetraodon.query.soft_bins import Product

FEW_CELLS = 1024
"""Up to so many, every edge is looked at, and nothing has to stand in."""


def needs_stand_in(graph: SecretGraph, queries: Sequence[Weighted]) -> bool:
    """Whether there are tables of products over more cells than can be looked at edge by edge."""
    return any(isinstance(query.contribution, Product) for query, _ in queries) and graph.domain.size > FEW_CELLS


def largest_with_products(
    graph: SecretGraph, queries: Sequence[Weighted], given: Mapping[str, int], *, squares: bool = False
) -> Loss:
    """An upper bound on the loss over all edges, with a pair of records, and whether that pair loses as much.

    `given` are codes that all records have here. With `squares`, weights are those of squared distances.
    """
    steps = replace(graph, absent=False)
    found = [_bounded(steps, list(stand_ins), given, squares) for stand_ins in _ways(queries, squares)]
    able = [one for one in found if one is not None]
    if not able:
        raise Refused("the loss of this table cannot be computed", fix="use a coarser grid, or fewer attributes")
    best = min(able, key=lambda one: one.value)
    if graph.absent:
        alone = largest_over_edges(only(graph), [_cells(*one, squares) for one in queries], given, squares=squares)
        best = max(best, alone, key=lambda one: one.value)
    if not best.value:
        return Loss(best.value, None, True)
    tried = [] if squares or not _numbered(graph, queries) else _pairs(graph, best.witness, given)
    pair = next((pair for pair in tried if _loss(graph, queries, pair) == best.value), None)
    return Loss(best.value, pair or best.witness, pair is not None)


def _ways(queries: Sequence[Weighted], squares: bool) -> Iterator[Iterator[Weighted]]:
    """What may stand in: every product by its cells, or every product by its axes."""
    yield (_cells(*one, squares) for one in queries)
    yield (stand_in for one in queries for stand_in in _axes(*one, squares))


def _bounded(graph: SecretGraph, queries: Sequence[Weighted], given: Mapping[str, int], squares: bool) -> Loss | None:
    """The loss of what stands in; of every pair of records where secrets are too many to look at; else nothing."""
    for wider in (graph, complete_graph(graph)):
        try:
            return largest_over_edges(wider, queries, given, squares=squares)
        except Refused:
            continue
    return None


def _cells(query: LinearQuery, weight: Fraction, squares: bool) -> Weighted:
    product = query.contribution
    if not isinstance(product, Product):
        return query, weight
    return LinearQuery(One(), (*query.by, *splits(product.names))), weight * product.units ** (2 if squares else 1)


def _axes(query: LinearQuery, weight: Fraction, squares: bool) -> list[Weighted]:
    """Why  the square of a sum of d lengths is at most d times the sum of their squares."""
    product = query.contribution
    if not isinstance(product, Product):
        return [(query, weight)]
    if squares:
        weight = weight * len(product.parts)
    rest = [Fraction(product.units, part.units) ** (2 if squares else 1) for part in product.parts]
    return [(LinearQuery(part, query.by), weight * other) for part, other in zip(product.parts, rest, strict=True)]


def only(graph: SecretGraph, *factors: Factor) -> SecretGraph:
    """The same secrets along some factors, one at a time, and no others; without any, who is in the data."""
    moving = {name for factor in factors for name in factor.names}
    still = (Factor((a.name,), Public(a.size)) for a in graph.domain if a.name not in moving)
    return SecretGraph(graph.domain, (*factors, *still), 1, absent=not factors)


def _pairs(graph: SecretGraph, found: tuple[Any, Any] | None, given: Mapping[str, int]) -> Iterator[tuple[Any, Any]]:
    """Pairs that may attain the bound: the one that was found, and ends of the domain that are a secret."""
    if found is not None:
        yield found
    if given:
        return
    first, last = [0] * len(graph.domain.shape), [size - 1 for size in graph.domain.shape]
    for place in range(-1, len(first)):
        changed = last if place < 0 else [*first[:place], last[place], *first[place + 1 :]]
        low, high = graph.domain.value_of(first), graph.domain.value_of(changed)
        if graph.is_edge(low, high):
            yield low, high


def _numbered(graph: SecretGraph, queries: Sequence[Weighted]) -> bool:
    """Whether the cells of every table of products have numbers of 64 bits, so that single pairs can be looked at."""
    tables = [query.contribution for query, _ in queries if isinstance(query.contribution, Product)]
    return all(graph.domain.project(table.names).size < 2**62 for table in tables)


def _loss(graph: SecretGraph, queries: Sequence[Weighted], pair: tuple[Any, Any]) -> Fraction:
    return loss_of_pair(graph.domain, [Measurement(query, 1 / weight) for query, weight in queries], pair)
