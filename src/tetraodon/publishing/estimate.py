"""Answering a question from a view: what the view shows, less the noise that is expected, with an honest interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from tetraodon.domain import Domain, Value
from tetraodon.errors import PolicyError, QueryError, Refused, ReleaseError
from tetraodon.inference.estimate import Estimate
from tetraodon.noise.coins import Coins, system_coins
from tetraodon.publishing.channel import ViewChannel
from tetraodon.publishing.domain_count import counts_by
from tetraodon.publishing.interval import count_interval, sum_interval
from tetraodon.publishing.sandbox import Sandbox
from tetraodon.rational import Number, confidence_level
from tetraodon.workload.condition.question import Question
from tetraodon.workload.condition.truth import evaluate

GROUPS = 100_000
CELLS = 4_000_000
Groups: TypeAlias = dict[Value | tuple[Value, ...], Estimate]
"""One estimate for each value of the attribute grouped by, or for each combination of values."""
Counts: TypeAlias = NDArray[Any]
"""Exact whole numbers, in an array of objects."""


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

    def rows(self, question: Question) -> int:
        """How many of the tuples satisfy a question's condition."""
        return int(self.held().counts(question.condition, ()).item())


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
    """A question to a view, ready to be answered."""

    domain: Domain
    channel: ViewChannel
    n: int | None
    question: Question
    confidence: Fraction

    @property
    def alpha(self) -> Fraction:
        """How often the interval may miss the truth."""
        return 1 - self.confidence

    def answer_from(self, sandbox: Sandbox, sample: int = 0) -> Estimate | Groups:
        """The answer; where it would cost too much, one with so many tuples of the domain drawn by chance."""
        try:
            return self.answer(sandbox)
        except Refused:
            if sample <= 0:
                raise
        return self.sampled_answer(sandbox, sample, system_coins())

    def answer(self, sandbox: Sandbox) -> Estimate | Groups:
        question = self.question
        by = (*question.by, *(() if question.attribute is None else (question.attribute,)))
        shape = [self.domain.shape[place] for place in by]
        if math.prod(self.domain.shape[place] for place in question.by) > GROUPS or math.prod(shape) > CELLS:
            raise QueryError("there are too many groups", fix="group by fewer or coarser attributes")
        in_domain: Counts = counts_by(sandbox, question.condition, by)
        in_view = sandbox.counts(question.condition, by)
        one: Callable[[Any, Any], Estimate]
        if question.attribute is None:
            whole = None if self.n is None else int(sandbox.counts(None, ()).item())
            one = partial(self.count, whole=whole)
        else:
            values = [self.domain.attributes[question.attribute].number(code) for code in range(shape[-1])]
            one = Sums(self, values).estimate
        if not question.by:
            return one(in_view[()], in_domain[()])
        found: Groups = {}
        groups = self.domain.project([self.domain.names[place] for place in question.by])
        for codes in np.ndindex(*shape[: len(question.by)]):
            value = groups.value_of([int(code) for code in codes])
            found[value[0] if len(value) == 1 else value] = one(in_view[codes], in_domain[codes])
        return found

    def count(self, in_view: Any, in_domain: Any, *, whole: int | None = None) -> Estimate:
        """The estimate of a count; where n is public and all rows of the view are `whole`, maybe by the other records.

        Why  n less the estimate of those who do not satisfy the condition is unbiased too. Which of the two is taken
             depends on the domain alone, never on the view; so both estimate and interval stay what they promise.
        """
        shown, there = int(in_view), int(in_domain)
        if whole is None or self.n is None or not self.others_vary_less(there):
            return self.between(shown, (there, there), self.alpha)
        others = self.domain.size - there
        found = self.between(whole - shown, (others, others), self.alpha)
        return Estimate(self.n - found.value, self.n - found.upper, self.n - found.lower, found.confidence)

    def others_vary_less(self, in_domain: int) -> bool:
        """Whether the count of all others has the smaller variance, however the n records are spread."""
        more = (2 * in_domain - self.domain.size) * self.channel.variance_per_tuple
        return in_domain == self.domain.size or more >= (self.n or 0) * abs(self.channel.variance_per_record)

    def between(self, in_view: int, in_domain: tuple[int, int], alpha: Fraction) -> Estimate:
        """The estimate of a count when the domain's count is known up to two bounds."""
        if in_domain == (0, 0):
            return Estimate.certain(0.0)
        middle = Fraction(in_domain[0] + in_domain[1], 2)
        value = (in_view - middle * self.channel.added_per_tuple) / self.channel.keep
        low, high = self.count_interval(in_view, in_domain, alpha)
        return Estimate(float(value), float(low), float(high), self.confidence)

    def count_interval(self, in_view: int, in_domain: tuple[int, int], alpha: Fraction) -> tuple[int, int]:
        return count_interval(self.channel, in_view, in_domain, (alpha / 2, alpha / 2), self.n)

    def sampled_answer(self, sandbox: Sandbox, draws: int, coins: Coins) -> Estimate:
        """As `answer`, with the domain's count estimated from tuples drawn at random."""
        question = self.question
        if question.by or question.attribute is not None or question.condition is None:
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
        found = self.between(in_view, bounds, 3 * self.alpha / 4)
        value = (in_view - Fraction(hits * size, draws) * self.channel.added_per_tuple) / self.channel.keep
        return Estimate(float(value), found.lower, found.upper, self.confidence)


