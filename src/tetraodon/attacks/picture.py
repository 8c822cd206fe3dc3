"""Pictures of attacks: lines, bars and points as Vega-Lite specifications."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from tetraodon.report.marks import PALETTE, Spec

Row = dict[str, Any]
"""Numbers and names by their titles in the picture."""


def rounded(number: float) -> float:
    """Four significant digits, so that the same run draws the same picture on every machine.

    >>> rounded(13359.7268), rounded(0.0312345)
    (13360.0, 0.03123)
    """
    return float(f"{number:.4g}")


def lines(
    rows: Sequence[Row], *, x: str, y: str, colour: str, log: Literal["", "x", "y", "xy"] = "", points: bool = True
) -> Spec:
    """A line for each colour; `log` names the axes that are logarithmic."""
    mark = {"type": "line", "point": points}
    return _drawn(rows, mark, {"x": _axis(x, "x" in log), "y": _axis(y, "y" in log), "color": _colour(rows, colour)})


def bars(rows: Sequence[Row], *, x: str, y: str, colour: str) -> Spec:
    """Groups of bars, in the order of the rows."""
    order = list(dict.fromkeys(row[x] for row in rows))
    stages = list(dict.fromkeys(row[colour] for row in rows))
    encoding = {
        "x": {"field": x, "type": "nominal", "sort": order, "axis": {"labelAngle": 0, "labelLimit": 200}},
        "y": _axis(y, log=False),
        "color": _colour(rows, colour),
    }
    if stages != order:
        encoding["xOffset"] = {"field": colour, "sort": stages}
    else:
        encoding["color"]["legend"] = None
    return _drawn(rows, {"type": "bar"}, encoding)


def dots(rows: Sequence[Row], *, x: str, y: str, colour: str) -> Spec:
    """A point for each row."""
    encoding = {"x": _axis(x, log=False), "y": _axis(y, log=False), "color": _colour(rows, colour)}
    return _drawn(rows, {"type": "point", "filled": True}, encoding)


def svg(chart: Spec) -> str:
    """A chart as a picture that scales."""
    import vl_convert

    picture: str = vl_convert.vegalite_to_svg(chart)
    return picture


def _axis(title: str, log: bool) -> Spec:
    axis: Spec = {"field": title, "type": "quantitative"}
    if log:
        axis |= {"scale": {"type": "log", "nice": False}, "axis": {"grid": False, "tickCount": 6}}
    return axis


def _colour(rows: Sequence[Row], field: str) -> Spec:
    names = list(dict.fromkeys(row[field] for row in rows))
    return {
        "field": field,
        "type": "nominal",
        "title": None,
        "scale": {"domain": names, "range": list(PALETTE[: len(names)])},
        "legend": {"orient": "top", "columns": 2, "labelLimit": 320},
    }


def _drawn(rows: Sequence[Row], mark: Spec, encoding: Spec) -> Spec:
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": list(rows)},
        "width": 520,
        "height": 260,
        "mark": mark,
        "encoding": encoding,
    }
