"""`python -m benchmarks [--quick | --check] [NAME ...]`: run the benchmarks, print a table, write results.json.

With `--check` nothing is written: the figures are compared with the committed ones (see `gate`), and the exit code is 1
when one has worsened.

Every figure is a ratio to a reference measured in the same run, or to the stated limit; the detail holds the parts.
"""

from __future__ import annotations

import datetime as dt
import importlib
import json
import os
import platform
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.gate import check
from benchmarks.page import merged, write_engines, write_page

HERE = Path(__file__).parent


def gate(console: Console, names: list[str]) -> int:
    """Compare fresh figures with the committed ones; 1 when one has worsened by more than a third."""
    committed = json.loads((HERE / "results.json").read_text())["results"]
    worse = []
    for name in names:
        short = name.removeprefix("bench_")
        rows = [row for row in committed if row["benchmark"] == short]
        module = importlib.import_module(f"benchmarks.{name}")
        with console.status(f"checking {short}"):
            found = check(rows, lambda module=module: module.run(False))
        console.print(f"{short}: {len(rows)} figures, {len(found)} worse")
        worse += found
    for one in worse:
        console.print(f"  {one}", highlight=False)
    return 1 if worse else 0


def main() -> None:
    arguments = sys.argv[1:]
    quick = "--quick" in arguments
    wanted = [name for name in arguments if not name.startswith("-")]
    names = sorted(path.stem for path in HERE.glob("bench_*.py"))
    console = Console()
    if "--check" in arguments:
        raise SystemExit(gate(console, [name for name in names if not wanted or name.removeprefix("bench_") in wanted]))
    results = []
    for name in names:
        if wanted and name.removeprefix("bench_") not in wanted:
            continue
        with console.status(f"running {name}"):
            rows = importlib.import_module(f"benchmarks.{name}").run(quick)
        table = Table(title=name.removeprefix("bench_"))
        for column in ("what", "ratio", "target", "reached"):
            table.add_column(column, justify="left" if column == "what" else "right")
        for row in rows:
            target = row["target"]
            reached = "" if target is None else "yes" if row["reached"] else "NO"
            table.add_row(str(row["name"]), f"{row['ratio']:.3g}", "" if target is None else f"{target:g}", reached)
        console.print(table)
        results += [{"benchmark": name.removeprefix("bench_"), **row} for row in rows]
    path = HERE / "results.json"
    old = json.loads(path.read_text()) if path.exists() else None
    report = {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "quick": quick,
        "results": merged(old, results),
    }
    path.write_text(json.dumps(report, indent=1, default=str) + "\n")
    write_page(report)
    write_engines(report)
    console.print("written to benchmarks/results.json and docs/benchmarks.md")


if __name__ == "__main__":
    main()
