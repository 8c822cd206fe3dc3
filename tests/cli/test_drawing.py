"""Pictures keep their proportions."""

from __future__ import annotations

from tetraodon.cli.drawing import BLOCKS, bar, sparkline, squeezed


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
