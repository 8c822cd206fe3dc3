"""Charts as Vega-Lite specifications, with fewer marks where the eye could not tell."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, assert_never

import numpy as np

from tetraodon.report.picture import DrawnAxis, Kind, Picture, places, plain, shown
from tetraodon.wording import number_of

# -- downsampling -----------------------------------------------------------------------------------
# Fewer things to draw: what the eye could not tell apart is left out or drawn together, and the page says so.

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
        axes=tuple(
            axis
            if axis.first is None or axis.last is None
            else replace(axis, first=axis.first[at[:-1]], last=axis.last[at[1:] - 1])
            for axis, at in zip(picture.axes, starts, strict=True)
        ),
        title=f"{picture.title} per value, on average",
        values=values / sizes,
        lower=np.minimum(lower, values) / sizes,
        upper=np.maximum(upper, values) / sizes,
        note=f"Too many values to draw one by one: neighbours are drawn as their average, {together} at a time.",
    )


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


# -- marks ------------------------------------------------------------------------------------------
# The ways to draw: bars, points, steps and heat maps, each with its 95% intervals, as layers of Vega-Lite.

Spec: TypeAlias = dict[str, Any]

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7f6a00", "#56b4e9", "#6a3d9a", "#8c8c8c")
"""Okabe and Ito's colours for every kind of colour vision, darkened where they would be faint on white."""

DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [4, 4], [12, 3], [1, 3], [6, 2, 1, 2])
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")

_TYPES: dict[Kind, str] = {"quantity": "quantitative", "date": "temporal", "order": "ordinal", "name": "nominal"}
INK = "currentColor"

CONFIG: Spec = {
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "domainColor": INK,
        "tickColor": INK,
        "gridColor": INK,
        "gridOpacity": 0.14,
        "domainOpacity": 0.5,
        "tickOpacity": 0.5,
        "labelFontSize": 12,
        "titleFontSize": 12.5,
        "titleFontWeight": 600,
        "titlePadding": 8,
        "labelOverlap": True,
        "labelLimit": 220,
        "tickCount": 8,
    },
    "axisY": {"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleX": 0, "titleY": -10},
    "legend": {
        "orient": "top",
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "titleFontSize": 12.5,
        "titleFontWeight": 600,
        "titleOrient": "left",
        "symbolStrokeWidth": 2,
        "columns": 4,
        "labelLimit": 180,
        "titleLimit": 400,
        "offset": 30,
    },
    "header": {"labelColor": INK, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 12.5},
}

SMALL_CONFIG: Spec = {name: part for name, part in CONFIG.items() if name != "axisY"} | {
    "legend": CONFIG["legend"] | {"offset": 12}
}
"""For small charts side by side, whose names stand where the title of the vertical axis would."""


def mark_rows(picture: Picture, decimals: int) -> list[Spec]:
    """The numbers as Vega-Lite reads them: one object each, positions as a0, a1, ... and as t0, ... in words."""
    data = [[axis.datum(place) for place in range(axis.size)] for axis in picture.axes]
    texts = [[axis.text(place) for place in range(axis.size)] if axis.grouped else [] for axis in picture.axes]
    numbers: list[list[Any]] = []
    for array in (picture.values, picture.lower, picture.upper):
        if picture.of is None:
            numbers.append([plain(number) for number in np.round(array.astype(np.float64), decimals).ravel().tolist()])
        else:
            numbers.append([shown(value) if picture.kind != "quantity" else plain(value) for value in array.ravel()])
    made = []
    for place, value, lower, upper in zip(np.ndindex(picture.values.shape), *numbers, strict=True):
        row: Spec = {f"a{number}": data[number][at] for number, at in enumerate(place)}
        row |= {f"t{number}": texts[number][at] for number, at in enumerate(place) if texts[number]}
        made.append(row | {"v": value, "lo": lower, "hi": upper})
    return made


def step_marks(picture: Picture, x: int, colour: int | None) -> list[Spec]:
    """A step line with a band around it."""
    shape = "step-after" if picture.running else "step"
    across = {"x": _along(picture.axes[x], x)} | _coloured(picture, colour)
    dash = {}
    if colour is not None:
        across["color"] |= {"legend": {"symbolType": "stroke", "symbolSize": 300, "symbolOpacity": 1}}
        dash = {"strokeDash": _ranged(picture, colour, DASHES)}
    number = _number(picture, zero=not picture.running and picture.adds_up)
    band = {"type": "area", "interpolate": shape, "opacity": 0.25, "line": False}
    line = {"type": "line", "interpolate": shape, "strokeWidth": 1.8, "strokeJoin": "round"}
    plain_colour = {} if colour is not None else {"color": PALETTE[0]}
    return [
        {"mark": band | plain_colour, "encoding": across | {"y": number | {"field": "lo"}, "y2": {"field": "hi"}}},
        {"mark": line | plain_colour, "encoding": across | dash | {"y": number}},
        {
            "mark": {"type": "point", "opacity": 0, "size": 80, "filled": True},
            "encoding": {"x": across["x"], "y": number, "tooltip": _tooltip(picture)},
        },
    ]


