"""Columns of a pandas frame whose cells have types of their own, written as text cell by cell.

pandas gives a column the type `object` as soon as one cell does not fit the others. So that this one cell changes
nothing for the rest, each cell is written as a column of its own type would be read: 1.0 as `1`, True as `true`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Collection
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from tetraodon.errors import TableError

if TYPE_CHECKING:
    import pandas

WHOLE_BELOW = 1e15
"""Reals below are spelt as whole numbers if they are."""
INFINITE = "1e400"
"""Larger than any number, in a form that is read as one."""


def spelt_frame(frame: pandas.DataFrame, wanted: Collection[str]) -> pandas.DataFrame:
    """The wanted columns that are there; those of objects as text. The frame itself is left as it is."""
    import pandas

    names = list(frame.columns)
    for name in wanted:
        if names.count(name) > 1:
            raise TableError(f"two columns are named {name!r}", fix="give each its own name")
    made = {name: frame[name] for name in dict.fromkeys(wanted) if name in names}
    for name, series in made.items():
        kind = series.dtype
        if isinstance(kind, pandas.CategoricalDtype):
            known = [*map(spelt, kind.categories), None]  # the code of what is missing is -1
            made[name] = pandas.Series([known[code] for code in series.cat.codes], dtype=object)
        elif kind == np.dtype(object) or (isinstance(kind, pandas.StringDtype) and kind.storage == "python"):
            made[name] = pandas.Series([spelt(cell) for cell in series], dtype=object)
        else:
            made[name] = series.reset_index(drop=True)
    return pandas.DataFrame(made, index=range(len(frame)))


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
            return str(int(cell))
        case float() | np.floating():
            return _real(cell)
        case Decimal():
            return _real(float(cell)) if not cell.is_finite() else _fixed(cell)
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


def _fixed(number: Decimal) -> str:
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
