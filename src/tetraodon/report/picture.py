"""What there is to draw: numbers with intervals along a few axes, before anybody decides how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, assert_never

from numpy.typing import NDArray

from tetraodon.arrays import Floats, Ints
from tetraodon.domain import Attribute, Booleans, Categories, Dates, Grid, Integers

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
