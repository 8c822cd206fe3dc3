"""What there is to draw of an answer: its numbers with their intervals, along the attributes it is about."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import assert_never

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.domain import Attribute, Domain
from tetraodon.inference.estimate import CONFIDENCE
from tetraodon.policy.words import listing
from tetraodon.releasing.answer import Answer
from tetraodon.releasing.columns import Columns
from tetraodon.releasing.estimates import no_table
from tetraodon.releasing.grid_reach import block_reach
from tetraodon.report.picture import DrawnAxis, Picture, titled
from tetraodon.workload.areas import KMeans, Rectangles
from tetraodon.workload.linear import Split
from tetraodon.workload.query import Cdf, Count, Histogram, Mean, Quantiles, Ranges, Total

CLUSTERS = "records"
"""The last column of an answer that has no intervals: about how many records a cluster has."""


def value_column(columns: Columns) -> str:
    """The column with the answers: the one before `lower` and `upper`, or the last where there are none."""
    return list(columns)[-3] if "lower" in columns else CLUSTERS


def picture_of(answer: Answer) -> Picture:
    """The whole of an answer, nothing left out. Axes with a single position are dropped."""
    query, domain = answer.item.item.query, answer.domain
    of: Attribute | None = None
    table = [axis_of(split, domain) for split in answer.item.strategy.table]
    match query:
        case Histogram() | Rectangles():
            head, axes, title = "Histogram" if isinstance(query, Histogram) else "Map", table, "records"
            names = [axis.title for axis in axes if axis.size > 1]
            head += f" of {listing(names)}" if names else ""
        case Ranges() if query.named:
            named = DrawnAxis(f"range of {titled(domain[query.attribute])}", tuple(name for name, _, _ in query.named))
            head, axes, title = f"Counts in ranges of {query.attribute}", [*_by(query.by, domain), named], "records"
        case Cdf() | Ranges():
            head, axes, title = f"Running counts of {query.attribute}", table, "records at or below the value"
        case Quantiles():
            shares = DrawnAxis("share of the records", tuple(f"{float(100 * share):.6g}%" for share in query.at))
            of = domain[query.attribute]
            head, axes, title = f"Quantiles of {query.attribute}", [*_by(query.by, domain), shares], titled(of)
        case Count():
            head = "Number of records" + (f" with {query.where}" if query.where else "")
            axes, title = _by(query.by, domain), "records"
        case Total():
            axes, title = _by(query.by, domain), f"sum of {titled(domain[query.attribute])}"
            title = f"sum of {query.attribute} times {query.weight}" if query.weight else title
            head = title.capitalize()
        case Mean():
            axes, title = _by(query.by, domain), f"average of {titled(domain[query.attribute])}"
            head = title.capitalize()
        case KMeans():
            raise AssertionError("clusters are drawn by themselves")
        case _:
            assert_never(query)
    if not isinstance(query, Histogram | Rectangles) and query.by:
        head += f" by {listing(query.by)}"
    columns = answer.columns
    shape = tuple(axis.size for axis in axes if axis.size > 1)
    values, lower, upper = (columns[name].reshape(shape) for name in (value_column(columns), "lower", "upper"))
    adds_up = isinstance(query, Histogram | Count | Rectangles) and answer.values is not None
    return Picture(
        head,
        tuple(axis for axis in axes if axis.size > 1),
        title,
        values,
        lower,
        upper,
        exact=not answer.item.strategy.noisy,
        running=isinstance(query, Cdf) or (isinstance(query, Ranges) and not query.named),
        sums=partial(block_intervals, answer) if adds_up else None,
        of=of,
    )


def axis_of(split: Split, domain: Domain) -> DrawnAxis:
    """The axis of a split: its values, or the names of its bins."""
    attribute = domain[split.name]
    if split.bins is not None:
        return DrawnAxis(titled(attribute), split.labels or tuple(f"group {n + 1}" for n in range(split.size(domain))))
    codes = np.arange(attribute.size, dtype=np.int64)
    return DrawnAxis(titled(attribute), (), attribute, codes, codes)


def _by(names: Sequence[str], domain: Domain) -> list[DrawnAxis]:
    return [axis_of(Split(name), domain) for name in names]


def block_intervals(answer: Answer, starts: Sequence[Ints]) -> tuple[Floats, Floats]:
    """The 95% interval of the sum over every block of a table; `starts` as in `Picture.sums`.

    Why   it is that of the noisy numbers in the block, added up; exact totals that would shorten it are not used.
    """
    raw = answer.table.raw.reshape([int(at[-1]) for at in starts])
    for place, at in enumerate(starts):
        raw = np.add.reduceat(raw, at[:-1], axis=place)
    if answer.item.mechanism == "grid":
        reach = _grid_reach(answer, starts).reshape(raw.shape)
    else:
        spans = np.ix_(*map(np.diff, starts))
        reach = _reach(answer, np.broadcast_to(math.prod(spans), raw.shape), spans[-1])
    return raw - reach, raw + reach


def _reach(answer: Answer, sizes: Ints, last: Ints) -> Floats:
    """How far a sum of noisy cells can be off; along the order, a sum of any length needs two running counts."""
    match answer.item.mechanism:
        case "exact":
            return np.zeros(sizes.shape)
        case "ordered":
            terms = 2 * sizes // last
        case "identity" | "hierarchical":
            terms = sizes
        case "grid" | "direct" | "synopsis":
            raise no_table(answer.item.mechanism)
        case _:
            assert_never(answer.item.mechanism)
    kinds, which = np.unique(terms, return_inverse=True)
    scale, noise = answer.item.scale, answer.item.strategy.noise
    reaches = np.array([noise.sum_quantile(scale, int(kind), CONFIDENCE) for kind in kinds], float)
    return reaches[which].reshape(sizes.shape)


def _grid_reach(answer: Answer, starts: Sequence[Ints]) -> Floats:
    """The same for blocks of a map; a side with a single value has no axis."""
    drawn = iter(starts)
    whole = np.zeros(1, np.int64)
    ends = []
    for split in answer.item.strategy.table:
        at = next(drawn) if split.size(answer.domain) > 1 else None
        ends.append((whole, whole) if at is None else (at[:-1], at[1:] - 1))
    return block_reach(answer.item.strategy, answer.item.scale, answer.domain, ends, CONFIDENCE)
