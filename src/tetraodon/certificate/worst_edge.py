"""The worst edge where nothing is known, whoever's secret it is: of every public group with secrets of its own.

No edge joins two groups, so each is looked at by itself, with queries as they look to people who all have its value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from tetraodon.certificate.edge_loss import Loss, Weighted, largest_over_edges
from tetraodon.certificate.product_bounds import largest_with_products, needs_stand_in
from tetraodon.domain import Domain
from tetraodon.errors import Refused
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.workload.contribution import One, Table
from tetraodon.workload.linear import LinearQuery
from tetraodon.workload.number import Number
from tetraodon.workload.squared import squared


def worst_edge(graph: SecretGraph, queries: Sequence[Weighted], *, squares: bool = False) -> Loss:
    """max over edges (x, y) of the sum of weight * (what the query moves by, in units, or the square of it).

    Pre   nothing is known.
    """
    if not queries or not graph.has_edges:
        return Loss(Fraction(0), None, True)
    if graph.groups is not None:
        return _worst_group(graph, graph.groups.by, queries, squares)
    return _whoever(graph, queries, {}, squares)


def _whoever(graph: SecretGraph, queries: Sequence[Weighted], given: Mapping[str, int], squares: bool) -> Loss:
    """The worst edge where secrets are the same for everybody, among records that have the given codes.

    Why  products tie attributes together, which may have too many values for what else is measured of them. No step
         moves both more than the worst steps of each do.
    """
    if needs_stand_in(graph, queries):
        return largest_with_products(graph, queries, given, squares=squares)
    try:
        return largest_over_edges(graph, queries, given, squares=squares)
    except Refused:
        products = [one for one in queries if isinstance(one[0].contribution, Number) and one[0].contribution.times]
        others = [one for one in queries if one not in products]
        if not products or not others:
            raise
    parts = [largest_over_edges(graph, part, given, squares=squares) for part in (products, others)]
    return Loss(parts[0].value + parts[1].value, parts[0].witness, exact=False)


def _worst_group(graph: SecretGraph, by: str, queries: Sequence[Weighted], squares: bool) -> Loss:
    """The worst of the groups, each under its own graph and with what the queries say about it alone.

    Why  no edge joins two groups. A group that a query does not look at loses nothing to it, so that queries about
         different groups need not be added up ([HMD14] Thm 4.2).
    """
    worst = Loss(Fraction(0), None, True)
    for own, codes in graph.by_graph:
        tried = set[tuple[Weighted, ...]]()
        for code in codes:
            here = at_value(queries, graph.domain, by, code, squares=squares)
            if here and here not in tried and own.has_edges:
                tried.add(here)
                found = _whoever(own, here, {by: code}, squares)
                if found.value > worst.value or (found.value == worst.value and found.exact > worst.exact):
                    worst = found
    return worst


def at_value(
    queries: Sequence[Weighted], domain: Domain, name: str, code: int, *, squares: bool = False
) -> tuple[Weighted, ...]:
    """Weighted queries without one attribute, which push as far as the given ones where it has a fixed value.

    Post  no query names the attribute. For any two records that have that value the weighted L1 distances, or those of
          `squares`, are the same, and for one record alone, too.
    Why   a split by the attribute puts both records into the same part. What the attribute itself contributes is a
          constant; two records cancel it, unless another split tells them apart, and there only its length counts.
    """
    found = [_one(query, weight, domain, name, code, squares) for query, weight in queries]
    return tuple((query, weight) for query, weight in found if weight)


def _one(query: LinearQuery, weight: Fraction, domain: Domain, name: str, code: int, squares: bool) -> Weighted:
    by = tuple(split for split in query.by if split.name != name)
    given = query.contribution
    if name not in given.names:
        return LinearQuery(given, by), weight
    if given.names == (name,):
        alone = (squared(given) if squares else given).alone(np.array(code))
        return LinearQuery(One(), by), weight * int(alone)
    if isinstance(given, Number) and given.times is not None:
        rest, times = given.at(name, code)
        return LinearQuery(rest, by), weight * times ** (2 if squares else 1)
    if isinstance(given, Table):
        sizes = [domain[other].size for other in given.names]
        rows = given.matrix.reshape(len(given.matrix), *sizes)
        rows = np.take(rows, code, axis=1 + given.names.index(name)).reshape(len(rows), -1)
        rest_names = tuple(other for other in given.names if other != name)
        return LinearQuery(Table(rest_names, rows, given.unit), by), weight if rows.any() else Fraction(0)
    raise Refused(f"what this query adds up cannot be looked at for one {name} alone", fix="ask for it by other means")