def bar_marks(picture: Picture, axis: int, colour: int | None) -> list[Spec]:
    """A bar for every number, with a line from the lower to the upper end of its interval."""
    place, along, offset = _directions(picture.axes[axis])
    across = {place: _discrete(picture.axes[axis], axis)}
    if colour is not None:
        across[offset] = _series(picture, colour)
    number = _number(picture, zero=True)
    mark: Spec = {"type": "bar", "fillOpacity": 0.65} | ({"color": PALETTE[0]} if colour is None else {})
    tooltip = {"tooltip": _tooltip(picture)}
    ends = {along: number | {"field": "lo"}, f"{along}2": {"field": "hi"}}
    return [
        {"mark": mark, "encoding": across | {along: number} | _coloured(picture, colour) | tooltip},
        {"mark": {"type": "rule", "strokeWidth": 1.6, "color": INK}, "encoding": across | ends | tooltip},
    ]


def point_marks(picture: Picture, axis: int, colour: int | None) -> list[Spec]:
    """A point for every number, on a line from the lower to the upper end of its interval."""
    place, along, offset = _directions(picture.axes[axis])
    across = {place: _discrete(picture.axes[axis], axis)}
    if colour is not None:
        across[offset] = _series(picture, colour)
    shape = {} if colour is None else {"shape": _ranged(picture, colour, SHAPES)}
    number = _number(picture, zero=False)
    ends = {along: number | {"field": "lo"}, f"{along}2": {"field": "hi"}}
    tooltip = {"tooltip": _tooltip(picture)} | _coloured(picture, colour)
    plain_colour = {} if colour is not None else {"color": PALETTE[0]}
    dot = {"type": "point", "filled": True, "size": 75, "opacity": 1}
    return [
        {"mark": {"type": "rule", "strokeWidth": 2.4} | plain_colour, "encoding": across | ends | tooltip},
        {"mark": dot | plain_colour, "encoding": across | {along: number} | shape | tooltip},
    ]


def heat_map(picture: Picture, x: int, y: int) -> list[Spec]:
    """A coloured cell for every number; the interval is in its tooltip."""
    scale = {"scheme": "viridis"} | ({"domainMin": 0, "clamp": True} if picture.values.max() > 0 else {})
    colour = {"field": "v", "type": "quantitative", "title": picture.title, "scale": scale}
    legend = {"gradientLength": 220, "format": ",~f"}
    across = {"x": _discrete(picture.axes[x], x), "y": _discrete(picture.axes[y], y)}
    return [{"mark": "rect", "encoding": across | {"color": colour | {"legend": legend}, "tooltip": _tooltip(picture)}}]


def is_horizontal(axis: DrawnAxis) -> bool:
    """Whether bars and points lie on their side: names need room, numbers do not."""
    return axis.kind in ("name", "order")


def _directions(axis: DrawnAxis) -> tuple[str, str, str]:
    return ("y", "x", "yOffset") if is_horizontal(axis) else ("x", "y", "xOffset")


def _field(axis: DrawnAxis, number: int) -> str:
    return f"t{number}" if axis.grouped else f"a{number}"


def _along(axis: DrawnAxis, number: int) -> Spec:
    encoding: Spec = {"field": f"a{number}", "type": _TYPES[axis.kind], "title": axis.title}
    match axis.kind:
        case "quantity":
            return encoding | {"scale": {"zero": False, "nice": False}, "axis": {"format": "~f", "grid": False}}
        case "date":
            return encoding | {"scale": {"type": "utc"}, "axis": {"grid": False}}
        case "order" | "name":
            return encoding | {"sort": None}
        case _:
            assert_never(axis.kind)


def _discrete(axis: DrawnAxis, number: int) -> Spec:
    kind = "nominal" if axis.kind == "name" else "ordinal"
    angle = {} if is_horizontal(axis) else {"labelAngle": 0}
    return {"field": _field(axis, number), "type": kind, "title": axis.title, "sort": None, "axis": angle}


def _series(picture: Picture, colour: int) -> Spec:
    axis = picture.axes[colour]
    return {"field": _field(axis, colour), "type": "nominal", "title": axis.title, "sort": None}


def _coloured(picture: Picture, colour: int | None) -> Spec:
    return {} if colour is None else {"color": _ranged(picture, colour, PALETTE)}


