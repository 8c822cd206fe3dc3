"""Pictures hold every row, and colours are told apart by name."""

from __future__ import annotations

from tetraodon.attacks.attack import bars, dots, lines, svg

ROWS = [{"n": 1, "odds": 2.0, "who": "a"}, {"n": 10, "odds": 200.0, "who": "b"}]


def test_lines_and_points() -> None:
    chart = lines(ROWS, x="n", y="odds", colour="who", log="xy")
    assert chart["encoding"]["x"]["scale"] == chart["encoding"]["y"]["scale"] == {"type": "log", "nice": False}
    assert chart["encoding"]["color"]["scale"]["domain"] == ["a", "b"]
    assert "scale" not in dots(ROWS, x="n", y="odds", colour="who")["encoding"]["x"]
    assert svg(chart).startswith("<svg")


def test_bars_stand_side_by_side_unless_their_colour_is_their_place() -> None:
    assert "xOffset" in bars(ROWS, x="n", y="odds", colour="who")["encoding"]
    alone = bars(ROWS, x="who", y="odds", colour="who")["encoding"]
    assert "xOffset" not in alone
    assert alone["color"]["legend"] is None
