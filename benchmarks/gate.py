"""The regression gate: which ratios are more than a third worse than the committed ones.

Disturbances only ever make a figure worse, so a benchmark that looks worse is run again, and the best of the runs
counts. Below a hundredth of its target a figure may move as it likes: a third of some microseconds tells nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]
ALLOWED = 4 / 3
ATTEMPTS = 3


@dataclass(frozen=True)
class Worse:
    """A figure that worsened: what was committed, what was found."""

    name: str
    committed: float
    found: float

    def __str__(self) -> str:
        return f"{self.name}: {self.found:.3g}, committed {self.committed:.3g}"


def worsened(committed: Row, found: Row) -> bool:
    """Is the found figure worse than a third more (or, where higher is better, than three quarters)?"""
    old, new, target = committed["ratio"], found["ratio"], committed.get("target")
    if committed.get("better") == "higher":
        return bool(new < old / ALLOWED)
    return bool(new > max(old * ALLOWED, target / 100 if target is not None else 0))


def check(committed: Sequence[Row], run: Callable[[], Sequence[Row]]) -> list[Worse]:
    """Run a benchmark, up to three times, and tell what is worse in every run. A figure that is gone is worse too."""
    wanted = {row["name"]: row for row in committed}
    for _ in range(ATTEMPTS):
        found = {row["name"]: row for row in run()}
        bad = {name: found.get(name) for name, row in wanted.items() if name not in found or worsened(row, found[name])}
        if not bad:
            return []
        wanted = {name: wanted[name] for name in bad}
    return [
        Worse(name, wanted[name]["ratio"], float("nan") if row is None else row["ratio"]) for name, row in bad.items()
    ]
