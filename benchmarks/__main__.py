"""`python -m benchmarks [--quick | --check] [NAME ...]`: run the benchmarks, print tables, write results.json.

Each is run up to three times (see `runs`), and what was measured is written with its spread. With `--quick` sizes are
smaller, and nothing is written. With `--check` nothing is written either: the figures are compared with the committed
ones (see `gate`), and the exit code is 1 when one has worsened.

Every figure is a ratio to a reference measured in the same run, or to the stated limit; the detail holds the parts.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.gate import check
from benchmarks.page import merged, write_pages
from benchmarks.runs import fresh, several

HERE = Path(__file__).parent
BESIDE = ("tetraodon", "numpy", "duckdb", "polars", "scikit-learn", "pyspark")
"""Whose versions are told with the figures."""


def gate(console: Console, names: list[str]) -> int:
    """Compare fresh figures with the committed ones; 1 when one has worsened by more than a third."""
    committed = json.loads((HERE / "results.json").read_text())["results"]
    worse = []
    for name in names:
        rows = [row for row in committed if row["benchmark"] == name]
        with console.status(f"checking {name}"):
            found = check(rows, lambda name=name: fresh(name, False))
        console.print(f"{name}: {len(rows)} figures, {len(found)} worse")
        worse += found
    for one in worse:
        console.print(f"  {one}", highlight=False)
    return 1 if worse else 0


def main() -> None:
    asked = _asked(sys.argv[1:])
    quick, console = asked.quick, Console()
    names = [name for name in benchmarks() if not asked.names or name in asked.names]
    if asked.check:
        raise SystemExit(gate(console, names))
    results: list[dict[str, Any]] = []
    for name in names:
        with console.status(f"running {name}"):
            rows = fresh(name, True) if quick else several(lambda name=name: fresh(name, False))
        console.print(_shown(name, rows))
        about = {"benchmark": name, "date": dt.datetime.now(dt.UTC).date().isoformat()}
        results += [{**about, **row} for row in rows]
        if not quick:  # after each, so that what was measured is kept when a later one fails
            _write(results)
    if quick:
        console.print("a quick run: nothing is written")
    else:
        console.print("written to benchmarks/results.json and docs/benchmarks.md")


def _asked(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").partition("\n\n")[2])
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quick", action="store_true", help="smaller sizes, and nothing is written")
    how.add_argument("--check", action="store_true", help="compare with the committed figures")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(benchmarks())}; else all")
    asked = parser.parse_args(arguments)
    for name in asked.names:
        if name not in benchmarks():
            parser.error(f"there is no benchmark {name!r}")
    return asked


def benchmarks() -> list[str]:
    """The modules that measure something."""
    return sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))


def _write(results: list[dict[str, Any]]) -> None:
    path = HERE / "results.json"
    report = {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "versions": {name: version(name) for name in BESIDE},
        "results": merged(json.loads(path.read_text()) if path.exists() else None, results),
    }
    path.write_text(json.dumps(report, indent=1, default=str) + "\n")
    write_pages(report)


def _shown(name: str, rows: list[dict[str, Any]]) -> Table:
    table = Table(title=name)
    for column in ("what", "ratio", "from", "to", "target", "reached"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for row in rows:
        target = row["target"]
        reached = "" if target is None else "yes" if row["reached"] else "NO"
        spread = [f"{row[key]:.3g}" if key in row else "" for key in ("least", "most")]
        table.add_row(
            str(row["name"]), f"{row['ratio']:.3g}", *spread, "" if target is None else f"{target:g}", reached
        )
    return table


if __name__ == "__main__":
    main()
