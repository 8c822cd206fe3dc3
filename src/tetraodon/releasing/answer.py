"""What an analyst holds: one item of a release, with the verbs that make sense for it."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from tetraodon.arrays import Bools, Floats
from tetraodon.displayed import Displayed
from tetraodon.domain import Domain, Value
from tetraodon.errors import QueryError
from tetraodon.inference.estimate import Estimate
from tetraodon.mechanism.strategy import Measured
from tetraodon.questions.answered import Columns, split_values
from tetraodon.questions.derived import Derived
from tetraodon.rational import Number, rational
from tetraodon.releasing.columns import columns_of, table_of
from tetraodon.releasing.estimates import Estimates
from tetraodon.releasing.many_ranges import many_intervals, many_ranges, one_rectangle, range_codes, rectangles_of
from tetraodon.releasing.plan import PlannedItem
from tetraodon.releasing.table_answer import TableAnswer
from tetraodon.workload.condition.names import Names
from tetraodon.workload.condition.nodes import Always, Truth
from tetraodon.workload.condition.read import read_condition, truth_table
from tetraodon.workload.condition.truth import evaluate

if TYPE_CHECKING:
    import pandas
    import polars


class AnswerColumns(Displayed, ABC):
    """What is told of one item: columns of equal length, in the forms that analysts want."""

    @property
    @abstractmethod
    def columns(self) -> Columns:
        """The answer and its interval, beside what it is about."""

    def to_polars(self) -> polars.DataFrame:
        """The answer as a polars frame."""
        frame: polars.DataFrame = frame_of("polars", self.columns)
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """The answer as a pandas frame."""
        frame: pandas.DataFrame = frame_of("pandas", self.columns)
        return frame

    def document(self) -> Mapping[str, Any]:
        """Columns as lists, for JSON."""
        return {name: [_plain(value) for value in column] for name, column in self.columns.items()}


@dataclass(frozen=True, eq=False)
class Answer(AnswerColumns):
    """The released answer to one item."""

    item: PlannedItem
    domain: Domain
    measured: Measured
    estimates: Estimates

    @property
    def name(self) -> str:
        return self.item.name

    @property
    def sentence(self) -> str:
        """What was asked."""
        those = self.item.strategy.among
        return self.item.item.sentence(self.domain if those is None else those.domain)

    @property
    def kind(self) -> str:
        """The word for its question in the policy file."""
        return self.item.item.query.words[0]

    @property
    def values(self) -> Floats | None:
        """The published table of counts, if there is one."""
        found = self.estimates.tables.get((self.name, None))
        return None if found is None else found.published

    @cached_property
    def table(self) -> TableAnswer:
        """The table of counts behind the answer, if there is one."""
        found = table_of(self.item, self.domain, self.measured, self.estimates)
        if found is None:
            raise QueryError(
                f"{self.name} is not a table of counts", fix="ask a histogram, a cdf or ranges; or read `columns`"
            )
        return found

    @cached_property
    def columns(self) -> Columns:
        """The answer as named columns: attributes, the answer, and the ends of its 95% interval.

        Beside whole counts, `measured` holds the same without rounding and without bias.
        """
        return columns_of(self.item, self.domain, self.measured, self.estimates)

    @cached_property
    def remark(self) -> str:
        """What readers must know of numbers that say nothing, such as a mean of nobody; empty where there are none."""
        query, rows = self.item.item.query, len(next(iter(self.columns.values())))
        if not isinstance(query, Derived) or not self.item.strategy.noisy:
            return ""
        silent = int(query.says_nothing(self.columns, self.domain).sum())
        told = "This number says" if rows == 1 else f"{silent:,} of {rows:,} numbers {'say' if silent > 1 else 'says'}"
        few = "there may be nobody, or so few that every value is possible, and what stands there is no estimate"
        return f"{told} nothing: {few}." if silent else ""

    def between(self, low: object, high: object, *, attribute: str | None = None) -> Estimate:
        """How many records have a value from `low` to `high`, both included; of a table in bins, whole bins only."""
        table = self.table
        name = table.ordered_name(attribute, binned=True)
        first, last = self.domain[name].code_from(low), self.domain[name].code_up_to(high)
        if first > last + 1:
            raise QueryError("the range is empty", fix="write the smaller end first")
        codes = np.arange(self.domain[name].size)
        return table.add_up(cells_where(table, (name,), (codes >= first) & (codes <= last)))

    def between_many(self, low: Sequence[object], high: Sequence[object]) -> Columns:
        """Many ranges at once, as columns: the count of each, and the ends of its 95% interval."""
        first, last = range_codes(self.table, low, high)
        lower, upper = many_intervals(self.table, first, last)
        return {"count": many_ranges(self.table, first, last), "lower": lower, "upper": upper}

    def rectangle(self, **sides: tuple[object, object]) -> Estimate:
        """How many records lie in a rectangle of a map: `rectangle(x=(0, 9), y=(3, 5))`, both ends included."""
        return one_rectangle(self.table, sides)

    def rectangles_many(self, sides: Mapping[str, tuple[Any, Any]]) -> Columns:
        """Many rectangles at once: for each side its low ends and its high ends. Columns as for `between_many`."""
        return rectangles_of(self.table, sides)

    def quantile(self, share: Number, *, attribute: str | None = None) -> Value:
        """The least value that at least this share of the records does not exceed."""
        return self.quantile_interval(share, attribute=attribute)[0]

    def quantile_interval(self, share: Number, *, attribute: str | None = None) -> tuple[Value, Value, Value]:
        """The quantile, and the least and largest value it can be with 95% confidence."""
        q = rational(share, name="quantile")
        if not 0 <= q <= 1:
            raise QueryError("a quantile is not between 0 and 1", fix="write a share such as 0.5")
        table = self.table
        name = table.ordered_name(attribute)
        found = self.domain[name]
        codes = table.quantile(name, q)
        return found.value(codes[0]), found.value(codes[1]), found.value(codes[2])

    def count(self, condition: str) -> Estimate:
        """How many records satisfy a condition on the table's attributes; `true` counts all of them."""
        table = self.table
        names, holds = truth_of(condition, self.domain)
        outside = [name for name in names if name not in table.names]
        if outside:
            raise QueryError(f"{self.name} does not know {outside[0]}", fix=f"ask about {', '.join(table.names)} only")
        return table.add_up(cells_where(table, names, holds))

    def __repr__(self) -> str:
        return f"<Answer {self.name}: {self.kind}, {len(next(iter(self.columns.values())))} rows>"


