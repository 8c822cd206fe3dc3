"""`python -m benchmarks.peers [--quick] [--limit SECONDS] [NAME ...]`: our figures beside those of other libraries.

With `--quick` sizes are smaller, and nothing is written. A comparison that takes longer than the limit is given up with
a word, and so is one that fails; what was measured before stays as it was, and the next one begins.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.table import Table

from benchmarks.peers.environments import ASKED, HOME, python_of
from benchmarks.peers.page import write_page
from benchmarks.peers.tasks import TASKS, Row

RESULTS = Path(__file__).parent / "results.json"


LIMIT = 3600.0
"""Seconds that one comparison may take."""


class TooLong(Exception):
    """A comparison has no time left."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(TASKS)}; all if left out")
    parser.add_argument("--quick", action="store_true", help="smaller sizes; nothing is written")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds that one comparison may take")
    asked = parser.parse_args()
    if unknown := [name for name in asked.names if name not in TASKS]:
        parser.error(f"no comparison is called {', '.join(unknown)}")
    console, wanted = Console(), asked.names or list(TASKS)
    HOME.mkdir(exist_ok=True)
    for peer in ASKED if not asked.names else ():  # others are set up when a comparison needs them
        with console.status(f"setting up {peer}"):
            python_of(peer)
    without = [name for name in wanted if not _measured(name, wanted, console, asked.quick, asked.limit)]
    told = (
        "a quick run: nothing is written" if asked.quick else "written to benchmarks/peers/results.json, docs/peers.md"
    )
    console.print(told + (f"; not measured: {', '.join(without)}" if without else ""))
    sys.exit(int(bool(without)))


def _measured(name: str, wanted: list[str], console: Console, quick: bool, limit: float) -> bool:
    """Run one comparison, show it, and write it down, so that it is kept when a later one fails."""
    place, start = f"{name} ({wanted.index(name) + 1} of {len(wanted)})", time.monotonic()
    console.print(f"{place} begins at {dt.datetime.now():%H:%M}")
    try:
        with console.status(f"running {place}"), tempfile.TemporaryDirectory() as folder, _within(limit):
            rows = list(TASKS[name](quick, Path(folder)))
    except TooLong:
        console.print(f"{place} was given up after {limit:g} seconds")
        return False
    except Exception:  # noqa: BLE001 - whatever a peer or its environment does, the others are measured
        console.print(f"{place} failed:\n{traceback.format_exc()}", markup=False)
        return False
    console.print(_shown(name, rows))
    console.print(f"{place} took {time.monotonic() - start:.0f} seconds")
    if not quick:
        _write(name, rows)
    return True


@contextmanager
def _within(limit: float) -> Iterator[None]:
    """Raise TooLong when so many seconds are over."""

    def late(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        raise TooLong

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _write(name: str, rows: list[Row]) -> None:
    old = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"dates": {}, "results": {}}
    results = {**old["results"], name: rows}
    dates = {**old["dates"], name: dt.datetime.now(dt.UTC).date().isoformat()}
    report = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "dates": dates,
        "results": {task: results[task] for task in [*TASKS, *results] if task in results},
    }
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    write_page(report)


def _shown(name: str, rows: list[Row]) -> Table:
    table = Table(title=name, show_lines=False)
    for column in ("what", "who", "ratio", "from", "to"):
        table.add_column(column, justify="left" if column in ("what", "who") else "right")
    for row in rows:
        missing = row["ratio"] is None
        shown = ["-" if missing else f"{row[key]:.3g}" for key in ("ratio", "least", "most")]
        table.add_row(row["what"], row["who"], *shown)
    return table


if __name__ == "__main__":
    main()
