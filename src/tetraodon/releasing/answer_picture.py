"""What there is to draw of an answer: its numbers with their intervals, along the attributes it is about."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.domain import Domain
from tetraodon.policy.words import listing
from tetraodon.questions.answered import Columns
from tetraodon.questions.query import Places, titled
from tetraodon.releasing.answer import Answer
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

    Why   it is that of the noisy numbers in the block, added up. A side of the table with a single value has no axis.
    """
    raw, drawn = answer.table.raw, iter(starts)
    every = [next(drawn) if size > 1 else np.array([0, 1]) for size in raw.shape]
    for place, at in enumerate(every):
        raw = np.add.reduceat(raw, at[:-1], axis=place)
    low, high = np.ix_(*(at[:-1] for at in every)), np.ix_(*(at[1:] - 1 for at in every))
    lower, upper = answer.table.boxes(low, high, raw, raw)
    shape = [len(at) - 1 for at in starts]
    return lower.reshape(shape), upper.reshape(shape)
