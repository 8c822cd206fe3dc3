"""A picture as a Vega-Lite specification: a plain document, drawn by whoever holds it. It names no address, no file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

from tetraodon.policy.words import number_of
from tetraodon.report import marks
from tetraodon.report.downsampling import MOST_NAMES, MOST_SIDE, MOST_STEPS, grouped, largest, thinned
from tetraodon.report.marks import CONFIG, PALETTE, SMALL_CONFIG, Spec
from tetraodon.report.picture import Picture
from tetraodon.report.rounding import places

Way: TypeAlias = Literal["steps", "bars", "points", "heat map"]
MANY = 30
MOST_ROWS = 6000
MOST_FACETS = 12
HEIGHT, SMALL_HEIGHT, STEP = 300, 180, 26


@dataclass(frozen=True)
class Layout:
    """Which axis of a picture goes where; `second` is the colour, or the other side of a heat map."""

    way: Way
    along: int | None
    second: int | None = None
    facet: int | None = None


def chart(whole: Picture) -> Spec | None:
    """The chart of a picture, or None where only a table makes sense.

    Post  `description` says what is drawn, for those who cannot see it; `usermeta.caption` how to read it.
    """
    layout = _layout(whole)
    if layout is None:
        return None
    picture = _reduced(whole, layout)
    if picture.values.size > MOST_ROWS:
        return None
    decimals = places(picture.lower, picture.upper) + 1 if picture.of is None else 0
    thing = {"steps": "step", "bars": "bar", "points": "point", "heat map": "cell"}[layout.way]
    base: Spec = {
        "description": f"{whole.what}; {number_of(int(whole.values.size), thing)}.",
        "usermeta": {"caption": _caption(picture, layout)},
        "background": "transparent",
        "config": CONFIG if layout.facet is None else SMALL_CONFIG,
        "data": {"values": marks.rows(picture, decimals)},
    }
    drawn = _size(picture, layout) | {"layer": _layers(picture, layout)}
    if layout.facet is None:
        return base | {"width": "container"} | drawn
    columns = min(picture.axes[layout.facet].size, 3)
    return base | {"facet": marks.facet(picture, layout.facet), "columns": columns, "spec": drawn | {"width": 230}}


def standing_alone(spec: Spec) -> Spec:
    """A chart with its own width, ink and paper, for where there is no page around it."""
    drawn = {name: part for name, part in spec.items() if name != "data"}
    inked: Spec = json.loads(json.dumps(drawn).replace(marks.INK, "#1d2733"))
    sized = {} if "facet" in spec else {"width": 680}
    return inked | {"data": spec["data"], "background": "white"} | sized


def _layout(picture: Picture) -> Layout | None:
    """Where each axis goes: the longest along the chart, few values as colours, a third as small charts."""
    axes = picture.axes
    if not 1 <= len(axes) <= 3:  # a single number is said, and needs no picture
        return None
    along = _longest(picture)
    others = sorted((n for n in range(len(axes)) if n != along), key=lambda n: -axes[n].size)
    way: Way = "bars" if picture.adds_up else "points"
    if picture.running or (axes[along].ordered and axes[along].size > MANY):
        way = "steps"
    elif axes[along].size > MOST_NAMES and others:
        return None
    second, facet = (*others, None, None)[:2]
    if second is None or axes[second].size <= len(PALETTE):
        return Layout(way, along, second, facet)
    if facet is None and picture.adds_up:
        return Layout("heat map", along, second) if _fits(picture, along, second) else None
    if axes[second].size <= MOST_FACETS:
        return Layout(way, along, facet, second)
    return None


def _longest(picture: Picture) -> int:
    """The axis along which the numbers are drawn."""
    last = len(picture.axes) - 1
    if picture.running:
        return last
    if picture.of is not None and last > 0:
        return max(range(last), key=lambda n: picture.axes[n].size)
    ordered = [n for n, axis in enumerate(picture.axes) if axis.ordered and axis.size > MANY]
    return max(ordered or range(last + 1), key=lambda n: picture.axes[n].size)


def _fits(picture: Picture, *axes: int) -> bool:
    return all(picture.axes[n].ordered or picture.axes[n].size <= MOST_NAMES for n in axes)


def _reduced(picture: Picture, layout: Layout) -> Picture:
    match layout.way:
        case "steps" if picture.running:
            return thinned(picture)
        case "steps":
            return grouped(picture, MOST_STEPS)
        case "heat map":
            return grouped(picture, MOST_SIDE)
        case "bars" | "points":
            return largest(picture) if len(picture.axes) == 1 else picture
        case _:
            assert_never(layout.way)


def _layers(picture: Picture, layout: Layout) -> list[Spec]:
    along, second = layout.along, layout.second
    match layout.way:
        case "points":
            return marks.points(picture, along, second)
        case "bars":
            assert along is not None
            return marks.bars(picture, along, second)
        case "steps":
            assert along is not None
            return marks.steps(picture, along, second)
        case "heat map":
            assert along is not None
            assert second is not None
            return marks.heat_map(picture, along, second)
        case _:
            assert_never(layout.way)


def _size(picture: Picture, layout: Layout) -> Spec:
    tall = HEIGHT if layout.facet is None else SMALL_HEIGHT
    if layout.along is None:
        return {"height": STEP}
    axis = picture.axes[layout.along]
    if layout.way == "heat map":
        assert layout.second is not None
        return {"height": {"step": max(8, min(STEP, 480 // picture.axes[layout.second].size))}}
    if layout.way == "steps" or not marks.is_horizontal(axis):
        return {"height": tall}
    colours = 1 if layout.second is None else picture.axes[layout.second].size
    return {"height": {"step": max(STEP, 12 * colours + 8), "for": "position"}}


def _caption(picture: Picture, layout: Layout) -> str:
    if picture.exact:
        told = "Exact numbers, without error bars."
    else:
        narrow = "Where no line shows, the interval is too short to see."
        told = {
            "steps": "Lines show the released numbers, the bands around them their 95% intervals.",
            "bars": f"Bars show the released numbers, thin lines their 95% intervals. {narrow}",
            "points": f"Points show the released numbers, lines their 95% intervals. {narrow}",
            "heat map": "Colours show the released numbers; point at a cell for its 95% interval.",
        }[layout.way]
    return f"{told} {picture.note}".strip()
