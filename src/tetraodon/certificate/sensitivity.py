"""Policy-specific sensitivity, and certificates for matrices given row by row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, assert_never

import numpy as np

from tetraodon.certificate.certificate import Certificate, Sensitivity, certifying
from tetraodon.certificate.correlated_records import known_counts, require_independent
from tetraodon.certificate.kernel import certify_measurements, sensitivity_of
from tetraodon.certificate.pair_loss import require_people
from tetraodon.errors import QueryError
from tetraodon.exact.rational import Number, rational
from tetraodon.policy.attackers import Chain, Contacts, DependentGroups, Independent, TableSecret
from tetraodon.policy.load import AnyPolicy, load_policy
from tetraodon.policy.policy import Item, Policy
from tetraodon.policy.secret_graph import complete_graph
from tetraodon.query.contribution import Table
from tetraodon.query.kinds import linear
from tetraodon.query.linear import LinearQuery, Measurement
from tetraodon.query.query import Query


def sensitivity(policy: AnyPolicy, query: Query, *, where: str = "") -> Sensitivity:
    """How much the answers move, in total, between the worst neighbours, with the pair that attains it.

    With `where`, the question is about the records for which that condition holds.
    It is the L1 sensitivity S(f, P) of [HMD14] Def. 5.1. With known counts: the supremum over all numbers of records
    and all known answers; `exact` is False for a proven upper bound. Under a chain it is what one row moves; how many
    rows count with it is for the quilt to say. Raises Refused where no useful bound is known.
    """
    policy = load_policy(policy)
    item = Item("asked", query, where=where)
    asked = item.linear(policy.domain) if isinstance(query, Query) else linear(query, policy.domain)
    match policy.attackers:
        case DependentGroups() as groups:
            rows = groups.rows_together(known_counts(policy))
            one = sensitivity_of(complete_graph(policy.graph), asked)
            return Sensitivity(
                rows * one.value, None, one.exact and not policy.known, f"changes of all {rows} rows that go together"
            )
        case Chain():
            one = sensitivity_of(complete_graph(policy.graph), asked)
            return Sensitivity(one.value, None, one.exact, "any change of one row of the chain")
        case Contacts(rows=times):
            own, one = (sensitivity_of(graph, asked) for graph in (policy.graph, complete_graph(policy.graph)))
            value = min(own.value, one.value) + (times - 1) * one.value
            return Sensitivity(value, None, False, "a change of one row, and of others as far as contacts tell")
        case TableSecret():
            one = sensitivity_of(complete_graph(policy.graph), asked)
            return Sensitivity(one.value, one.witness, one.exact, "any change of one record, and not of a share")
        case Independent():
            if policy.every_row:
                require_people(
                    policy.graph,
                    policy.attackers,
                    [Measurement(asked, Fraction(1))],
                    keyed=bool(policy.key),
                    every_row=policy.every_row,
                )
            return sensitivity_of(policy.graph, asked, rows_per_person=policy.rows_per_person)
        case _:
            assert_never(policy.attackers)


@certifying
def certify(policy: AnyPolicy, rows: Any, scales: Sequence[Number] | Number) -> Certificate:
    """The exact privacy loss of answering given rows, each with discrete Laplace noise of its own scale.

    Pre   `rows` is a matrix (dense, or SciPy sparse) with one column per cell of the domain, entries rational;
          `scales` is one positive number per row, or one for all; 0 means that a row is answered exactly.
    Post  the maximum over edges (x, y) of sum_i |rows[i, x] - rows[i, y]| / scales[i], with an edge that attains it;
          with known counts, the maximum over neighbours, with two datasets that attain it.
    """
    policy = load_policy(policy)
    require_independent(policy, "a matrix of rows")
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    matrix = [
        [rational(_plain(entry), name="entry") for entry in row] for row in np.atleast_2d(np.asarray(dense, object))
    ]
    size = policy.domain.size
    if any(len(row) != size for row in matrix):
        raise QueryError(f"the rows do not have one entry for each of the {size} cells", fix="give one column per cell")
    scales = _plain(scales)
    given = [scales] * len(matrix) if isinstance(scales, int | float | str | Decimal | Real) else list(scales)
    if len(given) != len(matrix):
        raise QueryError("there is not one scale for each row", fix="give one positive scale per row")
    exact = [rational(_plain(scale), name="scale") for scale in given]
    if any(scale < 0 for scale in exact):
        raise QueryError("a scale is negative", fix="give positive scales, or 0 for an exact answer")
    by_scale: dict[Fraction, list[list[Fraction]]] = {}
    for row, scale in zip(matrix, exact, strict=True):
        if any(row):
            by_scale.setdefault(scale, []).append(row)
    measurements = [_measured(policy, rows, scale) for scale, rows in by_scale.items()]
    return certify_measurements(policy.graph, measurements, rows_per_person=policy.rows_per_person)


def _measured(policy: Policy, rows: Sequence[Sequence[Fraction]], scale: Fraction) -> Measurement:
    common = math.lcm(*(entry.denominator for row in rows for entry in row))
    whole = np.array([[int(entry * common) for entry in row] for row in rows], object)
    if int(np.abs(whole).sum(axis=0).max()) < 2**60:
        whole = whole.astype(np.int64)
    return Measurement(LinearQuery(Table(policy.domain.names, whole, Fraction(1, common))), scale * common)


def _plain(entry: Any) -> Any:
    return entry.item() if isinstance(entry, np.generic) else entry
