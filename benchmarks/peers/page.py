"""Writing the comparison with peers into the documentation: tables, and one picture for each comparison."""

from __future__ import annotations

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


def write_page(report: Mapping[str, Any]) -> None:
    """Replace everything after the mark by the results, and draw them."""
    head = PAGE.read_text(encoding="utf-8").split(MARK)[0]
    PAGE.write_text(f"{head}{MARK}\n\n{sections(report)}", encoding="utf-8")
    FIGURES.mkdir(exist_ok=True)
    for name, rows in report["results"].items():
        for place, what in enumerate(_whats(rows)):
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
    lines += ["| who | version | ratio | least | most | runs |", "| --- | --- | ---: | ---: | ---: | ---: |"]
    for row in rows:
        if row["ratio"] is None:
            lines.append(f"| {who(comparison, row)} | | not run: {row['why']} | | | |")
            continue
        numbers = " | ".join(f"{row[key]:.3g}" for key in ("ratio", "least", "most"))
        lines.append(f"| {who(comparison, row)} | {row.get('version') or ''} | {numbers} | {row['repeats']} |")
    return [*lines, ""]
