"""Released numbers as people read them: rounded no finer than their error allows, and intervals rounded outwards."""

from __future__ import annotations

import datetime as dt
import math
from calendar import month_name
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from tetraodon.releasing.answer import Answer
from tetraodon.releasing.columns import Columns
from tetraodon.releasing.report_element import Html, element, joined

MOST_ROWS = 200
_NUMBERS = ("count", "at_most", "total", "mean")
CLUSTERS = "records"
"""The last column of an answer that has no intervals: about how many records a cluster has."""
_HEADINGS = {
    "records": "records, about",
    "at_most": "at most this value",
    "lower": "lower (95%)",
    "upper": "upper (95%)",
    "quantile": "share",
}


def value_column(columns: Columns) -> str:
    """The column with the answers: the one before `lower` and `upper`, or the last where there are none."""
    return list(columns)[-3] if "lower" in columns else CLUSTERS


def shown(value: Any) -> str:
    """A value of an attribute.

    >>> shown(True), shown(0.1 + 0.2), shown(np.datetime64("2026-01-31")), shown(1234567)
    ('true', '0.3', '2026-01-31', '1234567')
    """
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating):
        return f"{value:.12g}"
    return str(value)


def places(lower: NDArray[Any], upper: NDArray[Any]) -> int:
    """How many decimals the answers deserve: two digits of the usual width of their intervals."""
    width = np.abs(upper.astype(float) - lower.astype(float))
    width = width[width > 0]
    if not len(width):
        return 0 if np.all(lower == np.round(lower.astype(float))) else 6
    return min(max(1 - math.floor(math.log10(float(np.median(width)))), 0), 9)


def rounded(value: float, decimals: int, *, up: bool | None = None) -> str:
    """A number with thousands marked, rounded to the nearest, or up or down so that an interval only grows.

    >>> rounded(1234.56, 0), rounded(0.31, 1, up=True), rounded(-0.04, 1)
    ('1,235', '0.4', '0.0')
    """
    if up is not None:
        unit = 10**decimals
        nudge = 1e-9 * max(1.0, abs(value * unit))
        value = (math.ceil(value * unit - nudge) if up else math.floor(value * unit + nudge)) / unit
    text = f"{value:,.{decimals}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text


def _cells(name: str, column: NDArray[Any], word: str, decimals: int) -> list[str]:
    numeric = np.issubdtype(column.dtype, np.number)
    if name == "quantile":
        return [f"{100 * share:.6g}%" for share in column.tolist()]
    if word == CLUSTERS and name != "cluster":
        return [f"{value:,.0f}" if name == word else f"{value:.6g}" for value in column.tolist()]
    if word in _NUMBERS and name in (word, "lower", "upper") and numeric:
        up = {"lower": False, "upper": True}.get(name)
        return [rounded(float(value), decimals, up=up) for value in column.tolist()]
    return [shown(value) for value in column]


def answer_table(answer: Answer) -> Html:
    """The first rows of an answer, with a link to all of them."""
    columns = answer.columns
    word = value_column(columns)
    rows = len(columns[word])
    head = {name: column[:MOST_ROWS] for name, column in columns.items()}
    decimals = places(columns["lower"], columns["upper"]) if word in _NUMBERS else 0
    texts = [_cells(name, column, word, decimals) for name, column in head.items()]
    right = [_is_number(column) for column in head.values()]
    units = [_heading(answer, name) for name in head]
    heads = [element("th", unit, scope="col", class_="n" if n else False) for unit, n in zip(units, right, strict=True)]
    body = joined(
        element("tr", *(element("td", text, class_="n" if n else False) for text, n in zip(row, right, strict=True)))
        for row in zip(*texts, strict=True)
    )
    told = f"the first {MOST_ROWS} of {rows:,} rows" if rows > MOST_ROWS else "all rows" if rows > 1 else "one row"
    rounding = "records are rounded" if word == CLUSTERS else "intervals are rounded outwards"
    caption = f"{answer.name}: {told}; {rounding}."
    table = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *heads)),
        element("tbody", body),
        class_="rows",
    )
    files = [
        element("a", f"answers/{answer.name}.{kind}", href=f"answers/{quote(answer.name)}.{kind}")
        for kind in ("csv", "parquet")
    ]
    return joined(
        [
            element("div", table, class_="scroll", tabindex="0", role="region", aria_label=caption),
            element("p", "All rows, unrounded: ", files[0], " or ", files[1], ".", class_="note"),
        ]
    )


def headline(answer: Answer) -> tuple[Html, ...]:
    """The answer itself, where it is a single number."""
    columns = answer.columns
    word = value_column(columns)
    if len(columns[word]) != 1 or word not in _NUMBERS:
        return ()
    decimals = places(columns["lower"], columns["upper"])
    number, lower, upper = (_cells(name, columns[name], word, decimals)[0] for name in (word, "lower", "upper"))
    exact = answer.item.mechanism == "exact"
    between = " exactly" if exact else f" between {lower} and {upper} with 95% confidence"
    return (element("p", element("strong", number), between, class_="headline"),)


def _heading(answer: Answer, name: str) -> str:
    unit = answer.domain[name].unit if name in answer.domain.names else ""
    title = _HEADINGS.get(name, name)
    return f"{title} ({unit})" if unit else title


def _is_number(column: NDArray[Any]) -> bool:
    return bool(np.issubdtype(column.dtype, np.number))


def date_text(text: str) -> str:
    """2026-01-31 as 31 January 2026; anything else as it is."""
    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        return text
    return f"{day.day} {month_name[day.month]} {day.year}"
