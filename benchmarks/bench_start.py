"""What it costs to begin: importing the package and asking the command for help, in fresh processes."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path


def seconds(command: list[str], repeats: int) -> float:
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def run(quick: bool) -> list[dict[str, object]]:
    """Rows for the common report."""
    repeats = 5 if quick else 15
    bare = seconds([sys.executable, "-c", "pass"], repeats)
    tetraodon = str(Path(sys.executable).parent / "tetraodon")
    rows: list[dict[str, object]] = []
    for words, command, target in (
        ("import tetraodon", [sys.executable, "-c", "import tetraodon"], 0.3),
        ("tetraodon --help", [tetraodon, "--help"], 0.5),
    ):
        taken = seconds(command, repeats)
        rows.append(
            {
                "name": f"{words}: seconds over {target}",
                "ratio": taken / target,
                "target": 1.0,
                "reached": taken < target,
                "detail": {"seconds": taken, "bare_python_seconds": bare},
            }
        )
    return rows
