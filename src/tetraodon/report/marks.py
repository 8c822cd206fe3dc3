"""The ways to draw: bars, points, steps and heat maps, each with its 95% intervals, as layers of Vega-Lite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, assert_never

import numpy as np

from tetraodon.report.picture import DrawnAxis, Kind, Numbers, Picture, plain
from tetraodon.report.rounding import shown

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


def rows(picture: Picture, decimals: int) -> list[Spec]:
    """The numbers as Vega-Lite reads them: one object each, positions as a0, a1, ... and as t0, ... in words."""
    data = [[axis.datum(place) for place in range(axis.size)] for axis in picture.axes]
    texts = [[axis.text(place) for place in range(axis.size)] if axis.grouped else [] for axis in picture.axes]
    numbers = [_plain_numbers(picture, array, decimals) for array in (picture.values, picture.lower, picture.upper)]
    made = []
    for place, value, lower, upper in zip(np.ndindex(picture.values.shape), *numbers, strict=True):
        row: Spec = {f"a{number}": data[number][at] for number, at in enumerate(place)}
        row |= {f"t{number}": texts[number][at] for number, at in enumerate(place) if texts[number]}
        made.append(row | {"v": value, "lo": lower, "hi": upper})
    return made


def _plain_numbers(picture: Picture, array: Numbers, decimals: int) -> list[Any]:
    if picture.of is None:
        return [plain(number) for number in np.round(array.astype(np.float64), decimals).ravel().tolist()]
    return [shown(value) if picture.kind != "quantity" else plain(value) for value in array.ravel()]


def steps(picture: Picture, x: int, colour: int | None) -> list[Spec]:
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
        {
            "mark": band | plain_colour,
            "encoding": across | {"y": number | {"field": "lo"}, "y2": {"field": "hi"}},
        },
        {"mark": line | plain_colour, "encoding": across | dash | {"y": number}},
        {
            "mark": {"type": "point", "opacity": 0, "size": 80, "filled": True},
            "encoding": {"x": across["x"], "y": number, "tooltip": _tooltip(picture)},
        },
    ]


def bars(picture: Picture, axis: int, colour: int | None) -> list[Spec]:
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


def points(picture: Picture, axis: int | None, colour: int | None) -> list[Spec]:
    """A point for every number, on a line from the lower to the upper end of its interval."""
    across: Spec = {}
    place, along, offset = ("y", "x", "yOffset") if axis is None else _directions(picture.axes[axis])
    if axis is not None:
        across[place] = _discrete(picture.axes[axis], axis)
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


def facet(picture: Picture, number: int) -> Spec:
    """One small chart for every position of an axis."""
    axis = picture.axes[number]
    return {"field": _field(axis, number), "type": "nominal", "title": axis.title, "sort": None}


def is_horizontal(axis: DrawnAxis | None) -> bool:
    """Whether bars and points lie on their side: names need room, numbers do not."""
    return axis is None or axis.kind in ("name", "order")


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
    """Positions told apart by looks. Colours and shapes have the same domain, so that they share one legend."""
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
    told = [
        {"field": _field(axis, number), "type": "nominal", "title": axis.title}
        for number, axis in enumerate(picture.axes)
    ]
    counted = picture.of is None
    for field, title in (("v", picture.title), ("lo", "lower (95%)"), ("hi", "upper (95%)")):
        form = {"type": "quantitative", "format": ",~f"} if counted else {"type": "nominal"}
        told.append({"field": field, "title": title} | form)
    return told
