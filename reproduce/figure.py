"""What a reproduced figure is: where its data come from, tables, pictures, and the orderings that must hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Item = TypeVar("Item")
Progress = Callable[[Sequence[Item], str], Iterable[Item]]
"""Goes through a sequence and shows how far it is."""


@dataclass(frozen=True)
class Table:
    """Rows of numbers and words under their columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite specification, drawn into `docs/figures/NAME.svg`."""

    name: str
    title: str
    spec: dict[str, Any]


@dataclass(frozen=True)
class Check:
    """An ordering that the paper states or that mathematics demands, and whether these numbers show it."""

    what: str
    holds: bool


@dataclass(frozen=True)
class Figure:
    """All that one module reproduces."""

    data: str
    tables: tuple[Table, ...]
    charts: tuple[Chart, ...]
    checks: tuple[Check, ...]

    def document(self) -> dict[str, Any]:
        return asdict(self)


def figure_of(document: dict[str, Any]) -> Figure:
    """A figure read back from its document."""
    tables = tuple(
        Table(one["title"], tuple(one["columns"]), tuple(tuple(row) for row in one["rows"]))
        for one in document["tables"]
    )
    charts = tuple(Chart(**one) for one in document["charts"])
    return Figure(document["data"], tables, charts, tuple(Check(**one) for one in document["checks"]))


def lines(
    name: str,
    title: str,
    points: Sequence[dict[str, Any]],
    *,
    x: str,
    y: str,
    series: str,
    panels: str | None = None,
    log: bool = True,
    low: str | None = None,
    high: str | None = None,
    x_log: bool = False,
) -> Chart:
    """One line for each series, with a band where `low` and `high` are named, side by side where `panels` are."""
    colour = {"field": series, "type": "nominal", "sort": None, "legend": {"symbolOpacity": 1}}
    across = {"field": x, "type": "quantitative", "scale": {"type": "log"} if x_log else {"zero": False}}
    scale = {"type": "log", "nice": False} if log else {"zero": False}
    up = {"field": y, "type": "quantitative", "scale": scale}
    layers: list[dict[str, Any]] = [
        {"mark": {"type": "line", "point": {"size": 18}}, "encoding": {"x": across, "y": up, "color": colour}}
    ]
    if low and high:
        band = {"x": across, "y": {**up, "field": low, "title": y}, "y2": {"field": high}, "color": colour}
        layers.insert(0, {"mark": {"type": "area", "opacity": 0.15}, "encoding": band})
    spec: dict[str, Any] = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "data": {"values": points}}
    order = list(dict.fromkeys(point[panels] for point in points)) if panels else []
    size = {"width": 220 if len(order) > 2 else 300, "height": 240}
    if panels is None:
        spec |= {**size, "layer": layers}
    else:
        facet = {"field": panels, "type": "nominal", "sort": order, "title": None}
        spec |= {"facet": facet, "spec": {**size, "layer": layers}, "columns": len(order)}
    return Chart(name, title, spec)


def mean_over_ranges(wrong: NDArray[np.float64], ends: NDArray[np.int64]) -> float:
    """The mean squared error of the ranges whose first and last places are given, counting from zero."""
    running = np.append(0.0, np.cumsum(wrong))
    return float(np.mean((running[ends[:, 1] + 1] - running[ends[:, 0]]) ** 2))
