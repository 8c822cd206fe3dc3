"""Answering a question from a view: what the view shows, less the noise that is expected, with an honest interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path

import duckdb
import numpy as np
from scipy.special import betaincinv

from tetraodon.arrays import Ints
from tetraodon.domain import Domain
from tetraodon.errors import PolicyError, QueryError, Refused, ReleaseError
from tetraodon.inference.answered import Answered, answered, miss, needed
from tetraodon.inference.estimate import Estimate
from tetraodon.noise.coins import Coins, system_coins
from tetraodon.publishing.aggregates import Counts, Records, ShownPart
from tetraodon.publishing.channel import SourceChannel, ViewChannel
from tetraodon.publishing.domain_count import counts_by, weights_by
from tetraodon.publishing.grouping import CELLS, Grouping
from tetraodon.publishing.interval import count_interval
from tetraodon.publishing.sandbox import Sandbox
from tetraodon.rational import Number, confidence_level
from tetraodon.workload.condition.question import AskedNumber, Question
from tetraodon.workload.condition.truth import evaluate


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
        told, sizes = aggregate.over(codes, self.file.held()), [shape[place] for place in axes]
        values, known = (np.broadcast_to(one, sizes).ravel()[rows] for one in told)
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
