"""What a list of linear queries asks of every pair of cells: W'W, without writing W out where it is long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tetraodon.arrays import Floats
from tetraodon.domain import Domain
from tetraodon.errors import QueryError, Refused
from tetraodon.questions import Query, linear
from tetraodon.workload.contribution import AllRanges

MOST_CELLS = 2500


@dataclass(frozen=True, eq=False)
class Gram:
    """W'W over the cells of a domain, and how many queries W has; W itself where it is not long."""

    matrix: Floats
    queries: int
    rows: Floats | None = None


def gram_of(workload: Any, domain: Domain) -> Gram:
    """The Gram matrix of a question, of several, or of a matrix with one column for each cell.

    Raises QueryError for what is empty, has the wrong number of columns or is not finite.
    """
    if domain.size > MOST_CELLS:
        raise Refused(
            f"the domain has more than {MOST_CELLS:,} cells, too many to optimise for",
            fix="use fewer or coarser attributes, or ask for cdf, ranges or histograms by name",
        )
    if _is_query(workload):
        return _of_query(workload, domain)
    if only_queries(workload):
        parts = [_of_query(part, domain) for part in workload]
        short = [part.rows for part in parts if part.rows is not None]
        rows = np.concatenate(short) if len(short) == len(parts) else None
        return Gram(np.sum([part.matrix for part in parts], axis=0), sum(part.queries for part in parts), rows)
    return _of_matrix(workload, domain)


def only_queries(workload: Any) -> bool:
    """Whether a workload is a question or a list of them, rather than a matrix."""
    if isinstance(workload, Sequence) and not isinstance(workload, str):
        return len(workload) > 0 and all(_is_query(part) for part in workload)
    return _is_query(workload)


def _is_query(workload: Any) -> bool:
    return isinstance(workload, Query)


def _of_query(query: Query, domain: Domain) -> Gram:
    asked = linear(query, domain)
    if isinstance(asked.contribution, AllRanges) and not asked.by and len(domain.names) == 1:
        code = np.arange(domain.size)
        inside = (np.minimum.outer(code, code) + 1.0) * (domain.size - np.maximum.outer(code, code))
        return Gram(inside, asked.contribution.rows)
    rows, unit = asked.matrix(domain)
    written = rows.astype(np.float64) * float(unit)
    return _gram(written)


def _of_matrix(workload: Any, domain: Domain) -> Gram:
    dense = workload.toarray() if hasattr(workload, "toarray") else workload
    try:
        rows = np.atleast_2d(np.asarray(dense, np.float64))
    except (TypeError, ValueError):
        raise QueryError("the workload is not a matrix of numbers", fix="give one row for each query") from None
    if rows.ndim != 2 or rows.size == 0 or not rows.any():
        raise QueryError("the workload asks for nothing", fix="give at least one row that is not zero")
    if rows.shape[1] != domain.size:
        raise QueryError(
            f"the workload does not have one column for each of the {domain.size} cells", fix="give one column per cell"
        )
    if not np.isfinite(rows).all():
        raise QueryError("the workload has an entry that is not a finite number", fix="use finite numbers")
    return _gram(rows)


def _gram(rows: Floats) -> Gram:
    return Gram(rows.T @ rows, len(rows), rows if len(rows) <= rows.shape[1] else None)
