"""The answers of a release: tables, many ranges at once, and items as named columns."""

from __future__ import annotations

import datetime as dt
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from tetraodon.display import Displayed
from tetraodon.domain import Attribute, Domain, Integers, Value
from tetraodon.errors import DomainError, QueryError, did_you_mean
from tetraodon.exact.arrays import Bools, Floats, Ints
from tetraodon.exact.rational import Number, rational
from tetraodon.inference.consistency import Margin
from tetraodon.inference.estimate import CONFIDENCE, Estimate
from tetraodon.mechanism.aim import records_told
from tetraodon.mechanism.kmeans import centres_of
from tetraodon.mechanism.strategy import NOTHING, Ends, Measured, Scaled, box_mask, box_sums
from tetraodon.query.aim import ChosenTables
from tetraodon.query.condition.nodes import Always, Truth, evaluate
from tetraodon.query.condition.read import read_condition, truth_table
from tetraodon.query.condition.syntax import Names
from tetraodon.query.contribution import Contribution, One, Table
from tetraodon.query.kmeans import KMeans
from tetraodon.query.linear import LinearQuery, Measurement, Split
from tetraodon.query.moments import Derived
from tetraodon.query.query import Columns, MeasuredSum, ends_of_counts, possible_ends, split_values
from tetraodon.query.ranges import read_quantile
from tetraodon.releases.estimates import CombinedGroup, Estimated, Estimates, raw_table
from tetraodon.releases.plan import PlannedItem, PlannedNames

if TYPE_CHECKING:
    import pandas
    import polars


# -- table answer -----------------------------------------------------------------------------------
# A released table of counts: any part of it can be added up, with an interval that is honest for that part.


