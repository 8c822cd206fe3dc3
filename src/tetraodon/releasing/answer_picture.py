"""What there is to draw of an answer: its numbers with their intervals, along the attributes it is about."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import assert_never

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.domain import Domain
from tetraodon.inference.estimate import CONFIDENCE
from tetraodon.policy.words import listing
from tetraodon.questions.answered import Columns
from tetraodon.questions.query import Places, titled
from tetraodon.releasing.answer import Answer
from tetraodon.releasing.estimates import no_table
from tetraodon.releasing.grid_reach import block_reach
from tetraodon.report.picture import DrawnAxis, Picture
from tetraodon.workload.linear import Split

CLUSTERS = "records"
"""The last column of an answer that has no intervals: about how many records a cluster has."""


def value_column(columns: Columns) -> str:
    """The column with the answers: the one before `lower` and `upper`, or the last where there are none."""
    return list(columns)[-3] if "lower" in columns else CLUSTERS


def picture_of(answer: Answer) -> Picture:
    """The whole of an answer, nothing left out. Axes with a single position are dropped."""
    query, columns = answer.item.item.query, answer.columns
    drawing = query.drawing(answer.domain, answer.item.strategy.table)
    assert drawing is not None, "it has a chart of its own"
    axes = tuple(axis for side in drawing.sides if (axis := axis_of(side, answer.domain)).size > 1)
    head = drawing.head + (f" by {listing(query.by)}" if query.by else "")
    if drawing.names_sides and axes:
        head += f" of {listing(axis.title for axis in axes)}"
    shape = tuple(axis.size for axis in axes)
    values, lower, upper = (columns[name].reshape(shape) for name in (value_column(columns), "lower", "upper"))
    return Picture(
        head,
        axes,
        drawing.title,
        values,
        lower,
        upper,
        exact=not answer.item.strategy.noisy,
        running=drawing.running,
        sums=partial(block_intervals, answer) if drawing.adds_up else None,
        of=drawing.of,
    )


def axis_of(side: Split | Places, domain: Domain) -> DrawnAxis:
    """The axis of a side: the values of a split, the names of its bins, or names."""
    if isinstance(side, Places):
        return DrawnAxis(side.title, side.names)
    attribute = domain[side.name]
    if side.bins is not None:
        return DrawnAxis(titled(attribute), side.labels or tuple(f"group {n + 1}" for n in range(side.size(domain))))
    codes = np.arange(attribute.size, dtype=np.int64)
    return DrawnAxis(titled(attribute), (), attribute, codes, codes)


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