@dataclass(frozen=True)
class Sums:
    """Sums and averages of the attribute with these values."""

    asked: Asked
    values: list[Fraction]

    def estimate(self, in_view: Counts, in_domain: Counts) -> Estimate:
        """A fifth of the error is kept for the number of records, half of it where that is the denominator."""
        asked, alpha = self.asked, self.asked.alpha
        channel = asked.channel
        seen, there = int(in_view.sum()), int(in_domain.sum())
        average = asked.question.aggregate == "avg"
        share = alpha / 2 if average else alpha / 5
        least, most = asked.count_interval(seen, (there, there), share)
        centre = (self.values[0] + self.values[-1]) / 2 if average else Fraction(0)
        off = [value - centre for value in self.values]
        net = [(v - d * channel.added_per_tuple) / channel.keep for v, d in zip(in_view, in_domain, strict=True)]
        total = sum((value * count for value, count in zip(off, net, strict=True)), Fraction(0))
        low, high = sum_interval(
            channel,
            in_view.astype(np.float64),
            in_domain.astype(np.float64),
            np.array([float(value) for value in off]),
            float(most),
            alpha - share,
        )
        if not average:
            return Estimate(float(total), low, high, asked.confidence)
        records = sum(net, Fraction(0))
        first, last = float(self.values[0]), float(self.values[-1])
        value = first if records <= 0 else min(max(float(centre + total / records), first), last)
        if least <= 0:
            return Estimate(value, first, last, asked.confidence)
        ends = [float(centre) + end / count for end in (low, high) for count in (least, most)]
        return Estimate(value, max(first, min(ends)), min(last, max(ends)), asked.confidence)


def in_two_parts(fresh: Asked, seen: Asked, files: tuple[TupleFile, TupleFile, TupleFile]) -> Estimate:
    """The unbiased estimate of a count from a later view: that of the fresh tuples and that of the others, added.

    `files` hold the tuples that no earlier view has shown, those shown again, and all that were shown before.

    Why  given what was shown before, each part is a view of its own part of the domain, so the estimate is unbiased
         whatever the table was then and is now. Each interval may miss half as often.
    """
    question = fresh.question
    if question.by or question.attribute is not None:
        raise QueryError("a later view of a series answers single counts only", fix="ask count(*) without `group by`")
    new_rows, old_rows, before = (file.rows(question) for file in files)
    in_domain = int(counts_by(files[0].held(), question.condition, ()).item()) - before
    new = fresh.between(new_rows, (in_domain, in_domain), fresh.alpha / 2)
    old = seen.between(old_rows, (before, before), fresh.alpha / 2)
    return Estimate(new.value + old.value, new.lower + old.lower, new.upper + old.upper, fresh.confidence)


def uniform_codes(size: int, count: int, coins: Coins) -> NDArray[np.int64]:
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
