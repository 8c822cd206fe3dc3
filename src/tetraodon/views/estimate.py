"""Estimates from a view: counts, sums and averages, by groups, with honest intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from tetraodon.domain import Attribute, Categories, Domain
from tetraodon.errors import PolicyError, QueryError, Refused, ReleaseError
from tetraodon.exact.arrays import Bools, Floats, Ints
from tetraodon.exact.rational import Number, confidence_level
from tetraodon.inference.estimate import Answered, Estimate, answered, miss, needed
from tetraodon.noise.coins import Coins, system_coins
from tetraodon.query.condition.nodes import evaluate
from tetraodon.query.condition.public_tables import PublicColumn
from tetraodon.query.condition.select import AskedNumber, Question
from tetraodon.views.channel import SourceChannel, ViewChannel
from tetraodon.views.domain_count import counts_by, weights_by
from tetraodon.views.interval import count_interval, sum_interval
from tetraodon.views.side_tables import Labels, Sandbox

# -- grouping ---------------------------------------------------------------------------------------
# Groups of a question to a view: by attributes, and by columns of public tables that are joined on attributes.

CELLS = 4_000_000


@dataclass(frozen=True, eq=False)
class Grouping:
    """What a question groups by: `domain` has an attribute more for each public column, whose value `which` says, for
    each cell of the attributes that its table is joined on; -1 where a record meets no row.
    """

    by: tuple[int, ...]
    domain: Domain
    own: int
    keys: tuple[tuple[int, ...], ...]
    which: tuple[Ints, ...]

    @classmethod
    def of(cls, question: Question, domain: Domain, read: Callable[[PublicColumn], Labels]) -> Grouping:
        named = question.columns
        found = [read(column) for column in named]
        if any(not labels for labels, _ in found):
            raise QueryError("no value of an attribute is in a joined table", fix="join on columns with equal values")
        more = [
            Attribute(column.name, Categories(labels), other=0)
            for column, (labels, _) in zip(named, found, strict=True)
        ]
        grouped = Domain((*domain.attributes, *more)) if more else domain
        keys = tuple(column.join.places for column in named)
        return cls(question.by, grouped, len(domain.names), keys, tuple(which for _, which in found))

    @property
    def groups(self) -> int:
        return math.prod(self.domain.shape[place] for place in self.by)

    def axes(self, places: Sequence[int]) -> tuple[int, ...]:
        """The attributes that say which group a record is in, and those at some places."""
        looked = [self.keys[place - self.own] if place >= self.own else (place,) for place in self.by]
        return tuple(dict.fromkeys([*(place for some in looked for place in some), *places]))

    def rows(self, axes: Sequence[int]) -> Ints:
        """For each group its cells of some attributes, by their places; filled up with -1.

        Pre   `axes` are those that `self.axes` gives: attributes that are grouped by first.
        """
        shape = [self.domain.shape[place] for place in axes]
        cells = math.prod(shape)
        if not self.which:
            return np.arange(cells).reshape(self.groups, -1)
        group, met = np.zeros(shape, np.int64), np.ones(shape, np.bool_)
        for place in self.by:
            code = self._code(place, axes)
            group, met = group * self.domain.shape[place] + code, met & (code >= 0)
        inside = np.flatnonzero(met.ravel())
        of = group.ravel()[inside]
        order = np.argsort(of, kind="stable")
        many = np.bincount(of, minlength=self.groups)
        if self.groups * int(many.max(initial=0)) > CELLS:
            raise QueryError("there are too many values to add up", fix="ask about fewer or coarser attributes")
        found = np.full((self.groups, int(many.max(initial=0))), -1)
        found[of[order], np.arange(len(of)) - np.repeat(np.cumsum(many) - many, many)] = inside[order]
        return found

    def _code(self, place: int, axes: Sequence[int]) -> Ints:
        """The code of an attribute, or of a public column, at each cell."""
        if place < self.own:
            return np.arange(self.domain.shape[place]).reshape([-1 if one == place else 1 for one in axes])
        keys, which = self.keys[place - self.own], self.which[place - self.own]
        ordered = which.transpose(np.argsort([axes.index(key) for key in keys]))
        return ordered.reshape([self.domain.shape[one] if one in keys else 1 for one in axes])


# -- aggregates -------------------------------------------------------------------------------------
# Counts, sums, averages and numbers of values of some records, from what the parts of a view show of them.

Counts: TypeAlias = NDArray[Any]
"""Exact whole numbers, in an array of objects."""


@dataclass(frozen=True)
class ShownPart:
    """A part of a view over some cells: its channel, what it shows at each cell, and how many tuples the domain has."""

    channel: ViewChannel
    in_view: Counts
    in_domain: Counts

    def at(self, cells: Any) -> ShownPart:
        """The same over some of the cells."""
        return ShownPart(
            self.channel, np.asarray(self.in_view[cells], object), np.asarray(self.in_domain[cells], object)
        )

    def in_rows(self, rows: Ints) -> ShownPart:
        """The same, in rows of cells, by their places; nothing where a place is below 0."""
        counts = (np.where(rows < 0, 0, np.ravel(count)[rows]) for count in (self.in_view, self.in_domain))
        return ShownPart(self.channel, *counts)

    def where(self, known: Bools) -> ShownPart:
        """The same with nothing at the other cells."""
        return ShownPart(self.channel, np.where(known, self.in_view, 0), np.where(known, self.in_domain, 0))

    @property
    def net(self) -> Floats:
        """The unbiased estimate of the records at each cell."""
        noise = self.in_domain.astype(np.float64) * float(self.channel.added_per_tuple)
        return np.asarray((self.in_view.astype(np.float64) - noise) / float(self.channel.keep))


AT_ONCE = 2**16
"""So many cells are looked at together: as many as stay near to the processor."""
Ends: TypeAlias = tuple[Floats, Floats]
Parts: TypeAlias = Sequence[ShownPart]
"""A later view of a series has two parts, any other one. Their tuples are apart, and so are their records."""


@dataclass(frozen=True)
class Records:
    """Estimates for the records at some cells, with intervals that miss with a chance of at most `alpha`.

    `n` is a public bound on the records, and `confidence` what the intervals are said to have.
    """

    alpha: Fraction
    n: int | None
    confidence: Fraction

    def bounds(self, part: ShownPart, alpha: Fraction) -> tuple[int, int]:
        """The least and the largest number of records of a part."""
        there = int(part.in_domain.sum())
        return count_interval(part.channel, int(part.in_view.sum()), (there, there), (alpha / 2, alpha / 2), self.n)

    def count(self, parts: Parts) -> Estimate:
        """How many there are: what the parts say, added; each interval misses its share of the time."""
        parts = [part for part in parts if part.in_domain.sum()]
        if not parts:
            return Estimate.certain(0.0)
        values = [part.channel.estimate(int(part.in_view.sum()), int(part.in_domain.sum())) for part in parts]
        ends = np.array([self.bounds(part, self.alpha / len(parts)) for part in parts]).sum(axis=0)
        return Estimate(float(sum(values)), float(ends[0]), float(ends[1]), self.confidence)

    def totals(self, parts: Parts, values: Floats) -> list[Estimate]:
        """The sums of the values, one for each row of cells; a fifth of the error is kept for the number of records.

        Pre   impossible values are 0.
        """
        total, low, high, _ = self._added(parts, values, self.alpha / 5)
        return self._estimates(total, low, high)

    def means(self, parts: Parts, values: Floats, known: Bools) -> list[Estimate]:
        """The averages of the values where they are known, half of the error being for the number of records."""
        there = known & (sum(part.in_domain for part in parts) > 0)
        there = np.where(there.any(axis=-1, keepdims=True), there, known)
        first = np.where(there, values, np.inf).min(axis=-1, initial=np.inf)
        last = np.where(there, values, -np.inf).max(axis=-1, initial=-np.inf)
        centre = np.where(there.any(axis=-1), (first + last) / 2, 0.0)
        total, low, high, (least, most) = self._added(
            parts, np.where(there, values - centre[:, None], 0.0), self.alpha / 2
        )
        records = sum(part.net.sum(axis=-1) for part in parts)
        value = np.where(
            records <= 0, first, np.clip(centre + total / np.where(records <= 0, 1.0, records), first, last)
        )
        some = np.maximum(least, 1.0), np.maximum(most, 1.0)
        ends = [centre + end / count for end in (low, high) for count in some]
        lower = np.where(least <= 0, first, np.maximum(first, np.minimum.reduce(ends)))
        upper = np.where(least <= 0, last, np.minimum(last, np.maximum.reduce(ends)))
        return self._estimates(value, lower, upper)

    def _estimates(self, values: Floats, lower: Floats, upper: Floats) -> list[Estimate]:
        ends = zip(values.tolist(), lower.tolist(), upper.tolist(), strict=True)
        return [Estimate(value, low, high, self.confidence) for value, low, high in ends]

    def distinct(self, parts: Parts, labels: Floats) -> Estimate:
        """How many values occur: those of which a record is likely, between those that surely do and those that may.

        Why  with intervals for all values that hold together, at least those occur whose interval is above 0, and at
             most those whose interval is not 0 alone.
        """
        there = sum(part.in_domain for part in parts) > 0
        groups = [there & (labels == label) for label in np.unique(labels[there])]
        if not groups:
            return Estimate.certain(0.0)
        each = Records(self.alpha / len(groups), self.n, self.confidence)
        counts = [each.count([part.at(group) for part in parts]) for group in groups]
        low, high = (sum(one.lower >= 1 for one in counts), sum(one.upper >= 1 for one in counts))
        high = high if self.n is None else min(high, self.n)
        value = min(max(sum(one.value >= 1 / 2 for one in counts), low), max(low, high))
        return Estimate(value, low, high, self.confidence)

    def _added(self, parts: Parts, values: Floats, share: Fraction) -> tuple[Floats, Floats, Floats, Ends]:
        """The sums and their ends, and the ends of the numbers of records, which may miss with a chance `share`."""
        counts = [self._many_bounds(part, share / len(parts)) for part in parts]
        low, high = np.zeros(len(values)), np.zeros(len(values))
        step = max(1, AT_ONCE // max(1, values.shape[-1]))
        for start in range(0, len(values), step):
            rows = slice(start, start + step)
            for part, (_, most) in zip(parts, counts, strict=True):
                view, domain = (count[rows].astype(np.float64) for count in (part.in_view, part.in_domain))
                alpha = (self.alpha - share) / len(parts)
                ends = sum_interval(part.channel, view, domain, values[rows], most[rows], alpha)
                low[rows] += ends[0]
                high[rows] += ends[1]
        total = sum((part.net * values).sum(axis=-1) for part in parts)
        least, most = (np.sum([count[side] for count in counts], axis=0) for side in (0, 1))
        return np.asarray(total, np.float64), low, high, (least, most)

    def _many_bounds(self, part: ShownPart, alpha: Fraction) -> Ends:
        """`bounds` of each row of cells: rows that show as many of as many have the same."""
        pairs = list(zip(part.in_view.sum(axis=-1).tolist(), part.in_domain.sum(axis=-1).tolist(), strict=True))
        sides = alpha / 2, alpha / 2
        found = {one: count_interval(part.channel, one[0], (one[1], one[1]), sides, self.n) for one in set(pairs)}
        least, most = np.array([found[one] for one in pairs], np.float64).reshape(-1, 2).T
        return least, most


# -- estimate ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TupleFile:
    """The tuples of a view in their file, with the public tables that conditions may read."""

    domain: Domain
    path: Path
    public: tuple[tuple[str, Path], ...] = ()

    def held(self) -> Sandbox:
        """The tuples in a database of their own, loaded once."""
        try:
            return _held(self, self.path.stat().st_mtime_ns)
        except (OSError, duckdb.Error):
            raise ReleaseError("the tuples of the view cannot be read", fix="ask for a new copy") from None


@dataclass(frozen=True)
class Earlier:
    """Tuples that earlier views of a series have shown: those that a later view shows again, and all of them."""

    channel: ViewChannel
    rows: TupleFile
    before: TupleFile


@lru_cache(maxsize=4)
def _held(file: TupleFile, _written: int) -> Sandbox:
    sandbox = Sandbox(file.domain, dict(file.public))
    sandbox.hold(file.path)
    return sandbox


def level(confidence: Number) -> Fraction:
    """A confidence that is one."""
    try:
        return confidence_level(confidence)
    except PolicyError as error:
        raise QueryError(error.what, fix=error.fix) from None


@dataclass(frozen=True)
class Asked:
    """A question to a view, ready to be answered. `earlier` is the other part of a later view of a series."""

    file: TupleFile
    channel: ViewChannel
    n: int | None
    question: Question
    confidence: Fraction
    earlier: Earlier | None = None

    @property
    def domain(self) -> Domain:
        return self.file.domain

    @property
    def alpha(self) -> Fraction:
        """How often an interval may miss the truth."""
        return miss(self.question, self.grouping.domain, self.confidence)

    @cached_property
    def grouping(self) -> Grouping:
        """The groups that there are, those of public tables among them."""
        return Grouping.of(self.question, self.domain, lambda column: self.file.held().labels(column))

    def answer(self, sample: int = 0) -> Answered:
        """The answer; where it would cost too much, one with so many tuples of the domain drawn by chance."""
        sandbox = self.file.held()
        for join in self.question.joins:
            sandbox.require_once(join.table, join.columns)
        try:
            wanted = needed(self.question, self.grouping.domain)
            columns = [self._column(aggregate, wanted) for aggregate in self.question.aggregates]
        except Refused:
            if sample <= 0 or self.earlier is not None or isinstance(self.channel, SourceChannel):
                raise
            return self.sampled_answer(sandbox, sample, system_coins())
        return answered(self.question, self.grouping.domain, columns)

    def _column(self, aggregate: AskedNumber, wanted: Sequence[int]) -> dict[int, Estimate]:
        """An aggregate of some of the groups of the domain."""
        shape, axes = self.domain.shape, self.grouping.axes(aggregate.places)
        if math.prod(shape[place] for place in axes) > CELLS:
            raise QueryError("there are too many values to add up", fix="ask about fewer or coarser attributes")
        rows = self.grouping.rows(axes)
        whole = self._parts(axes)
        parts = [part.in_rows(rows) for part in whole]
        if any(part.in_domain.sum() != all_of_it.in_domain.sum() for part, all_of_it in zip(parts, whole, strict=True)):
            raise QueryError("not every record has a group", fix="join on columns of the same kind as the attributes")
        codes = {place: np.arange(shape[place]).reshape([-1 if p == place else 1 for p in axes]) for place in axes}
        sizes = [shape[place] for place in axes]
        columns = aggregate.over(codes, self.file.held())
        values, known = (np.broadcast_to(one, sizes).ravel()[rows] for one in columns)
        known = np.asarray(known, np.bool_) & (rows >= 0)
        records = Records(self.alpha, self.n, self.confidence)
        alone = self.n is None or self.earlier is not None or isinstance(self.channel, SourceChannel)
        shown = None if alone else int(self.file.held().counts(None, ()).item())
        if aggregate.kind in ("sum", "avg"):
            some = np.asarray(known[wanted], np.bool_)
            chosen, numbers = [part.at(wanted).where(some) for part in parts], np.where(some, values[wanted], 0.0)
            add = records.totals(chosen, numbers) if aggregate.kind == "sum" else records.means(chosen, numbers, some)
            return dict(zip(wanted, add, strict=True))
        found = dict[int, Estimate]()
        for at in wanted:
            here, there = [part.at((at, known[at])) for part in parts], values[at][known[at]]
            if aggregate.kind == "distinct":
                found[at] = records.distinct(here, there)
            else:
                found[at] = self.count(here[0], shown) if self.earlier is None else records.count(here)
        return found

    def _parts(self, axes: Sequence[int]) -> list[ShownPart]:
        """What the view shows where the condition holds, for each cell of some attributes.

        Why  given what was shown before, a later view is two views, of two parts of the domain that are apart: so each
             estimate is unbiased whatever the table was then and is now.
        """
        held, condition = self.file.held(), self.question.condition
        if isinstance(self.channel, SourceChannel):
            weighed = weights_by(held, condition, axes, self.channel.weights)
            return [ShownPart(self.channel, held.counts(condition, axes), weighed)]
        in_domain: Counts = counts_by(held, condition, axes)
        if self.earlier is None:
            return [ShownPart(self.channel, held.counts(condition, axes), in_domain)]
        before = self.earlier.before.held().counts(condition, axes)
        again = ShownPart(self.earlier.channel, self.earlier.rows.held().counts(condition, axes), before)
        fresh = np.asarray(in_domain - before, object)  # one count less another is no array of one count
        return [ShownPart(self.channel, held.counts(condition, axes), fresh), again]

    def count(self, part: ShownPart, rows: int | None) -> Estimate:
        """The estimate of a count; where n is public and the view has so many `rows`, maybe by the other records.

        Why  n less the estimate of those who do not satisfy the condition is unbiased too. Which of the two is taken
             depends on the domain alone, never on the view; so both estimate and interval stay what they promise.
        """
        records, there = Records(self.alpha, self.n, self.confidence), int(part.in_domain.sum())
        if rows is None or self.n is None or not self.others_vary_less(there):
            return records.count([part])
        numbers = rows - int(part.in_view.sum()), self.domain.size - there
        found = records.count([ShownPart(self.channel, *(np.array([number], object) for number in numbers))])
        return Estimate(self.n - found.value, self.n - found.upper, self.n - found.lower, found.confidence)

    def others_vary_less(self, in_domain: int) -> bool:
        """Whether the count of all others has the smaller variance, however the n records are spread."""
        more = (2 * in_domain - self.domain.size) * self.channel.variance_per_tuple
        return in_domain == self.domain.size or more >= (self.n or 0) * abs(self.channel.variance_per_record)

    def sampled_answer(self, sandbox: Sandbox, draws: int, coins: Coins) -> Estimate:
        """As `answer`, with the domain's count estimated from tuples drawn at random."""
        question = self.question
        if not question.plain or question.condition is None:
            raise QueryError(
                "a sampled count over the domain serves one count only", fix="ask count(*) without `group by`"
            )
        places = question.condition.places
        codes = {place: uniform_codes(self.domain.shape[place], draws, coins) for place in places}
        hits = int(np.broadcast_to(evaluate(question.condition, codes, sandbox)[0], (draws,)).sum())
        low, high = share_interval(hits, draws, self.alpha / 4)
        size = self.domain.size
        bounds = (math.floor(low * size), math.ceil(high * size))
        in_view = int(sandbox.counts(question.condition, ()).item())
        sides = 3 * self.alpha / 8
        least, most = count_interval(self.channel, in_view, bounds, (sides, sides), self.n)
        value = (in_view - Fraction(hits * size, draws) * self.channel.added_per_tuple) / self.channel.keep
        return Estimate(float(value), float(least), float(most), self.confidence)


def uniform_codes(size: int, count: int, coins: Coins) -> Ints:
    """Independent uniform codes below a size, by rejection."""
    if size > 2**62:
        raise Refused("an attribute has too many values to draw from", fix="declare a coarser attribute")
    bits = max(1, (size - 1).bit_length())
    found = np.empty(0, np.int64)
    while len(found) < count:
        drawn = coins.draw(2 * (count - len(found)) + 16, bits).astype(np.int64)
        found = np.concatenate([found, drawn[drawn < size]])
    return found[:count]


def share_interval(hits: int, draws: int, alpha: Fraction) -> tuple[Fraction, Fraction]:
    """Clopper and Pearson's interval for a share, from how often it was hit."""
    half = float(alpha) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, draws - hits + 1, half))
    high = 1.0 if hits == draws else float(betaincinv(hits + 1, draws - hits, 1 - half))
    return max(Fraction(0), Fraction(low) * (1 - Fraction(1, 10**9))), min(
        Fraction(1), Fraction(high) * (1 + Fraction(1, 10**9))
    )
