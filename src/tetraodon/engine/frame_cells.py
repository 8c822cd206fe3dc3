"""Frames of pandas and polars as pyarrow tables.

pandas gives a column the type `object` as soon as one cell does not fit the others. So that this one cell changes
nothing for the rest, each cell is written as a column of its own type would be read: 1.0 as `1`, True as `true`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Collection
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import pyarrow

from tetraodon.engine.arrow_cells import arrow_table, chosen

if TYPE_CHECKING:
    import pandas
    import polars

WHOLE_BELOW = 1e15
"""Reals below are spelt as whole numbers if they are."""
INFINITE = "1e400"
"""Larger than any number, in a form that is read as one."""
DIGITS = 400
LARGEST = 10**DIGITS
"""No number from here on is written out: it is infinite, and the inverse of one is 0."""


def polars_table(frame: polars.DataFrame, wanted: Collection[str]) -> pyarrow.Table:
    """A polars frame as `arrow_table` makes one."""
    return arrow_table(narrowed(frame.select(chosen(wanted, frame.columns))).to_arrow())


def narrowed(frame: Any) -> Any:
    """A polars frame or query with whole numbers of 128 bits as text, for pyarrow has no such type."""
    import polars

    wide = [name for name, kind in frame.collect_schema().items() if str(kind) in ("Int128", "UInt128")]
    return frame.with_columns(polars.col(wide).cast(polars.String)) if wide else frame


def pandas_table(frame: pandas.DataFrame, wanted: Collection[str]) -> pyarrow.Table:
    """A pandas frame as `arrow_table` makes one; columns of objects and of categories as text."""
    known = [str(name) for name in frame.columns]
    names = chosen(wanted, known)
    return arrow_table(pyarrow.table({name: _series(frame.iloc[:, known.index(name)]) for name in names}))


def _series(series: pandas.Series[Any]) -> Any:
    import pandas

    kind = series.dtype
    if isinstance(kind, pandas.CategoricalDtype):
        codes = series.cat.codes.to_numpy()  # -1 where the value is missing
        return _texts(kind.categories).take(pyarrow.array(codes, mask=codes < 0))
    if kind == np.dtype(object) or (isinstance(kind, pandas.StringDtype) and kind.storage == "python"):
        return _texts(series)
    made = None
    with suppress(pyarrow.ArrowNotImplementedError, pyarrow.ArrowTypeError):
        made = pyarrow.array(series, from_pandas=True)
    strange = made is None or isinstance(kind, pandas.PeriodDtype | pandas.IntervalDtype)
    return pyarrow.nulls(len(series), pyarrow.binary()) if strange else made


def _texts(cells: Any) -> pyarrow.StringArray:
    return pyarrow.array([spelt(cell) for cell in cells], pyarrow.string())


def spelt(cell: object) -> str | None:
    """A cell as text, None if it is missing or of a type that no attribute is read from.

    >>> [spelt(cell) for cell in (1, 1.0, 2.5, True, Decimal("1.50"), dt.date(2026, 1, 2), float("nan"), b"x")]
    ['1', '1', '2.5', 'true', '1.5', '2026-01-02', None, None]
    """
    match cell:
        case str():
            return None if any("\ud800" <= letter <= "\udfff" for letter in cell) else cell
        case bool() | np.bool_():
            return "true" if cell else "false"
        case int() | np.integer():
            return str(int(cell)) if abs(int(cell)) < LARGEST else _real(math.inf if cell > 0 else -math.inf)
        case float() | np.floating():
            return _real(cell)
        case Decimal():
            return _fixed(cell)
        case dt.datetime() | np.datetime64() if cell != cell:  # not a time
            return None
        case dt.datetime():
            return cell.isoformat(" ", "microseconds")
        case dt.date() | UUID() | np.datetime64():
            return str(cell)
        case _:
            return None


def _real(number: float | np.floating[Any]) -> str | None:
    value = float(number)
    if math.isnan(value):
        return None
    if math.isinf(value):
        return INFINITE if value > 0 else f"-{INFINITE}"
    if value.is_integer() and abs(value) < WHOLE_BELOW:
        return str(int(value))
    return str(number)  # of a single, the shortest text that means it


def _fixed(number: Decimal) -> str | None:
    if number.is_nan():
        return None
    if not number or number.adjusted() <= -DIGITS:
        return "0"
    if number.is_infinite() or number.adjusted() >= DIGITS:
        return _real(math.copysign(math.inf, number))
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
