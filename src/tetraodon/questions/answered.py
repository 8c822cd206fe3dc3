"""What was released about an item, as its question sees it, and how that becomes named columns."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Bools, Floats, Ints
from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.workload.linear import Split

Columns: TypeAlias = dict[str, NDArray[Any]]


class Interval(Protocol):
    """A number between two ends."""

    @property
    def lower(self) -> float: ...
    @property
    def upper(self) -> float: ...
    def __float__(self) -> float: ...


class CountTable(Protocol):
    """A released table of counts, with intervals that hold the truth with 95% probability unless they say otherwise."""

    @property
    def values(self) -> Floats: ...

    @property
    def unbiased(self) -> Floats:
        """The counts as all measurements together tell them, neither rounded nor kept above zero."""

    @property
    def quantile_confidence(self) -> Fraction:
        """What running counts must be known with, so that a quantile read from them is known with 95%."""

    def add_up(self, mask: Bools) -> Interval:
        """The number of records in some cells."""

    def cells(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of every cell."""

    def running(self, confidence: Fraction = ...) -> tuple[Floats, Floats, Floats]:
        """Running counts along the last attribute, with their lower and upper ends."""


@dataclass(frozen=True, eq=False)
class MeasuredSum:
    """A sum that was measured, one number for each cell of its splits, in multiples of `unit`.

    `numbers` are estimates without bias, and `reach(failures)` is how far off each is, in units, but for a chance of 5%
    divided by so many. `told` is what is published of them, where that is something else.
    """

    numbers: Floats | Ints
    unit: Fraction
    exact: bool
    reach: Callable[[int], Floats | float]
    told: Floats | None = None

    def off(self, failures: int) -> Floats:
        """`reach` for the only number of every cell."""
        return np.broadcast_to(self.reach(failures), np.shape(self.numbers))[..., 0]

    @property
    def published(self) -> Floats:
        """The numbers that answers are computed from, in units."""
        return np.asarray(self.numbers if self.told is None else self.told, np.float64)


class Answered(Protocol):
    """What was released about an item."""

    @property
    def domain(self) -> Domain: ...

    @property
    def whole(self) -> bool:
        """Whether counts are to be whole and not negative."""

    @property
    def noisy(self) -> bool:
        """Whether there is any noise in it."""

    @property
    def averaged(self) -> bool:
        """Whether it was inferred as version 0.1 did."""

    @property
    def axes(self) -> tuple[Split, ...]:
        """The axes of the table of counts."""

    @property
    def table(self) -> CountTable | None:
        """The table of counts behind the answer, if there is one."""

    @property
    def sums(self) -> tuple[MeasuredSum, ...]:
        """What was measured itself, in the order of `Query.sums`."""

    def clusters(self) -> tuple[Floats, Floats]:
        """Centres of clusters and their sizes, where clusters were asked for."""

    def made_up(self, n: int) -> dict[str, Ints]:
        """The codes of so many made-up records, by attribute, where such were asked for."""


# -- columns -----------------------------------------------------------------------------------


MEASURED = "measured"
"""Beside whole counts, the column of what they were before they were rounded and kept above zero."""
ROUNDING = 1e-6
"""What floats may have added to an end of an interval."""


def with_interval(word: str, values: NDArray[Any], lower: NDArray[Any], upper: NDArray[Any]) -> Columns:
    """The columns of an answer and of its interval."""
    return {word: values.ravel(), "lower": lower.ravel(), "upper": upper.ravel()}


def with_counts(
    word: str, values: Floats, interval: tuple[Floats, Floats], unbiased: Floats, answered: Answered
) -> Columns:
    """The columns of counts; whole ones that are not exact have what was measured beside them."""
    if not answered.whole:
        return with_interval(word, values, *interval)
    whole = (np.rint(part).astype(np.int64) for part in (values, *interval))
    return with_interval(word, *whole) | ({MEASURED: unbiased.ravel()} if answered.noisy else {})


