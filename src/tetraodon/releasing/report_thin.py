"""Fewer things to draw: what the eye could not tell apart is thinned or drawn together, and the page says so."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from tetraodon.inference.estimate import CONFIDENCE
from tetraodon.releasing.answer import Answer
from tetraodon.releasing.estimates import no_table
from tetraodon.releasing.grid_reach import block_reach
from tetraodon.releasing.report_picture import Axis, Picture

Places: TypeAlias = NDArray[np.int64]
MOST_POINTS = 1500
MOST_STEPS = 500
MOST_NAMES = 60
MOST_SIDE = 80


def thinned(picture: Picture) -> Picture:
    """Running counts at fewer values: half of them evenly spaced, half where the counts rise most."""
    size = picture.axes[-1].size
    lines = math.prod(axis.size for axis in picture.axes[:-1])
    most = max(MOST_POINTS // lines, 60)
    if size <= most:
        return picture
    even = np.linspace(0, size - 1, most // 2).astype(np.int64)
    rise = np.abs(np.diff(picture.values, axis=-1)).reshape(-1, size - 1).max(axis=0)
    steep = np.argpartition(rise, -(most // 4))[-(most // 4) :]
    places = np.unique(np.concatenate([even, steep, steep + 1]))
    note = f"Drawn at {len(places):,} of {size:,} values, those where the counts rise most among them."
    return replace(
        picture,
        axes=(*picture.axes[:-1], picture.axes[-1].taken(places)),
        values=picture.values[..., places],
        lower=picture.lower[..., places],
        upper=picture.upper[..., places],
        note=note,
    )


def grouped(answer: Answer, picture: Picture, most: int) -> Picture:
    """Neighbours of long ordered axes drawn together: the average over each group, with its own 95% interval.

    Pre   the picture holds counts of cells (`adds_up`) and none was left out.
    Why   the interval is that of the noisy numbers in the group, added up and widened to hold the estimate, as in
          `TableAnswer.add_up`; exact totals that would shorten it are not used.
    """
    long = [place for place, axis in enumerate(picture.axes) if axis.ordered and axis.size > most]
    if not long:
        return picture
    values, raw = picture.values.astype(np.float64), answer.table.raw.reshape(picture.values.shape)
    sizes = np.ones((1,) * values.ndim)
    spans = [np.ones(1)] * values.ndim
    axes = list(picture.axes)
    for place in long:
        starts = np.append(np.arange(0, axes[place].size, _stride(axes[place], most)), axes[place].size)
        values, raw = (np.add.reduceat(array, starts[:-1], axis=place) for array in (values, raw))
        view = [1] * values.ndim
        view[place] = -1
        spans[place] = np.diff(starts).reshape(view)
        sizes = sizes * spans[place]
        axes[place] = _spans(axes[place], starts)
    if answer.item.mechanism == "grid":
        reach = _grid_reach(answer, axes).reshape(values.shape)
    else:
        reach = _reach(answer, np.broadcast_to(sizes, values.shape), spans[-1])
    lower = np.minimum(np.maximum(raw - reach, 0.0), values)
    upper = np.maximum(np.maximum(raw + reach, 0.0), values)
    strides = " times ".join(f"{_stride(picture.axes[place], most):,}" for place in long)
    note = f"Too many values to draw one by one: neighbours are drawn as their average, {strides} at a time."
    return replace(
        picture,
        axes=tuple(axes),
        title=f"{picture.title} per value, on average",
        values=values / sizes,
        lower=lower / sizes,
        upper=upper / sizes,
        note=note,
    )


def _stride(axis: Axis, most: int) -> int:
    return -(-axis.size // most)


def _reach(answer: Answer, sizes: NDArray[np.float64], last: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far a sum of noisy cells can be off; along the order, a sum of any length needs two running counts."""
    match answer.item.mechanism:
        case "exact":
            return np.zeros(sizes.shape)
        case "ordered":
            terms = 2 * sizes / last
        case "identity" | "hierarchical":
            terms = sizes
        case "grid" | "direct" | "synopsis":
            raise no_table(answer.item.mechanism)
        case _:
            assert_never(answer.item.mechanism)
    kinds, which = np.unique(terms, return_inverse=True)
    scale, noise = answer.item.scale, answer.item.strategy.noise
    reaches = np.array([noise.sum_quantile(scale, round(float(kind)), CONFIDENCE) for kind in kinds], float)
    return reaches[which].reshape(sizes.shape)


def _grid_reach(answer: Answer, axes: list[Axis]) -> NDArray[np.float64]:
    """The same for blocks of a map; a side with a single value has no axis."""
    drawn = iter(axes)
    whole = np.zeros(1, np.int64)
    ends = []
    for split in answer.item.strategy.table:
        axis = next(drawn) if split.size(answer.domain) > 1 else None
        ends.append(
            (whole, whole) if axis is None or axis.first is None or axis.last is None else (axis.first, axis.last)
        )
    return block_reach(answer.item.strategy, answer.item.scale, answer.domain, ends, CONFIDENCE)


def _spans(axis: Axis, starts: Places) -> Axis:
    assert axis.first is not None
    assert axis.last is not None
    return replace(axis, first=axis.first[starts[:-1]], last=axis.last[starts[1:] - 1])


def largest(picture: Picture) -> Picture:
    """The largest released numbers of a long list of names."""
    size = picture.axes[0].size
    if picture.values.ndim != 1 or size <= MOST_NAMES or picture.kind != "quantity":
        return picture
    places = np.argsort(-picture.values.astype(np.float64), kind="stable")[:MOST_NAMES]
    return replace(
        picture,
        axes=(picture.axes[0].taken(places),),
        values=picture.values[places],
        lower=picture.lower[places],
        upper=picture.upper[places],
        note=f"Only the {MOST_NAMES} largest of {size:,} released numbers are drawn.",
    )
