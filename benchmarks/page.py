"""Writing the measured figures into the documentation, so that no number is typed by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
ENGINES = PAGE.with_name("engines.md")
MARK = "<!-- results -->"


def write_page(report: Mapping[str, Any]) -> None:
    """Replace everything after the mark by tables of the results."""
    head = PAGE.read_text(encoding="utf-8").split(MARK)[0]
    PAGE.write_text(f"{head}{MARK}\n\n{tables(report)}", encoding="utf-8")


def write_engines(report: Mapping[str, Any]) -> None:
    """Replace everything after the mark of docs/engines.md by what was measured on each engine."""
    rows = [row["detail"] for row in report["results"] if row["benchmark"] == "engines"][::2]
    if not rows:
        return
    lines = ["| engine | rows | megabytes of files | seconds by hand | seconds | ratio | megabytes |"]
    lines += ["| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for d in sorted(rows, key=lambda d: (d["engine"], d["rows"])):
        ratio, size = d["ours"] / d["hand"], d["file_megabytes"]
        lines.append(
            f"| {d['engine']} | {d['rows']:,} | {size:,.0f} | {d['hand']:.2f} | {d['ours']:.2f} | {ratio:.2f} "
            f"| {d['megabytes']:.0f} |"
        )
    head = ENGINES.read_text(encoding="utf-8").split(MARK)[0]
    ENGINES.write_text(head + "\n".join([MARK, "", *lines, ""]), encoding="utf-8")


def tables(report: Mapping[str, Any]) -> str:
    """One table per benchmark, in the order they were run."""
    how = "a quick run" if report["quick"] else "a full run"
    lines = [f"Measured on {report['date']} with Python {report['python']} on {report['cores']} cores, {how}.", ""]
    names = list(dict.fromkeys(row["benchmark"] for row in report["results"]))
    for name in names:
        rows = [row for row in report["results"] if row["benchmark"] == name]
        lines += [f"### {name}", "", "| what | ratio | target | reached |", "| --- | ---: | ---: | --- |"]
        lines += [_line(row) for row in rows] + [""]
    return "\n".join(lines)


def _line(row: Mapping[str, Any]) -> str:
    target = row["target"]
    reached = "" if target is None else "yes" if row["reached"] else "**no**"
    name = str(row["name"]).replace("|", "\\|")
    return f"| {name} | {row['ratio']:.3g} | {'' if target is None else f'{target:g}'} | {reached} |"


def merged(old: Mapping[str, Any] | None, results: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """New results, and old ones of benchmarks that were not run again."""
    fresh = {row["benchmark"] for row in results}
    kept = [row for row in (old or {}).get("results", []) if row["benchmark"] not in fresh]
    return sorted([*kept, *results], key=lambda row: str(row["benchmark"]))
