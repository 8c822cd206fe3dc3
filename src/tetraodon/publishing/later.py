"""A later view of a series: drawn, and asked, in two parts; tuples that earlier views showed, and the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tetraodon.errors import QueryError
from tetraodon.inference.estimate import CONFIDENCE, Estimate
from tetraodon.noise.coins import Coins
from tetraodon.noise.elementary import rational_heads
from tetraodon.noise.geometric import waiting_times
from tetraodon.publishing.channel import SetChannel, ViewChannel
from tetraodon.publishing.sampling import CHUNK, Cells, kept_cells, merged, view_cells
from tetraodon.publishing.series import Series
from tetraodon.rational import Number, rational

if TYPE_CHECKING:
    from tetraodon.publishing.view import View


def fresh_cells(
    series: Series, size: int, cells: Cells, counts: NDArray[np.int64], seen: Cells, *, coins: Coins
) -> Iterator[Cells]:
    """The part of a view among tuples that no earlier view has shown, sorted."""
    new = ~np.isin(cells, seen, assume_unique=True)
    for part in view_cells(series.fresh, size, cells[new], counts[new], coins=coins):
        yield part[~_among(part, seen)]


def seen_cells(series: Series, cells: Cells, counts: NDArray[np.int64], seen: Cells, *, coins: Coins) -> Cells:
    """The part of a view among tuples that an earlier view has shown, sorted."""
    old = np.isin(cells, seen, assume_unique=True)
    kept = kept_cells(series.seen, cells[old], counts[old], coins)
    noise = [_noise(series.seen, seen[start : start + CHUNK], coins) for start in range(0, len(seen), CHUNK)]
    return merged(np.concatenate([seen[:0], *noise]), kept, once=isinstance(series.seen, SetChannel))


def _noise(channel: ViewChannel, cells: Cells, coins: Coins) -> Cells:
    if isinstance(channel, SetChannel):
        return cells[rational_heads(channel.noise, len(cells), coins)]
    return np.repeat(cells, waiting_times(1 - channel.noise, len(cells), 2**40, coins).astype(np.int64))


def _among(cells: Cells, seen: Cells) -> NDArray[np.bool_]:
    if not len(seen):
        return np.zeros(len(cells), bool)
    place = np.minimum(np.searchsorted(seen, cells), len(seen) - 1)
    return np.asarray(seen[place] == cells)


def ask_later(view: View, sql: str, *, confidence: Number = CONFIDENCE) -> Estimate:
    """The unbiased estimate of a count from a later view: that of the fresh tuples and that of the others, added.

    Why  given what was shown before, each part is a view of its own part of the domain, so the estimate is unbiased
         whatever the table was then and is now. Each interval may miss half as often.
    """
    from tetraodon.publishing.domain_count import counts_by
    from tetraodon.publishing.estimate import Asked, held
    from tetraodon.workload.condition.names import Names
    from tetraodon.workload.condition.question import read_question

    assert view.seen is not None
    sure = rational(confidence, name="confidence")
    fresh = replace(view, seen=None)
    sandbox = held(fresh)
    question = read_question(sql, Names(view.domain, view.name, sandbox.public))
    if question.by or question.attribute is not None:
        raise QueryError("a later view of a series answers single counts only", fix="ask count(*) without `group by`")

    def rows(path: Path) -> int:
        return int(held(replace(fresh, rows=path)).counts(question.condition, ()).item())

    before = rows(view.seen.before)
    in_domain = int(counts_by(sandbox, question.condition, ()).item()) - before
    half = (1 - sure) / 2
    new = Asked(view.domain, view.channel, view.n, question, sure).between(
        rows(view.rows), (in_domain, in_domain), half
    )
    old = Asked(view.domain, view.seen.channel, view.n, question, sure).between(
        rows(view.seen.rows), (before, before), half
    )
    return Estimate(new.value + old.value, new.lower + old.lower, new.upper + old.upper, sure)


def combined(views: Sequence[View], sql: str, *, confidence: Number = CONFIDENCE) -> Estimate:
    """The best estimate from all views of a table that did not change between them.

    Why  given all earlier views, each estimate is unbiased; so their errors are uncorrelated, and the best weights are
         those of their variances. These are planned ones, which depend on the question and not on what was drawn.
         Every interval may miss 1/v as often, so that all hold together, and so does their weighted mean.
    """
    if not views:
        raise QueryError("there is no view to ask", fix="give the views of a series")
    sure = 1 - (1 - rational(confidence, name="confidence")) / len(views)
    found: list[Any] = [view.ask(sql, confidence=sure) for view in views]
    if not all(isinstance(estimate, Estimate) for estimate in found):
        raise QueryError("several views answer single counts only", fix="ask count(*) without `group by`")
    precision = [1 / planned_variance(view, number) for number, view in enumerate(views, 1)]
    weights = [part / sum(precision, Fraction(0)) for part in precision]
    value, lower, upper = (
        sum(float(w) * getattr(e, end) for w, e in zip(weights, found, strict=True))
        for end in ("value", "lower", "upper")
    )
    return Estimate(value, lower, upper, rational(confidence, name="confidence"))


def planned_variance(view: View, number: int) -> Fraction:
    """About the variance of a count of everything from the view of this number, for weights."""
    tuples, records = view.domain.size, Fraction(view.n or 0)
    if view.seen is None:
        return view.channel.variance(records, tuples)
    return Series(view.channel, view.seen.channel, number).variance(number, records, tuples)