@dataclass(frozen=True, eq=False)
class TableAnswer:
    """Counts over the cells of an item's table. `values` are published, `measured` is what the noise left.

    `combined` estimates the table together with the others of the release, and says where it stands there.
    """

    item: PlannedItem
    domain: Domain
    measured: Measured
    estimated: Estimated
    combined: tuple[CombinedGroup, int] | None = None
    averaged: bool = False
    """Whether it was inferred as version 0.1 did."""

    @property
    def values(self) -> Floats:
        return self.estimated.published

    @property
    def unbiased(self) -> Floats:
        return self.estimated.unbiased

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(split.name for split in self.item.strategy.table)

    @cached_property
    def at(self) -> Scaled:
        """What is known of its errors before any data is seen."""
        return self.item.scaled(self.domain)

    @cached_property
    def raw(self) -> Floats:
        return raw_table(self.item, self.measured, self.domain)

    def add_up(self, mask: Bools, confidence: Fraction = CONFIDENCE) -> Estimate:
        """The number of records in the cells where `mask` is true.

        Why   the interval is that of an estimate without bias, widened to hold what is published: it covers the truth
              whatever the inference did. Of whole counts it has no end that is impossible.
        """
        together = self._together(mask.reshape(1, -1), confidence)
        if together is not None and self.combined is not None:
            centre, reach = float(together[0][0]), float(together[1][0])
            group, place = self.combined
            certain = reach < NOTHING and group.certain(place, mask.reshape(1, -1))
        elif (told := self.at.mechanism.interval(self.at, self.measured, mask, confidence)) is not None:
            centre, reach = told
            certain = reach == 0.0
        else:
            mechanism, at = self.at.mechanism, self.at
            centre = mechanism.sum_over(at, self.measured, self.raw, mask)
            certain = mechanism.is_certain(at, mask)
            reach = 0.0 if certain else self.reach(mask, confidence)
        if certain:
            return Estimate.certain(float(round(centre)))
        value = float(self.values[mask].sum())
        lower, upper = self._ends(np.asarray(centre), reach, np.asarray(value), self.most)
        return Estimate(value, float(lower), float(upper), confidence)

    @cached_property
    def most(self) -> float:
        """The most records that a sum of cells can have: all of them, where that is known."""
        return min((float(exact.sum()) for _, exact in self._exact_counts()), default=math.inf)

    @cached_property
    def most_in_cells(self) -> Floats:
        """The most records that each cell can have, where totals are known."""
        most = np.full(self.values.shape, math.inf)
        for query, exact in self._exact_counts():
            margin = Margin.of(query.by)
            totals = np.zeros(margin.cells(self.domain))
            totals[margin.places(query.by, self.domain)] = exact.ravel()
            inside = totals[margin.places(self.item.strategy.table, self.domain)]
            most = np.minimum(most, inside.reshape(most.shape))
        return most

    def _exact_counts(self) -> list[tuple[LinearQuery, Ints]]:
        """Numbers of records that were measured without noise."""
        strategy = self.item.strategy
        known = zip(strategy.exact, self.measured[len(strategy.noisy) :], strict=True)
        return [(query, array) for query, array in known if isinstance(query.contribution, One)]

    def reach(self, mask: Bools, confidence: Fraction = CONFIDENCE) -> float:
        """How far the sum over the cells where `mask` is true can be off by the noise of this item alone."""
        return self.at.mechanism.reach(self.at, mask, confidence)

    def _together(self, rows: Bools | Floats, confidence: Fraction) -> tuple[Floats, Floats] | None:
        """Sums of cells as everything that was measured tells them, and how far they can be off; a row of weights each.

        None where this table is all there is, or where it is too much work: then it speaks for itself. The plan alone
        decides, never the noise.
        """
        if self.combined is None or self.combined[0].alone:
            return None
        group, place = self.combined
        return group.sums(place, np.asarray(rows, np.float64), confidence)

    # -- very many boxes of cells at once ------------------------------------------------------------

    def boxes(
        self,
        low: Ends,
        high: Ends,
        centre: Floats,
        values: Floats,
        confidence: Fraction = CONFIDENCE,
        most: Floats | None = None,
    ) -> tuple[Floats, Floats]:
        """Lower and upper ends for sums over boxes of cells, each holding the truth by itself.

        Pre   `centre` are the sums of what the noise left, `values` those of the estimates; both ends are included.
              `most` is the most that they can be, by default all records.
        """
        together = self._boxes_together(low, high, confidence)
        together = together or self.at.mechanism.box_intervals(self.at, self.measured, low, high, confidence)
        if together is not None:
            centre, reach = (part.reshape(values.shape) for part in together)
        else:
            centre = self.at.mechanism.box_sums(self.at, self.measured, low, high, centre)
            reach = self.at.mechanism.box_reach(self.at, low, high, confidence)
        return self._ends(centre, reach, values, self.most if most is None else most)

    def _ends(
        self, centre: Floats, reach: Floats | float, values: Floats, most: Floats | float
    ) -> tuple[Floats, Floats]:
        if self.item.item.whole:
            return possible_ends(centre, reach, values, most)
        return ends_of_counts(centre, reach, values, averaged=self.averaged)

    def _boxes_together(self, low: Ends, high: Ends, confidence: Fraction) -> tuple[Floats, Floats] | None:
        ends = np.broadcast_arrays(*low, *high)
        if self.combined is None or self.combined[0].alone or not self.combined[0].affordable(ends[0].size):
            return None
        inside = np.ones((ends[0].size, *self.values.shape), np.bool_)
        for axis, size in enumerate(self.values.shape):
            first, last = (ends[axis + side * len(low)].ravel()[:, None] for side in (0, 1))
            within = (first <= np.arange(size)) & (np.arange(size) <= last)
            inside &= within.reshape(-1, *(size if a == axis else 1 for a in range(self.values.ndim)))
        return self._together(inside.reshape(len(inside), -1), confidence)

    def cells(self) -> tuple[Floats, Floats]:
        """Lower and upper end for every cell."""
        codes = np.ix_(*map(np.arange, self.raw.shape))
        together = None if self.combined is None else self.combined[0].each(self.combined[1], CONFIDENCE)
        if together is not None:
            centre, reach = (part.reshape(self.values.shape) for part in together)
            return self._ends(centre, reach, self.values, self.most_in_cells)
        return self.boxes(codes, codes, self.raw, self.values, most=self.most_in_cells)

    def running(self, confidence: Fraction = CONFIDENCE) -> tuple[Floats, Floats, Floats]:
        """Running counts along the last attribute with their lower and upper ends."""
        codes = np.ix_(*map(np.arange, self.raw.shape))
        low = (*codes[:-1], np.zeros_like(codes[-1]))
        values = np.cumsum(self.values, axis=-1)
        return _settled(values, *self.boxes(low, codes, np.cumsum(self.raw, axis=-1), values, confidence))

    @property
    def quantile_confidence(self) -> Fraction:
        """What running counts must be known with, so that a quantile read from them is known with `CONFIDENCE`.

        A quantile is missed when one of two running counts is, each on one side, or when the total is.
        """
        total_known = any(isinstance(query.contribution, One) for query in self.item.strategy.exact)
        return CONFIDENCE if total_known else 1 - (1 - CONFIDENCE) / 2

    def quantile(self, name: str, share: Fraction) -> tuple[int, int, int]:
        """Codes of the quantile of one attribute over the whole table, and of the ends of its interval."""
        axis = self.names.index(name)
        others = tuple(a for a in range(self.values.ndim) if a != axis)
        running, raw = (np.cumsum(counts.sum(axis=others)) for counts in (self.values, self.raw))
        high = [np.array([size - 1]) for size in self.values.shape]
        high[axis] = np.arange(len(running))
        low = tuple(np.zeros_like(ends) for ends in high)
        lower, upper = self.boxes(low, tuple(high), raw, running, self.quantile_confidence)
        if self.quantile_confidence == CONFIDENCE:  # the total is known: use it as it is
            lower[-1] = upper[-1] = running[-1]
        return read_quantile(running, lower, upper, share)

    # -- along an ordered attribute ------------------------------------------------------------

    def ordered_name(self, attribute: str | None, *, binned: bool = False) -> str:
        """The ordered attribute that a range is about, if only one can be meant; `binned` ones too, if asked for."""
        able = [s.name for s in self.item.strategy.table if self.domain[s.name].ordered and (binned or s.bins is None)]
        if attribute is not None:
            self.domain.position(attribute)
        if attribute is None and len(able) == 1:
            return able[0]
        if attribute is None or attribute not in able:
            raise QueryError(
                f"{self.item.name} has {'no' if not able else 'more than one'} ordered attribute to take a range of"
                if attribute is None
                else f"{attribute} cannot be ranged over in {self.item.name}",
                fix=f"name one of: {', '.join(able)}" if able else "ask a histogram or a cdf of an ordered attribute",
            )
        return attribute

    # -- many boxes at once --------------------------------------------------------------------

    def many(self, low: Ends, high: Ends) -> Columns:
        """Counts in boxes of cells, both ends included, each with ends that hold the truth with 95% probability."""
        values, centre = (box_sums(counts, low, high) for counts in (self.values, self.raw))
        lower, upper = self.boxes(low, high, centre, values)
        return {"count": values, "lower": lower, "upper": upper}

    def codes_of(self, sides: Mapping[str, tuple[Any, Any]], what: str) -> tuple[Ends, Ends]:
        """The codes of the low and the high ends of boxes along each axis; one that is not named is whole."""
        ends = {name: [_codes(self.domain[name], end) for end in pair] for name, pair in sides.items()}
        count = len(next(iter(ends.values()))[0])
        whole = {name: [np.zeros(count, np.int64), np.full(count, self.domain[name].size - 1)] for name in self.names}
        low, high = zip(*(whole | ends).values(), strict=True)
        if any(len(end) != count for end in (*low, *high)):
            raise QueryError("there are not as many low ends as high ends", fix=f"give one of each for every {what}")
        if any((a > b).any() for a, b in zip(low, high, strict=True)):
            raise QueryError(f"a {what} is empty", fix="write the smaller end first")
        return low, high

    def rectangle_codes(self, sides: Mapping[str, tuple[Any, Any]]) -> tuple[Ends, Ends]:
        """The same for rectangles of a map."""
        splits = self.item.strategy.table
        if len(splits) != 2 or any(s.bins is not None or not self.domain[s.name].ordered for s in splits):
            what = f"{self.item.name} is not a map"
            raise QueryError(what, fix="ask a `rectangles` item, or a histogram of two ordered attributes")
        for name in sides:
            if name not in self.names:
                raise QueryError(f"the map has no side {name!r}", fix=f"name {' and '.join(self.names)}")
        if not sides:
            raise QueryError("no rectangle is named", fix=f"give the ends of {' or '.join(self.names)}")
        return self.codes_of(sides, "rectangle")


