"""`python -m benchmarks.peers [--quick] [NAME ...]`: our figures beside those of other libraries.

With `--quick` sizes are smaller, and nothing is written.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.peers.environments import ASKED, HOME, python_of
from benchmarks.peers.page import write_page
from benchmarks.peers.tasks import TASKS, Row

RESULTS = Path(__file__).parent / "results.json"


def main() -> None:
    quick = "--quick" in sys.argv
    wanted = [name for name in sys.argv[1:] if not name.startswith("-")] or list(TASKS)
    console = Console()
    HOME.mkdir(exist_ok=True)
    for peer in ASKED if wanted == list(TASKS) else ():  # others are set up when a comparison needs them
        with console.status(f"setting up {peer}"):
            python_of(peer)
    for name in wanted:
        with console.status(f"running {name}"), tempfile.TemporaryDirectory() as folder:
            rows = list(TASKS[name](quick, Path(folder)))
        console.print(_shown(name, rows))
        if not quick:  # after each, so that what was measured is kept when a later one fails
            _write(name, rows)
    if quick:
        console.print("a quick run: nothing is written")
    else:
        console.print("written to benchmarks/peers/results.json and docs/peers.md")


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
