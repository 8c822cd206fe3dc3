"""Pictures of measured ratios: a dot with its spread for each figure, or lines where they tell how something grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import vl_convert

OURS, OTHERS = "#0b6e99", "#9a9a9a"
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
Row = Mapping[str, Any]


def dots(rows: Sequence[Row], title: str = "times the reference") -> str:
    """One line a row, on a logarithmic scale: a ratio of ten is as far from one as a tenth.

    Pre   a row has `label`, `ratio`, perhaps `least` and `most`, perhaps a `target`, and whether it is `ours`.
    """
    values = [
        {
            "label": row["label"],
            "ratio": row["ratio"],
            "least": row.get("least") or row["ratio"],
            "most": row.get("most") or row["ratio"],
            "target": row.get("target"),
            "ours": row.get("ours", True),
        }
        for row in rows
        if row["ratio"]
    ]
    name = {"field": "label", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 520}}
    scale = {"type": "log", "padding": 12, "nice": False}
    colours = {"domain": [True, False], "range": [OURS, OTHERS]}
    colour = {"field": "ours", "type": "nominal", "scale": colours, "legend": None}
    ratio = {"field": "ratio", "type": "quantitative", "scale": scale, "title": title}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.4},
            "encoding": {"y": name, "x": {**ratio, "field": "least"}, "x2": {"field": "most"}, "color": colour},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
            "encoding": {"y": name, "x": ratio, "color": colour},
        },
    ]
    if any(value["target"] for value in values):
        target = {"y": name, "x": {**ratio, "field": "target"}}
        with_one = {"filter": "isValid(datum.target)"}
        layers.append(
            {"transform": [with_one], "mark": {"type": "tick", "color": "#c0392b", "thickness": 2}, "encoding": target}
        )
    return _svg({"data": {"values": values}, "width": 420, "height": {"step": 18}, "layer": layers})


def growth(rows: Sequence[Row]) -> str:
    """Cost over that of the smallest size, against the size; on the dashed line it grows as fast as the size.

    Pre   a row's name is "what: size over smallest", and its detail has `size_over_smallest`.
    """
    values = [
        {"what": row["name"].split(":")[0], "size": row["detail"]["size_over_smallest"], "cost": row["ratio"]}
        for row in rows
    ]
    across = {"field": "size", "type": "quantitative", "scale": {"type": "log"}, "title": "times the smallest size"}
    up = {"field": "cost", "type": "quantitative", "scale": {"type": "log"}, "title": "times its seconds"}
    colour = {"field": "what", "type": "nominal", "sort": None, "title": None, "legend": {"labelLimit": 400}}
    layers = [
        {
            "mark": {"type": "line", "strokeDash": [4, 3], "color": "#666"},
            "encoding": {"x": across, "y": {**up, "field": "size"}},
        },
        {"mark": {"type": "line", "point": True}, "encoding": {"x": across, "y": up, "color": colour}},
    ]
    return _svg({"data": {"values": values}, "width": 360, "height": 280, "layer": layers})


def _svg(spec: dict[str, Any]) -> str:
    drawn: str = vl_convert.vegalite_to_svg({"$schema": SCHEMA, **spec})
    return drawn