def _codes(attribute: Attribute, values: Any) -> Ints:
    array = np.asarray(values)
    if isinstance(attribute.values, Integers) and array.dtype.kind in "iu":
        codes = array.astype(np.int64) - attribute.values.low
        if ((codes < 0) | (codes >= attribute.size)).any():
            raise DomainError(
                "a value is not in the domain of its attribute",
                fix="use a value that the policy's `attributes` list",
                where=attribute.name,
            )
        return codes
    return np.array([attribute.code(value) for value in values], np.int64)


def _settled(values: Floats, lower: Floats, upper: Floats) -> tuple[Floats, Floats, Floats]:
    """Counts with their ends, as whole numbers where no noise is left in them."""
    sure, whole = upper - lower < NOTHING, np.round(values)
    return np.where(sure, whole, values), np.where(sure, whole, lower), np.where(sure, whole, upper)


# -- answer -----------------------------------------------------------------------------------------


class AnswerColumns(Displayed, ABC):
    """The answer to one item: columns of equal length, in the forms that analysts want."""

    item: PlannedItem | PlannedNames

    @property
    def name(self) -> str:
        """The name of the item."""
        return self.item.name

    @property
    def title(self) -> str:
        """The title of the item, or what is asked in a few words."""
        return self.item.item.title or self.item.asked[:1].upper() + self.item.asked[1:]

    @property
    @abstractmethod
    def sentence(self) -> str:
        """What was asked."""

    @property
    def remark(self) -> str:
        """What readers must know of numbers that say nothing, such as a mean of nobody; empty where there are none."""
        return ""

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

    def __getitem__(self, column: str) -> Any:
        """A column by its name."""
        try:
            return self.columns[column]
        except KeyError:
            raise QueryError(f"the answer has no column {column!r}", fix=did_you_mean(column, self.columns)) from None

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Its rows, so that `pandas.DataFrame(answer)` is its table; `to_pandas` is faster for a large one."""
        names = tuple(self.columns)
        return (dict(zip(names, row, strict=True)) for row in zip(*self.columns.values(), strict=True))

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Its columns for polars, pyarrow and DuckDB, by the Arrow PyCapsule interface."""
        return import_module("pyarrow").table(dict(self.columns)).__arrow_c_stream__(requested_schema)

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
    def sentence(self) -> str:
        those = self.item.strategy.among
        return self.item.item.sentence(self.domain if those is None else those.domain)

    @property
    def kind(self) -> str:
        """The word for its question in the policy file."""
        return self.item.item.query.words[0]

    @property
    def values(self) -> Floats | None:
        """The published table of counts, if there is one."""
        return None if self.table is None else self.table.values

    @cached_property
    def table(self) -> TableAnswer | None:
        """The table of counts behind the answer, if there is one."""
        key, combined = (self.name, None), self.estimates.combined
        if key not in self.estimates.tables:
            return None
        place = combined.places.get(key) if combined else None
        return TableAnswer(self.item, self.domain, self.measured, self.estimates.tables[key], place, combined is None)

    @property
    def counts(self) -> TableAnswer:
        """The same; refused where there is none."""
        if self.table is None:
            raise QueryError(
                f"{self.name} is not a table of counts", fix="ask a histogram, a cdf or ranges; or read `columns`"
            )
        return self.table

    @cached_property
    def columns(self) -> Columns:
        """The answer as named columns: attributes, the answer, and the ends of its 95% interval.

        Beside whole counts, `measured` holds the same without rounding and without bias.
        """
        return self.item.item.query.columns(self)

    @property
    def remark(self) -> str:
        query, rows = self.item.item.query, len(self)
        if not isinstance(query, Derived) or not self.item.strategy.noisy:
            return ""
        silent = int(query.says_nothing(self.columns, self.domain).sum())
        told = "This number says" if rows == 1 else f"{silent:,} of {rows:,} numbers {'say' if silent > 1 else 'says'}"
        few = "there may be nobody, or so few that every value is possible, and what stands there is no estimate"
        return f"{told} nothing: {few}." if silent else ""

    def between(self, low: object, high: object, *, attribute: str | None = None) -> Estimate:
        """How many records have a value from `low` to `high`, both included; of a table in bins, whole bins only."""
        table = self.counts
        name = table.ordered_name(attribute, binned=True)
        first, last = self.domain[name].code_from(low), self.domain[name].code_up_to(high)
        if first > last + 1:
            raise QueryError("the range is empty", fix="write the smaller end first")
        codes = np.arange(self.domain[name].size)
        return table.add_up(cells_where(table, (name,), (codes >= first) & (codes <= last)))

    def between_many(self, low: Sequence[object], high: Sequence[object]) -> Columns:
        """Many ranges at once, as columns: the count of each, and the ends of its 95% interval."""
        table = self.counts
        name = table.ordered_name(None)
        if table.values.ndim != 1:
            raise QueryError(f"{self.name} is split by other attributes", fix="ask `between` for one range at a time")
        return table.many(*table.codes_of({name: (low, high)}, "range"))

    def rectangle(self, **sides: tuple[object, object]) -> Estimate:
        """How many records lie in a rectangle of a map: `rectangle(x=(0, 9), y=(3, 5))`, both ends included."""
        table = self.counts
        ends = table.rectangle_codes({name: ([a], [b]) for name, (a, b) in sides.items()})
        low, high = ([int(codes[0]) for codes in side] for side in ends)
        return table.add_up(box_mask(table.values.shape, low, high))

    def rectangles_many(self, sides: Mapping[str, tuple[Any, Any]]) -> Columns:
        """Many rectangles at once: for each side its low ends and its high ends. Columns as for `between_many`."""
        return self.counts.many(*self.counts.rectangle_codes(sides))

    def quantile(self, share: Number, *, attribute: str | None = None) -> Value:
        """The least value that at least this share of the records does not exceed."""
        return self.quantile_interval(share, attribute=attribute)[0]

    def quantile_interval(self, share: Number, *, attribute: str | None = None) -> tuple[Value, Value, Value]:
        """The quantile, and the least and largest value it can be with 95% confidence."""
        q = rational(share, name="quantile")
        if not 0 <= q <= 1:
            raise QueryError("a quantile is not between 0 and 1", fix="write a share such as 0.5")
        table = self.counts
        name = table.ordered_name(attribute)
        found = self.domain[name]
        codes = table.quantile(name, q)
        return found.value(codes[0]), found.value(codes[1]), found.value(codes[2])

    def count(self, condition: str) -> Estimate:
        """How many records satisfy a condition on the table's attributes; `true` counts all of them."""
        table = self.counts
        names, holds = truth_of(condition, self.domain)
        outside = [name for name in names if name not in table.names]
        if outside:
            raise QueryError(f"{self.name} does not know {outside[0]}", fix=f"ask about {', '.join(table.names)} only")
        return table.add_up(cells_where(table, names, holds))

    # -- what its question asks of it -------------------------------------------------------------------

    @property
    def whole(self) -> bool:
        """Whether counts are to be whole and not negative."""
        return self.item.item.whole

    @property
    def noisy(self) -> bool:
        """Whether there is any noise in it."""
        return bool(self.item.strategy.noisy)

    @property
    def averaged(self) -> bool:
        """Whether it was inferred as version 0.1 did."""
        return self.estimates.combined is None

    @property
    def axes(self) -> tuple[Split, ...]:
        """The axes of the table of counts."""
        return self.item.strategy.table

    @cached_property
    def sums(self) -> tuple[MeasuredSum, ...]:
        """What was measured itself, in the order of `Query.sums`, as everything that was measured tells it."""
        stated = self.item.strategy.stated(self.item.scale)
        found = [self._sum(place, one) for place, one in enumerate(stated)]
        kinds = [query.contribution for query in self.item.item.query.sums(self.domain)]
        order = [_place(measurement.query.contribution, kinds) for measurement in stated]
        return tuple(one for _, one in sorted(zip(order, found, strict=True), key=itemgetter(0)))

    def _sum(self, place: int, measurement: Measurement) -> MeasuredSum:
        numbers, noise, scale = self.measured[place], measurement.noise, measurement.scale
        if scale:
            exact = self.measured[len(self.item.strategy.noisy) :]
            own = self.item.strategy.mechanism.measured_sum(measurement, numbers, exact)
            if own is not None:
                return own
        unit, key, combined = measurement.query.contribution.unit, (self.item.name, place), self.estimates.combined
        made = self.estimates.tables.get(key)
        told = None if made is None else made.published.reshape(numbers.shape) / float(unit)
        group, where = combined.places.get(key, (None, 0)) if combined else (None, 0)
        found = group.each(where, CONFIDENCE) if group else None

        def reach(failures: int) -> Floats:
            sure = 1 - (1 - CONFIDENCE) / failures
            together = group.each(where, sure) if group and found else None
            if together is not None:
                return together[1].reshape(numbers.shape) / float(unit)
            return np.full(numbers.shape, noise.sum_quantile(scale, 1, sure) if scale else 0.0)

        centre = numbers if found is None else found[0].reshape(numbers.shape) / float(unit)
        return MeasuredSum(centre, unit, not scale, reach, told)

    def clusters(self) -> tuple[Floats, Floats]:
        """Centres of clusters, the largest first, and about how many records each has."""
        strategy, query = self.item.strategy, self.item.item.query
        assert isinstance(query, KMeans), "only these are clustered"
        table = (*strategy.noisy, *strategy.exact)[0]
        known = (strategy.exact[0], self.measured[1]) if strategy.noisy and strategy.exact else None
        variance = strategy.noise.variance(self.item.scale) if strategy.noisy else 0.0
        return centres_of(query, self.domain, table, self.measured[0], variance, known)

    def made_up(self, n: int) -> dict[str, Ints]:
        """The codes of so many made-up records, by attribute."""
        strategy = self.item.strategy
        tables = strategy.noisy[0].contribution
        assert isinstance(tables, ChosenTables), "only from such tables"
        return records_told(tables, self.measured[0], self.item.scale, strategy.noise, self.domain, n)

    def __repr__(self) -> str:
        return f"<Answer {self.name}: {self.kind}, {len(self)} rows>"


def _place(measured: Contribution, asked: Sequence[Contribution]) -> int:
    """Which of the sums that a question asks was measured. It asks about one condition at most."""
    condition = isinstance(measured, Table)
    found = (n for n, one in enumerate(asked) if one == measured or (condition and isinstance(one, Table)))
    return next(found, len(asked))


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