def possible_ends(
    centre: Floats, reach: Floats | float, values: Floats, most: Floats | float = math.inf
) -> tuple[Floats, Floats]:
    """Ends of intervals of counts: whole, from 0 to the most there can be, and around the published counts.

    Pre   with some probability the truth is no farther from `centre` than `reach`.
    Post  with at least that probability it lies between the ends. None of them is shorter than its reach unless that
          is more than there can be.
    Why   where noise has pushed a centre out of what is possible, the nearest possible number is no farther from the
          truth, and takes its place: so an interval that lies below zero does not become the point zero.

    >>> possible_ends(np.array([-9.5, 3.2, 98.0]), 4.0, np.array([0.0, 3.0, 97.0]), 99)
    (array([ 0.,  0., 94.]), array([ 4.,  7., 99.]))
    """
    centre = np.clip(centre, 0.0, most)
    lower = np.maximum(np.ceil(centre - reach - ROUNDING), 0.0)
    upper = np.minimum(np.floor(centre + reach + ROUNDING), most)
    return np.minimum(lower, values), np.maximum(upper, values)


def ends_of_counts(
    centre: Floats, reach: Floats | float, values: Floats, *, averaged: bool = False
) -> tuple[Floats, Floats]:
    """As `possible_ends`, where counts are published as they were estimated: not rounded, and maybe below zero.

    Post  no end is below zero, where no count can be, even if the published number is; but for releases of version 0.1,
          which averaged margins: their ends stay as they were published.

    >>> ends_of_counts(np.array([-9.5, 3.25]), 4.0, np.array([-8.5, 3.0]))
    (array([0., 0.]), array([4.  , 7.25]))
    """
    if averaged:
        return np.minimum(np.maximum(centre - reach, 0.0), values), np.maximum(np.maximum(centre + reach, 0.0), values)
    centre = np.maximum(centre, 0.0)
    lower = np.maximum(centre - reach, 0.0)
    return np.minimum(lower, np.maximum(values, 0.0)), np.maximum(centre + reach, values)


def counted(table: CountTable, answered: Answered) -> Columns:
    """A table of counts as columns."""
    counts = with_counts("count", table.values, table.cells(), table.unbiased, answered)
    return labels(answered.axes, answered.domain) | counts


def measured_counts(measured: MeasuredSum, answered: Answered, whole: bool) -> Columns:
    """Counts that were measured themselves, as columns."""
    unit = float(measured.unit)
    number, value = (np.asarray(one, np.float64) * unit for one in (measured.numbers, measured.published))
    reach = measured.reach(1) * unit
    if whole:
        value = np.maximum(np.rint(value), 0.0)
        return with_counts("count", value, possible_ends(number, reach, value), number, answered)
    return with_interval("count", value, *ends_of_counts(number, reach, value, averaged=answered.averaged))


def labels(splits: Sequence[Split], domain: Domain, extra: int = 1, beside: str = "") -> Columns:
    """One column of values per split, in the order of the table's cells, each repeated `extra` times.

    `beside` is the column of the answer, where it is not among those of `OURS`.
    """
    shape = [split.size(domain) for split in splits]
    columns: Columns = {}
    for axis, split in enumerate(splits):
        view = [1] * (len(shape) + 1)
        view[axis] = -1
        column = split_values(split, domain[split.name]).reshape(view)
        columns[column_name(split.name, beside)] = np.broadcast_to(column, (*shape, extra)).ravel()
    return columns


OURS = frozenset(
    "at_most cluster count high low lower mean measured quantile range records term total upper".split()  # noqa: SIM905
)
"""Names that no attribute's column has in any answer, so that all tables of a release call it the same."""


def column_name(attribute: str, beside: str = "") -> str:
    """The column an attribute is written in: its name, unless an answer's own column is called that."""
    return f"{attribute}_value" if attribute in OURS or attribute == beside else attribute


def split_values(split: Split, attribute: Attribute) -> NDArray[Any]:
    """The values, or the names of the bins, of a split."""
    if split.bins is not None:
        named = split.labels or tuple(f"bin {number}" for number in range(max(split.bins) + 1))
        return np.array(named, object)
    return attribute_values(attribute)


def attribute_values(attribute: Attribute) -> NDArray[Any]:
    """All values of an attribute as an array of the natural type; as texts where missing ones stand among them."""
    if attribute.separate:
        return np.array(attribute.labels, object)
    match attribute.values:
        case Integers(low=low, high=high):
            return np.arange(low, high + 1, dtype=np.int64 if max(abs(low), abs(high)) < 2**62 else object)
        case Grid(low=low, step=step):
            return np.array([float(low + code * step) for code in range(attribute.size)])
        case Dates(first=first):
            return np.array([first + dt.timedelta(days=d) for d in range(attribute.size)], "datetime64[D]")
        case Booleans():
            return np.array([False, True])
        case Categories(labels=names):
            return np.array(names, object)
        case _:
            assert_never(attribute.values)