def frame_of(name: str, columns: Columns) -> Any:
    """Columns as a frame of a library that not everybody has."""
    try:
        return import_module(name).DataFrame(dict(columns))
    except ImportError:
        raise QueryError(f"{name} is not installed", fix=f"pip install {name}, or use .columns") from None


def truth_of(condition: str | Truth | None, domain: Domain) -> tuple[tuple[str, ...], Bools]:
    """The attributes that a condition is about, and whether it holds in each of their cells; None holds everywhere."""
    truth = read_condition(condition, Names(domain)) if isinstance(condition, str) else condition or Always(True)
    return truth_table(truth, domain) if truth.places else ((), np.asarray(evaluate(truth, {})[0]))


def cells_where(table: TableAnswer, names: tuple[str, ...], holds: Bools) -> Bools:
    """The cells of a table in which a condition on some of its attributes holds.

    Raises QueryError where it holds in a part of a bin only: the table cannot tell the parts of a bin apart.
    """
    shaped = holds.reshape([table.domain[name].size for name in names])
    for split in table.item.strategy.table:
        if split.bins is not None and split.name in names:
            axis, bins = names.index(split.name), np.asarray(split.bins)
            _, first = np.unique(bins, return_index=True)
            by_bin = shaped.take(first, axis)
            if not np.array_equal(by_bin.take(bins, axis), shaped):
                bins_told = "; ".join(str(label) for label in split_values(split, table.domain[split.name])[:8])
                raise QueryError(f"{split.name} was released in bins", fix=f"ask about whole bins: {bins_told}")
            shaped = by_bin
    order = [names.index(name) for name in table.names if name in names]
    view = [size if name in names else 1 for name, size in zip(table.names, table.values.shape, strict=True)]
    return np.broadcast_to(shaped.transpose(order).reshape(view), table.values.shape)


def _plain(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    return str(plain) if isinstance(plain, Fraction | dt.date) else plain
