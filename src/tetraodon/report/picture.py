"""Pictures: what there is to draw, and numbers rounded no finer than their error allows."""

from __future__ import annotations

import datetime as dt
import math
from calendar import month_name
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any, Literal, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Grid, Integers
from tetraodon.exact.arrays import Floats, Ints

# -- picture ----------------------------------------------------------------------------------------

Kind: TypeAlias = Literal["quantity", "date", "order", "name"]
Numbers: TypeAlias = NDArray[Any]
Sums: TypeAlias = Callable[[Sequence[Ints]], tuple[Floats, Floats]]
"""The intervals of sums over blocks: for each axis where its runs of neighbours start, and where the last one ends."""


@dataclass(frozen=True)
class DrawnAxis:
    """Positions with a label each: names, or values of an attribute from `first` to `last`, one code or more each."""

    title: str
    names: tuple[str, ...] = ()
    attribute: Attribute | None = None
    first: Ints | None = None
    last: Ints | None = None

    @property
    def size(self) -> int:
        return len(self.names) if self.first is None else len(self.first)

    @property
    def kind(self) -> Kind:
        return "name" if self.attribute is None else kind_of_values(self.attribute)

    @property
    def ordered(self) -> bool:
        return self.kind != "name"

    @property
    def grouped(self) -> bool:
        """Whether several values are drawn together."""
        return self.first is not None and self.last is not None and bool((self.first != self.last).any())

    def text(self, place: int) -> str:
        """A position as a person writes it: `34`, or `30..39` for several values drawn together."""
        if self.attribute is None or self.first is None or self.last is None:
            return self.names[place]
        ends = [self.attribute.text(int(code[place])) for code in (self.first, self.last)]
        return ends[0] if ends[0] == ends[1] else "..".join(ends)

    def datum(self, place: int) -> str | float | int:
        """A position as a chart places it: in the middle of what is drawn together."""
        if self.attribute is None or self.first is None or self.last is None:
            return self.names[place]
        low, high = int(self.first[place]), int(self.last[place])
        match self.kind:
            case "quantity":
                number = self.attribute.number
                return plain(number(low) if low == high else (number(low) + number(high)) / 2)
            case "date":
                return self.attribute.text((low + high) // 2)
            case "order" | "name":
                return self.text(place)
            case _:
                assert_never(self.kind)

    def taken(self, places: Ints) -> DrawnAxis:
        """Some of the positions."""
        if self.first is None or self.last is None:
            return replace(self, names=tuple(self.names[place] for place in places))
        return replace(self, first=self.first[places], last=self.last[places])


@dataclass(frozen=True)
class Picture:
    """Numbers along axes, one array dimension each; `what` says of what, in a few words.

    `running` numbers belong to the last axis and never fall; `sums` is there where neighbours may be drawn together;
    `of` is the attribute whose values the numbers are; `note` says what was left out.
    """

    what: str
    axes: tuple[DrawnAxis, ...]
    title: str
    values: Numbers
    lower: Numbers
    upper: Numbers
    exact: bool = False
    running: bool = False
    sums: Sums | None = None
    of: Attribute | None = None
    note: str = ""

    @property
    def adds_up(self) -> bool:
        """Whether neighbours may be drawn together."""
        return self.sums is not None

    @property
    def kind(self) -> Kind:
        """What the numbers are: quantiles of dates are dates."""
        return "quantity" if self.of is None else kind_of_values(self.of)


def kind_of_values(attribute: Attribute) -> Kind:
    """How a chart can place the values of an attribute."""
    if attribute.separate:
        return "name"
    match attribute.values:
        case Integers() | Grid():
            return "quantity"
        case Dates():
            return "date"
        case Categories(ordered=True):
            return "order"
        case Categories() | Booleans():
            return "name"
        case _:
            assert_never(attribute.values)


def plain(number: Any) -> float | int:
    """A number that JSON can hold, whole where it is whole."""
    exact = float(number)
    return int(exact) if exact == int(exact) and abs(exact) < 2**53 else exact


# -- rounding ---------------------------------------------------------------------------------------
# Released numbers as people read them: rounded no finer than their error allows, and intervals rounded outwards.


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
