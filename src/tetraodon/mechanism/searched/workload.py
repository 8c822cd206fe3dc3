"""What a workload asks: W'W over every pair of cells, or a product of questions about single attributes.

W is not written out where it is long, and a product never is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tetraodon.arrays import Floats
from tetraodon.domain import Attribute, Domain
from tetraodon.errors import QueryError, Refused
from tetraodon.questions import Count, Histogram, Query, linear
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


# -- products, never written out -----------------------------------------------------------------------------


class Kronecker:
    """Every combination of a row of each attribute's matrix; attributes that are not named are added up.

    A matrix has a column for each value of its attribute; None stands for every value by itself.

    >>> Kronecker({"sex": None, "age": [[1, 1, 0], [0, 1, 1]]}).names
    ('sex', 'age')
    """

    def __init__(self, factors: Mapping[str, Any]) -> None:
        self.factors = {name: None if rows is None else _matrix(name, rows) for name, rows in factors.items()}
        self._sizes: dict[str, int] = {}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.factors)

    def within(self, domain: Domain) -> Kronecker:
        """The same, checked against a domain."""
        for name, rows in self.factors.items():
            size = domain[name].size
            if rows is not None and rows.shape[1] != size:
                raise QueryError(f"a factor does not have one column for each of the {size} values", fix=f"see {name}")
            self._sizes[name] = size
        return self

    @property
    def queries(self) -> int:
        return math.prod(self._sizes[n] if rows is None else len(rows) for n, rows in self.factors.items())

    def differences(self, attribute: Attribute) -> float:
        """The summed variance of a factor's rows when cells are differences of running counts with variance one."""
        if attribute.name not in self.factors:
            return 1.0
        rows = self.factors[attribute.name]
        if rows is None:
            return 2.0 * attribute.size - 1
        return float((np.diff(rows, axis=1, append=0.0) ** 2).sum())

    def gram(self, attribute: Attribute) -> Floats:
        """What a factor asks of every pair of its attribute's values; of all alike where it adds them up."""
        if attribute.name not in self.factors:
            return np.ones((attribute.size, attribute.size))
        rows = self.factors[attribute.name]
        return np.eye(attribute.size) if rows is None else rows.T @ rows


def products_of(workload: Any, domain: Domain) -> list[Kronecker] | None:
    """A workload as products; None where some of it is not one."""
    listed = workload if isinstance(workload, Sequence) and not isinstance(workload, str) else [workload]
    found = [_product(part) for part in listed]
    return None if not found or None in found else [one.within(domain) for one in found if one is not None]


def _product(part: Kronecker | Query | object) -> Kronecker | None:
    match part:
        case Kronecker():
            return part
        case Histogram() if not part.bins:
            return Kronecker(dict.fromkeys(part.attributes))
        case Count() if not part.where:
            return Kronecker(dict.fromkeys(part.by))
        case _:
            return None


def sums_of_squares(product: Kronecker, attribute: Attribute) -> tuple[float, float]:
    """What a product asks of the differences between an attribute's values, and of their sum."""
    size = attribute.size
    if attribute.name not in product.factors:
        return 0.0, float(size)
    rows = product.factors[attribute.name]
    if rows is None:
        return size - 1.0, 1.0
    along = float((rows.sum(axis=1) ** 2).sum()) / size
    return max(float((rows**2).sum()) - along, 0.0), along


def _matrix(name: str, rows: Any) -> Floats:
    try:
        found = np.atleast_2d(np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, np.float64))
    except (TypeError, ValueError):
        raise QueryError(
            f"the factor of {name} is not a matrix of numbers", fix="give one row for each query"
        ) from None
    if found.ndim != 2 or not found.any() or not np.isfinite(found).all():
        raise QueryError(f"the factor of {name} asks for nothing", fix="give finite rows that are not all zero")
    return found