def _ranged(picture: Picture, colour: int, range_: Sequence[Any]) -> Spec:
    """Positions distinguished by looks. Colours and shapes have the same domain, so that they share one legend."""
    axis = picture.axes[colour]
    domain = [axis.text(place) if axis.grouped else axis.datum(place) for place in range(axis.size)]
    return _series(picture, colour) | {"scale": {"domain": domain, "range": list(range_[: axis.size])}}


def _number(picture: Picture, *, zero: bool) -> Spec:
    encoding: Spec = {"field": "v", "type": _TYPES[picture.kind], "title": picture.title}
    match picture.kind:
        case "quantity":
            if picture.of is None:
                return encoding | {"scale": {"zero": zero, "nice": True}, "axis": {"format": ",~f"}}
            form = {"format": "~f", "tickMinStep": plain(picture.of.step)}
            return encoding | {"scale": {"zero": False, "nice": False, "padding": 10}, "axis": form}
        case "date":
            return encoding | {"scale": {"type": "utc"}}
        case "order" | "name":
            assert picture.of is not None
            return encoding | {"sort": None, "scale": {"domain": list(picture.of.labels)}}
        case _:
            assert_never(picture.kind)


def _tooltip(picture: Picture) -> list[Spec]:
    tooltip = [
        {"field": _field(axis, number), "type": "nominal", "title": axis.title}
        for number, axis in enumerate(picture.axes)
    ]
    counted = picture.of is None
    for field, title in (("v", picture.title), ("lo", "lower (95%)"), ("hi", "upper (95%)")):
        form = {"type": "quantitative", "format": ",~f"} if counted else {"type": "nominal"}
        tooltip.append({"field": field, "title": title} | form)
    return tooltip


# -- chart ------------------------------------------------------------------------------------------

Way: TypeAlias = Literal["steps", "bars", "points", "heat map"]
MANY = 30
MOST_ROWS = 6000
MOST_FACETS = 12
HEIGHT, SMALL_HEIGHT, STEP = 300, 180, 26


@dataclass(frozen=True)
class Layout:
    """Which axis of a picture goes where; `second` is the colour, or the other side of a heat map."""

    way: Way
    along: int
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
        "data": {"values": mark_rows(picture, decimals)},
    }
    drawn = _size(picture, layout) | {"layer": _layers(picture, layout)}
    if layout.facet is None:
        return base | {"width": "container"} | drawn
    columns = min(picture.axes[layout.facet].size, 3)
    return base | {"facet": _series(picture, layout.facet), "columns": columns, "spec": drawn | {"width": 230}}


def standing_alone(spec: Spec) -> Spec:
    """A chart with its own width, ink and paper, for where there is no page around it."""
    drawn = {name: part for name, part in spec.items() if name != "data"}
    inked: Spec = json.loads(json.dumps(drawn).replace(INK, "#1d2733"))
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
        fits = all(axes[n].ordered or axes[n].size <= MOST_NAMES for n in (along, second))
        return Layout("heat map", along, second) if fits else None
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


def _reduced(picture: Picture, layout: Layout) -> Picture:
    if layout.way in ("bars", "points"):
        return largest(picture) if len(picture.axes) == 1 else picture
    if picture.running:
        return thinned(picture)
    return grouped(picture, MOST_STEPS if layout.way == "steps" else MOST_SIDE)


def _layers(picture: Picture, layout: Layout) -> list[Spec]:
    if layout.way == "heat map":
        assert layout.second is not None
        return heat_map(picture, layout.along, layout.second)
    marks = {"points": point_marks, "bars": bar_marks, "steps": step_marks}[layout.way]
    return marks(picture, layout.along, layout.second)


def _size(picture: Picture, layout: Layout) -> Spec:
    colours = 1 if layout.second is None else picture.axes[layout.second].size
    if layout.way == "heat map":
        return {"height": {"step": max(8, min(STEP, 480 // colours))}}
    if layout.way == "steps" or not is_horizontal(picture.axes[layout.along]):
        return {"height": HEIGHT if layout.facet is None else SMALL_HEIGHT}
    return {"height": {"step": max(STEP, 12 * colours + 8), "for": "position"}}


def _caption(picture: Picture, layout: Layout) -> str:
    narrow = "Where no line shows, the interval is too short to see."
    words = {
        "steps": "Lines show the released numbers, the bands around them their 95% intervals.",
        "bars": f"Bars show the released numbers, thin lines their 95% intervals. {narrow}",
        "points": f"Points show the released numbers, lines their 95% intervals. {narrow}",
        "heat map": "Colours show the released numbers; point at a cell for its 95% interval.",
    }
    return f"{'Exact numbers, without error bars.' if picture.exact else words[layout.way]} {picture.note}".strip()
