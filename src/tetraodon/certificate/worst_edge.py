"""Maximum loss over the edges of the secret graph, without known counts.

No edge joins two groups, so each is looked at by itself, with queries as they look to people who all have its value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, reduce

import numpy as np

from tetraodon.certificate.conditional_steps import (
    NOTHING,
    about_parts,
    added_up,
    answered_part,
    by_answers,
    by_conditions,
    inner_of,
    worse,
)
from tetraodon.certificate.edge_loss import Loss, Weighted, largest_over_edges
from tetraodon.certificate.product_bounds import largest_with_products, needs_stand_in, only
from tetraodon.certificate.table_steps import is_table, over_tables, weighs_margins
from tetraodon.domain import Domain
from tetraodon.errors import Refused
from tetraodon.policy.attribute_graph import Public
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.query.contribution import Among, One, Table
from tetraodon.query.linear import LinearQuery
from tetraodon.query.number import Number


def worst_edge(graph: SecretGraph, queries: Sequence[Weighted], *, squares: bool = False) -> Loss:
    """max over edges (x, y) of the sum of weight * (what the query moves by, in units, or the square of it).

    Pre   nothing is known.
    """
    if not queries or not graph.has_edges:
        return Loss(Fraction(0), None, True)
    if len(queries) == 1:
        [(query, weight)] = queries
        found = _of_one(graph, query, squares)
        return replace(found, value=weight * found.value)
    return _over_all(graph, queries, squares)


@lru_cache(maxsize=64)
def _of_one(graph: SecretGraph, query: LinearQuery, squares: bool) -> Loss:
    """Plans ask for the same query again and again, with other scales."""
    return _over_all(graph, [(query, Fraction(1))], squares)


def _over_all(graph: SecretGraph, queries: Sequence[Weighted], squares: bool) -> Loss:
    if graph.groups is not None:
        return _worst_group(graph, graph.groups.by, queries, squares)
    return _whoever(graph, queries, {}, squares)


def _whoever(graph: SecretGraph, queries: Sequence[Weighted], given: Mapping[str, int], squares: bool) -> Loss:
    """The worst edge where secrets are the same for everybody, among records that have the given codes."""
    if weighs_margins(queries):
        return _beside_margins(graph, queries, given, squares)
    if about_parts(queries):
        return _in_parts(graph, queries, given, squares)
    return _one_by_one(graph, queries, given, squares)


def _beside_margins(graph: SecretGraph, queries: Sequence[Weighted], given: Mapping[str, int], squares: bool) -> Loss:
    """The same where tables are weighed with their margins: no step moves those and others more than its worst ones."""
    tables = [one for one in queries if is_table(one[0])]
    others = [one for one in queries if not is_table(one[0])]
    found = over_tables(graph, tables, given, squares=squares)
    if not others:
        return found
    return Loss(found.value + _whoever(graph, others, given, squares).value, None, exact=False)


def _one_by_one(graph: SecretGraph, queries: Sequence[Weighted], given: Mapping[str, int], squares: bool) -> Loss:
    """The same by looking at steps.

    Why  products tie attributes together, which may have too many values for what else is measured of them. No step
         moves both more than the worst steps of each do.
    """
    if needs_stand_in(graph, queries):
        return largest_with_products(graph, queries, given, squares=squares)
    try:
        return largest_over_edges(graph, queries, given, squares=squares)
    except Refused:
        products = [one for one in queries if isinstance(inner_of(one[0]), Number) and inner_of(one[0]).times]
        others = [one for one in queries if one not in products]
        if not products or not others:
            raise
    parts = [largest_over_edges(graph, part, given, squares=squares) for part in (products, others)]
    return Loss(parts[0].value + parts[1].value, parts[0].witness, exact=False)


def _in_parts(graph: SecretGraph, queries: Sequence[Weighted], given: Mapping[str, int], squares: bool) -> Loss:
    """The same where queries are about parts of the records: for each value of public attributes that says which."""
    moving = [factor for factor in graph.factors if not isinstance(factor.graph, Public)]
    if graph.at_most == 1 and moving and len(moving) + graph.absent > 1:  # a step changes one of them
        found = [_whoever(only(graph, factor), queries, given, squares) for factor in moving]
        presence = [_whoever(only(graph), queries, given, squares)] if graph.absent else []
        return reduce(worse, (*found, *presence))
    if len(moving) == 1 and not graph.absent:
        queries = [one for one in queries if set(one[0].names) & set(moving[0].names)]
    bound = _of_one_part(graph, queries, given, squares)
    if bound is not None and bound.exact:
        return bound
    if len(groups := by_answers(graph, queries)) > 1:
        return added_up([_whoever(graph, group, given, squares) for group in groups])

    def search(of: SecretGraph, asked: Sequence[Weighted], fixed: Mapping[str, int]) -> Loss:
        return _whoever(of, asked, fixed, squares) if asked else NOTHING

    def direct(of: SecretGraph, asked: Sequence[Weighted], fixed: Mapping[str, int]) -> Loss:
        return _one_by_one(of, asked, fixed, squares) if asked else NOTHING

    try:
        return by_conditions(graph, queries, given, search, direct, squares=squares)
    except Refused:
        if bound is None:
            raise
    return bound


def _of_one_part(
    graph: SecretGraph, queries: Sequence[Weighted], given: Mapping[str, int], squares: bool
) -> Loss | None:
    """The same where all queries are about the same records; None where it is not so, or too much."""
    part = answered_part(graph, queries)
    if part is None or given.keys() & part.inside.keys():
        return None
    try:
        return part.lifted(_one_by_one(part.graph, part.queries, given, squares))
    except Refused:
        return None


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
    sizes = dict(zip(domain.names, domain.shape, strict=True))
    found = [_one(query, weight, sizes, name, code, squares) for query, weight in queries]
    return tuple((query, weight) for query, weight in found if weight)


def _one(
    query: LinearQuery, weight: Fraction, sizes: Mapping[str, int], name: str, code: int, squares: bool
) -> Weighted:
    by = tuple(split for split in query.by if split.name != name)
    given = query.contribution
    if isinstance(given, Among) and name in given.names:
        return _one_of_part(LinearQuery(given, by), weight, name, code, squares)
    if name not in given.names:
        return LinearQuery(given, by), weight
    if given.names == (name,):
        alone = given.alone(np.array(code), 2 if squares else 1)
        return LinearQuery(One(), by), weight * int(alone)
    if isinstance(given, Number) and given.times is not None:
        rest, times = given.at(name, code)
        return LinearQuery(rest, by), weight * times ** (2 if squares else 1)
    if isinstance(given, Table):
        rows = given.matrix.reshape(len(given.matrix), *(sizes[other] for other in given.names))
        rows = np.take(rows, code, axis=1 + given.names.index(name)).reshape(len(rows), -1)
        rest_names = tuple(other for other in given.names if other != name)
        return LinearQuery(Table(rest_names, rows, given.unit), by), weight if rows.any() else Fraction(0)
    raise Refused(f"what this query adds up cannot be looked at for one {name} alone", fix="ask for it by other means")


def _one_of_part(query: LinearQuery, weight: Fraction, name: str, code: int, squares: bool) -> Weighted:
    """The same for a query about a part of the records."""
    part = query.contribution
    assert isinstance(part, Among)
    if name not in part.inner.names:
        left = part.at(name, code)
        return (query, Fraction(0)) if left is None else (LinearQuery(left, query.by), weight)
    place = part.names.index(name)
    fixed = code - part.first[place]
    here = replace(part, inner=One(), first=(), within=()).at(name, code)  # who is left, by what else is asked of them
    if here is None or not 0 <= fixed < part.within[place]:
        return query, Fraction(0)
    inside = dict(zip(part.inner.names, part.within, strict=True))  # its table is over what they can have
    inner, weight = _one(LinearQuery(part.inner), weight, inside, name, fixed, squares)
    if not isinstance(here, Among):
        return LinearQuery(inner.contribution, query.by), weight
    rest = [other for other in part.inner.names if other != name]
    kept = [part.inner.names.index(other) for other in rest]
    names = (*rest, *(other for other in here.names if other not in rest))
    every = tuple(here.sizes[here.names.index(other)] for other in names)
    first, within = (tuple(ends[place] for place in kept) for ends in (part.first, part.within))
    left = replace(here, inner=inner.contribution, names=names, sizes=every, first=first, within=within)
    return LinearQuery(left, query.by), weight
