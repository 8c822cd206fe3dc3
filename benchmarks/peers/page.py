"""Writing the comparison with peers into the documentation: tables, and one picture for each comparison.

Comparisons of many errors that nobody would look at one by one have one table, without pictures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.picture import dots

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE, FIGURES = DOCS / "peers.md", DOCS / "figures"
MARK = "<!-- results -->"
NAMES = {
    "tetraodon": "Tetraodon",
    "opendp": "OpenDP",
    "diffprivlib": "diffprivlib",
    "pipelinedp": "PipelineDP",
    "smartnoise": "SmartNoise SQL",
    "jaxprivacy": "JAX Privacy",
}
PARTS = {
    "noise": {"plain": "NumPy (reference)", "tumult": "Tumult Core"},
    "histogram": {"plain": "DuckDB (reference)", "tumult": "Tumult Analytics"},
    "kmeans": {"plain": "scikit-learn (reference, not private)"},
}
"""Which part of a library a comparison uses, where it has several."""
SHORT = {"few-quantiles", "quantile-intervals", "sparse", "coresets", "alone", "bound", "tables"}
"""Comparisons that have one line for each question."""
BESIDE = ("tetraodon", "ours")
"""How the names of what is not a peer begin."""


def write_page(report: Mapping[str, Any]) -> None:
    """Replace everything after the mark by the results, and draw them."""
    head = PAGE.read_text(encoding="utf-8").split(MARK)[0]
    PAGE.write_text(f"{head}{MARK}\n\n{sections(report)}", encoding="utf-8")
    FIGURES.mkdir(exist_ok=True)
    for name, rows in report["results"].items():
        for place, what in enumerate(_whats(rows) if name not in SHORT else ()):
            shown = [
                {**row, "label": who(name, row), "ours": row["who"] == "tetraodon"}
                for row in rows
                if row["what"] == what
            ]
            (FIGURES / f"peers-{name}-{place}.svg").write_text(dots(shown), encoding="utf-8")


def sections(report: Mapping[str, Any]) -> str:
    """One table and the address of one picture for each comparison."""
    lines = [f"Measured on {report['cores']} cores with Python {report['python']}.", ""]
    for name, rows in report["results"].items():
        lines += [f"### {name}", "", f"Measured on {report['dates'][name]}.", ""]
        if name in SHORT:
            lines += _short(name, rows)
            continue
        for place, what in enumerate(_whats(rows)):
            lines += _section(f"peers-{name}-{place}", name, what, [row for row in rows if row["what"] == what])
    return "\n".join(lines)


def who(comparison: str, row: Mapping[str, Any]) -> str:
    """A library by the name that its readers know."""
    return PARTS.get(comparison, {}).get(row["who"]) or NAMES.get(row["who"]) or str(row["who"])


def _whats(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(row["what"] for row in rows))


def _section(figure: str, comparison: str, what: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    way = "higher is better" if rows[0]["better"] == "higher" else "lower is better"
    lines = [f"**{what[0].upper()}{what[1:]}** ({way})", "", f"![{what}](figures/{figure}.svg)", ""]
    lines += [
        "| who | version | ratio | 95% | least | most | runs |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        if row["ratio"] is None:
            lines.append(f"| {who(comparison, row)} | | not run: {row['why']} | | | | |")
            continue
        sure = f"± {row['sure']:.2g}" if "sure" in row else ""
        numbers = " | ".join([f"{row['ratio']:.3g}", sure, *(f"{row[key]:.3g}" for key in ("least", "most"))])
        lines.append(f"| {who(comparison, row)} | {row.get('version') or ''} | {numbers} | {row['repeats']} |")
    return [*lines, ""]


def _short(comparison: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A table for each measure and company: errors with their 95% intervals, and ours over the best peer's."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for what in _whats(rows):
        here = [row for row in rows if row["what"] == what]
        asked, _, measure = what.rpartition(": ")
        line = " | ".join([asked, *map(_error, here), _over_best(here)])
        names = tuple(who(comparison, row) for row in here)
        groups.setdefault((measure.removesuffix(", over ours"), names), []).append(f"| {line} |")
    lines = []
    for (measure, names), found in groups.items():
        lines += [f"| {measure} | {' | '.join(names)} | ours / best peer |", "| --- |" + " ---: |" * (len(names) + 1)]
        lines += [*found, ""]
    return lines


def _error(row: Mapping[str, Any]) -> str:
    if row["ratio"] is None:
        return f"not run: {row['why']}"
    return _plain(row["error"], 4) + (f" ± {_plain(_sure(row), 2)}" if _sure(row) else "")


def _plain(number: float, digits: int) -> str:
    """So many digits, and no exponent for large numbers."""
    rounded = float(f"{number:.{digits}g}")
    return f"{rounded:,.0f}" if rounded >= 10**digits else f"{rounded:,.{digits}g}"


def _sure(row: Mapping[str, Any]) -> float:
    """Half of the interval of the error itself; what an error was divided by follows from any row."""
    return float(row.get("sure", 0.0) * row["error"] / row["ratio"]) if row["ratio"] else 0.0


def _over_best(rows: Sequence[Mapping[str, Any]]) -> str:
    """Ours over the least error of a peer, with the interval that follows from both."""
    peers = [row for row in rows if not row["who"].startswith(BESIDE) and row["ratio"] is not None]
    ours = next(row for row in rows if row["who"] == BESIDE[0])
    best = min(peers, key=lambda row: row["error"], default=None)
    if best is None or not best["error"]:
        return "" if ours["error"] else "both 0"
    ratio = ours["error"] / best["error"]
    sure = ratio * math.hypot(*(_sure(row) / row["error"] for row in (ours, best) if row["error"]))
    return f"{ratio:.3g} ± {sure:.2g}" if sure else f"{ratio:.4g}"
