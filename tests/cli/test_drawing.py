"""Pictures for people who would rather look than read: made of letters, or in a file (`--chart`)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tetraodon.attacks.attack import dots
from tetraodon.cli.console import BLOCKS, WrongUse, bar, draw, drawable, sparkline, squeezed


def test_sparklines() -> None:
    assert sparkline(range(8)) == BLOCKS
    assert sparkline([0, 0]) == BLOCKS[0] * 2
    assert sparkline([-5, 5, 50], top=5) == BLOCKS[0] + BLOCKS[-1] * 2
    assert sparkline([]) == ""


def test_bars() -> None:
    assert [len(bar(value, 10, width=10)) for value in (0, -3, 5, 10, 20)] == [0, 0, 5, 10, 10]
    assert bar(5, 0) == ""
    assert bar(1, 16, width=2) == "▏"


def test_squeezing() -> None:
    assert squeezed([1, 2], 5, running=False) == [1, 2]
    assert len(squeezed(list(range(1000)), 72, running=False)) == 72
    assert squeezed(list(range(1000)), 72, running=True)[-1] == 999
    assert sum(squeezed([7.0] * 100, 10, running=False)) == 70


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
