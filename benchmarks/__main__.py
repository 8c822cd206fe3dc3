"""`python -m benchmarks [--quick] [NAME ...]`: run the benchmarks, print a table, write results.json.

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

from benchmarks.page import merged, write_page

HERE = Path(__file__).parent


def main() -> None:
    arguments = sys.argv[1:]
    quick = "--quick" in arguments
    wanted = [name for name in arguments if not name.startswith("-")]
    names = sorted(path.stem for path in HERE.glob("bench_*.py"))
    console = Console()
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
    console.print("written to benchmarks/results.json and docs/benchmarks.md")


if __name__ == "__main__":
    main()
