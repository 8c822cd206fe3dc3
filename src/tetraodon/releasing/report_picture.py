"""What there is to draw of an answer: numbers with intervals along a few axes, before anybody decides how."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.releasing.answer import Answer
from tetraodon.releasing.report_table import value_column
from tetraodon.workload.areas import KMeans, Rectangles
from tetraodon.workload.linear import Split
from tetraodon.workload.query import Cdf, Count, Histogram, Mean, Quantiles, Ranges, Total

Kind: TypeAlias = Literal["quantity", "date", "order", "name"]
Numbers: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class Axis:
    """Positions with a label each: names, or values of an attribute from `first` to `last`, one code or more each."""

    title: str
    names: tuple[str, ...] = ()
    attribute: Attribute | None = None
    first: NDArray[np.int64] | None = None
    last: NDArray[np.int64] | None = None

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

    def taken(self, places: NDArray[np.int64]) -> Axis:
        """Some of the positions."""
        if self.first is None or self.last is None:
            return replace(self, names=tuple(self.names[place] for place in places))
        return replace(self, first=self.first[places], last=self.last[places])


@dataclass(frozen=True)
class Picture:
    """Numbers along axes, one array dimension each. `running` numbers belong to the last axis and never fall;
    `adds_up` says that neighbours may be drawn together; `note` says what was left out.
    """

    axes: tuple[Axis, ...]
    title: str
    values: Numbers
    lower: Numbers
    upper: Numbers
    running: bool = False
    adds_up: bool = False
    of: Attribute | None = None
    note: str = ""

    @property
    def kind(self) -> Kind:
        """What the numbers are: quantiles of dates are dates."""
        return "quantity" if self.of is None else kind_of_values(self.of)


def kind_of_values(attribute: Attribute) -> Kind:
    """How a chart can place the values of an attribute."""
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


def picture_of(answer: Answer) -> Picture:
    """The whole of an answer, nothing left out. Axes with a single position are dropped."""
    query, domain = answer.item.item.query, answer.domain
    of: Attribute | None = None
    match query:
        case Histogram() | Rectangles():
            axes, title = [axis_of(split, domain) for split in answer.item.strategy.table], "records"
        case Cdf():
            axes = [axis_of(split, domain) for split in answer.item.strategy.table]
            title = "records at or below the value"
        case Ranges() if query.named:
            axes = [axis_of(Split(name), domain) for name in query.by]
            axes.append(Axis(f"range of {titled(domain[query.attribute])}", tuple(name for name, _, _ in query.named)))
            title = "records"
        case Ranges():
            axes = [axis_of(split, domain) for split in answer.item.strategy.table]
            title = "records at or below the value"
        case Quantiles():
            axes = [axis_of(Split(name), domain) for name in query.by]
            axes.append(Axis("share of the records", tuple(f"{float(100 * share):.6g}%" for share in query.at)))
            of, title = domain[query.attribute], titled(domain[query.attribute])
        case Count():
            axes, title = [axis_of(Split(name), domain) for name in query.by], "records"
        case Total():
            axes = [axis_of(Split(name), domain) for name in query.by]
            title = f"sum of {query.attribute} times {query.weight}" if query.weight else _of("sum", query, domain)
        case Mean():
            axes, title = [axis_of(Split(name), domain) for name in query.by], _of("average", query, domain)
        case KMeans():
            raise AssertionError("clusters are drawn by themselves")
        case _:
            assert_never(query)
    columns = answer.columns
    shape = tuple(axis.size for axis in axes if axis.size > 1)
    values, lower, upper = (columns[name].reshape(shape) for name in (value_column(columns), "lower", "upper"))
    running = isinstance(query, Cdf) or (isinstance(query, Ranges) and not query.named)
    adds_up = isinstance(query, Histogram | Count | Rectangles) and answer.values is not None
    return Picture(tuple(axis for axis in axes if axis.size > 1), title, values, lower, upper, running, adds_up, of)


def axis_of(split: Split, domain: Domain) -> Axis:
    """The axis of a split: its values, or the names of its bins."""
    attribute = domain[split.name]
    if split.bins is not None:
        return Axis(titled(attribute), split.labels or tuple(f"group {n + 1}" for n in range(split.size(domain))))
    codes = np.arange(attribute.size, dtype=np.int64)
    return Axis(titled(attribute), (), attribute, codes, codes)


def titled(attribute: Attribute) -> str:
    """A name with its unit."""
    return f"{attribute.name} ({attribute.unit})" if attribute.unit else attribute.name


def _of(word: str, query: Total | Mean, domain: Domain) -> str:
    return f"{word} of {titled(domain[query.attribute])}"


def plain(number: Any) -> float | int:
    """A number that JSON can hold, whole where it is whole."""
    exact = float(number)
    return int(exact) if exact == int(exact) and abs(exact) < 2**53 else exact
