"""The table to be clustered: numbers in columns, checked, and then positions on the declared grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.domain import Attribute
from tetraodon.errors import TableError


class BadTable(TableError, ValueError):
    """A table that cannot be clustered; also a ValueError, as users of scikit-learn expect."""


def matrix_of(X: Any, names: Sequence[str], *, fitted: int | None = None) -> Floats:
    """X as a matrix of finite numbers, one column for each name.

    Raises BadTable, without telling any value, where that cannot be.
    """
    labels = getattr(X, "columns", None)
    if labels is not None and 0 < len(set(names) & set(labels)) < len(names):
        missing = sorted(set(names) - set(labels))
        raise BadTable(f"X has no column {missing[0]!r}", fix=f"give columns named {', '.join(names)}, or no names")
    if labels is not None and list(labels) != list(names) and set(names) <= set(labels):
        X = X[list(names)]  # a data frame with the columns in another order, or with more of them
    if hasattr(X, "toarray"):
        raise BadTable("X is sparse", fix="give a dense table")
    table = np.asarray(X)
    if table.dtype.kind == "c":
        raise BadTable("Complex data not supported", fix="give real numbers")
    if table.dtype.kind not in "biuf":
        try:
            table = table.astype(np.float64)
        except (TypeError, ValueError):
            raise BadTable("a column does not hold numbers", fix="give numeric columns") from None
    if table.ndim != 2:
        raise BadTable(
            f"Expected 2D array, got {'scalar' if table.ndim == 0 else f'{table.ndim}D'} array instead",
            fix="Reshape your data: one row for each record, one column for each attribute",
        )
    if table.shape[1] != len(names):
        wanted = len(names) if fitted is None else fitted
        raise BadTable(
            f"X has {table.shape[1]} features, but PolicyKMeans is expecting {wanted} features as input",
            fix=f"give one column for each of: {', '.join(names)}",
        )
    if not len(table):
        raise BadTable("Found array with 0 sample(s) while a minimum of 1 is required", fix="give at least one row")
    numbers = table.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise BadTable("Input X contains NaN or infinity", fix="drop or fill in missing values first")
    return numbers


def codes_of(table: Floats, attributes: Sequence[Attribute]) -> Ints:
    """Positions on the declared grids; values outside go to the nearer end."""
    codes = np.empty(table.shape, np.int64)
    for column, attribute in enumerate(attributes):
        low, step = float(attribute.number(0)), float(attribute.step)
        place = np.clip((table[:, column] - low) / step, 0, attribute.size - 1)
        codes[:, column] = np.floor(place + 0.5)
    return codes
