"""Queries as they look to people who all have the same value of one attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from tetraodon.domain import Domain
from tetraodon.errors import Refused
from tetraodon.policy.attribute_graph import Public
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.workload.contribution import Number, One, Table
from tetraodon.workload.linear import LinearQuery
from tetraodon.workload.squared import squared

Weighted = tuple[LinearQuery, Fraction]


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
        fixed, rest = (given.attribute, given.times) if given.attribute.name == name else (given.times, given.attribute)
        times = abs(fixed.number(code) / Number(fixed).unit)
        return LinearQuery(Number(rest), by), weight * times ** (2 if squares else 1)
    if isinstance(given, Table):
        sizes = [domain[other].size for other in given.names]
        rows = given.matrix.reshape(len(given.matrix), *sizes)
        rows = np.take(rows, code, axis=1 + given.names.index(name)).reshape(len(rows), -1)
        rest_names = tuple(other for other in given.names if other != name)
        return LinearQuery(Table(rest_names, rows, given.unit), by), weight if rows.any() else Fraction(0)
    raise Refused(f"what this query adds up cannot be looked at for one {name} alone", fix="ask for it by other means")


def at_the_heaviest_weight(graph: SecretGraph, queries: Sequence[LinearQuery]) -> dict[str, int]:
    """Codes at which public weights are largest: a weighted sum moves most there ([HMD14] section 5: the
    factor is max |w|). Only weights that no step changes and that no query looks at otherwise.
    """
    heaviest = {}
    for query in queries:
        number = query.contribution
        if isinstance(number, Number) and number.times is not None:
            weight = number.times
            looked_at = any(weight.name in q.contribution.names and not _weighted_by(q, weight.name) for q in queries)
            if isinstance(graph.factor_of(weight.name).graph, Public) and not looked_at:
                ends = (0, weight.size - 1)
                heaviest[weight.name] = max(ends, key=lambda code: abs(weight.number(code)))
    return heaviest


def with_fixed_weight(
    query: LinearQuery, weight: int, fixed: Mapping[str, int], squares: bool
) -> tuple[LinearQuery, int]:
    """A query whose public weight is fixed, without it."""
    number = query.contribution
    if not isinstance(number, Number) or number.times is None or number.times.name not in fixed:
        return query, weight
    factor = abs(number.times.number(fixed[number.times.name])) / Number(number.times).unit
    return LinearQuery(Number(number.attribute), query.by), weight * int(factor) ** (2 if squares else 1)


def _weighted_by(query: LinearQuery, name: str) -> bool:
    number = query.contribution
    return isinstance(number, Number) and number.times is not None and number.times.name == name
