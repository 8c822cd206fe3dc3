"""Released numbers as people read them: rounded no finer than their error allows, and intervals rounded outwards."""

from __future__ import annotations

import datetime as dt
import math
from calendar import month_name
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from tetraodon.report.picture import Numbers


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


def places(lower: Numbers, upper: Numbers) -> int:
    """How many decimals the answers deserve: two digits of the usual width of their intervals; none if they are whole.

    >>> places(np.array([3]), np.array([5])), places(np.array([3.0]), np.array([5.0]))
    (0, 1)
    """
    if lower.dtype.kind in "iu" and upper.dtype.kind in "iu":
        return 0
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


def date_text(text: str) -> str:
    """2026-01-31 as 31 January 2026; anything else as it is."""
    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        return text
    return f"{day.day} {month_name[day.month]} {day.year}"


def decimal_above(number: Fraction) -> str:
    """An exact number in decimals, to four digits and rounded up.

    >>> decimal_above(Fraction(1, 3)), decimal_above(Fraction(109, 110)), decimal_above(Fraction(200_001, 2))
    ('0.3334', '0.991', '100100')
    """
    short = Context(prec=4, rounding=ROUND_CEILING).divide(Decimal(number.numerator), Decimal(number.denominator))
    return f"{short:f}".rstrip("0").rstrip(".") if "." in f"{short:f}" else f"{short:f}"


def about(number: float) -> str:
    """A number to three digits, without an exponent where people would not write one.

    >>> about(126.561), about(0.01234), about(48_842.0), about(5.0)
    ('127', '0.0123', '48,800', '5')
    """
    if number == 0 or not 1e-4 <= abs(number) < 1e9:
        return f"{number:.3g}"
    short = float(f"{number:.3g}")
    return f"{short:,.0f}" if short == int(short) else f"{short:,.10g}"
