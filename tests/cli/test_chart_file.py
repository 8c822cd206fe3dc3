"""A chart goes into a file as a picture or as its description."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tetraodon.attacks.picture import dots
from tetraodon.cli.chart_file import draw, drawable
from tetraodon.cli.command_boundary import WrongUse

CHART = dots([{"x": 1, "y": 2, "who": "a"}], x="x", y="y", colour="who")


def test_both_forms(tmp_path: Path) -> None:
    draw(CHART, tmp_path / "chart.json")
    draw(CHART, tmp_path / "chart.svg")
    assert json.loads((tmp_path / "chart.json").read_text()) == CHART
    assert (tmp_path / "chart.svg").read_text().startswith("<svg")


def test_what_cannot_be_written(tmp_path: Path) -> None:
    drawable(None)
    with pytest.raises(WrongUse, match="neither"):
        drawable(Path("chart.png"))
    with pytest.raises(WrongUse, match="cannot be written"):
        draw(CHART, tmp_path / "nowhere" / "chart.json")
