"""Questions that are products of questions about single attributes, never written out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tetraodon.arrays import Floats
from tetraodon.domain import Attribute, Domain
from tetraodon.errors import QueryError
from tetraodon.questions import Count, Histogram, Query


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
