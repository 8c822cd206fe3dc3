"""Fewer things to draw: what the eye could not tell apart is left out or drawn together, and the page says so."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.report.picture import DrawnAxis, Picture

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


def grouped(picture: Picture, most: int) -> Picture:
    """Neighbours of long ordered axes drawn together: the average over each group, with its own 95% interval.

    Pre   the picture knows the intervals of sums, and none of its numbers was left out.
    Why   the interval is widened to hold the estimate, and holds nothing below zero, as that of any count.
    """
    long = [place for place, axis in enumerate(picture.axes) if axis.ordered and axis.size > most]
    if not long or picture.sums is None:
        return picture
    sides = [axis.size for axis in picture.axes]
    strides = [-(-side // most) if place in long else 1 for place, side in enumerate(sides)]
    starts = [np.append(np.arange(0, side, stride), side) for side, stride in zip(sides, strides, strict=True)]
    values = picture.values.astype(np.float64)
    for place in long:
        values = np.add.reduceat(values, starts[place][:-1], axis=place)
    sizes = math.prod(np.ix_(*map(np.diff, starts)))
    lower, upper = (np.maximum(end, 0.0) for end in picture.sums(starts))
    together = " times ".join(f"{strides[place]:,}" for place in long)
    return replace(
        picture,
        axes=tuple(map(_spans, picture.axes, starts)),
        title=f"{picture.title} per value, on average",
        values=values / sizes,
        lower=np.minimum(lower, values) / sizes,
        upper=np.maximum(upper, values) / sizes,
        note=f"Too many values to draw one by one: neighbours are drawn as their average, {together} at a time.",
    )


def _spans(axis: DrawnAxis, starts: Ints) -> DrawnAxis:
    """Runs of neighbours as one position each; names are never long enough to run together."""
    if axis.first is None or axis.last is None:
        return axis
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
