"""Writing the comparison with peers into the documentation: tables, and one picture for each comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import vl_convert

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE, FIGURES = DOCS / "peers.md", DOCS / "figures"
MARK = "<!-- results -->"
NAMES = {
    "plain": "reference",
    "tetraodon": "Tetraodon",
    "opendp": "OpenDP",
    "diffprivlib": "diffprivlib",
    "tumult": "Tumult",
    "pipelinedp": "PipelineDP",
    "smartnoise": "SmartNoise SQL",
    "jaxprivacy": "JAX Privacy",
}


def write_page(report: Mapping[str, Any]) -> None:
    """Replace everything after the mark by the results."""
    head = PAGE.read_text(encoding="utf-8").split(MARK)[0]
    how = "a quick run" if report["quick"] else "a full run"
    lines = [f"Measured on {report['date']} with Python {report['python']} on {report['cores']} cores, {how}.", ""]
    for name, rows in report["results"].items():
        lines += [f"### {name}", ""]
        for place, what in enumerate(dict.fromkeys(row["what"] for row in rows)):
            lines += _section(f"peers-{name}-{place}", what, [row for row in rows if row["what"] == what])
    PAGE.write_text(f"{head}{MARK}\n\n" + "\n".join(lines), encoding="utf-8")


def _section(figure: str, what: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    FIGURES.mkdir(exist_ok=True)
    (FIGURES / f"{figure}.svg").write_text(_picture(rows), encoding="utf-8")
    way = "higher is better" if rows[0]["better"] == "higher" else "lower is better"
    lines = [f"**{what[0].upper()}{what[1:]}** ({way})", "", f"![{what}](figures/{figure}.svg)", ""]
    lines += ["| who | version | ratio | least | most | runs |", "| --- | --- | ---: | ---: | ---: | ---: |"]
    for row in rows:
        who = NAMES.get(row["who"], row["who"])
        if row["ratio"] is None:
            lines.append(f"| {who} | | not run: {row['why']} | | | |")
            continue
        numbers = " | ".join(f"{row[key]:.3g}" for key in ("ratio", "least", "most"))
        lines.append(f"| {who} | {row.get('version') or ''} | {numbers} | {row['repeats']} |")
    return [*lines, ""]


def _picture(rows: Sequence[Mapping[str, Any]]) -> str:
    """Bars on a logarithmic scale: a ratio of ten is as far from one as a tenth."""
    values = [
        {"who": NAMES.get(row["who"], row["who"]), "ratio": row["ratio"], "ours": row["who"] == "tetraodon"}
        for row in rows
        if row["ratio"] is not None
    ]
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": values},
        "width": 480,
        "mark": {"type": "point", "filled": True, "size": 110},
        "encoding": {
            "y": {"field": "who", "type": "nominal", "sort": None, "title": None},
            "x": {"field": "ratio", "type": "quantitative", "scale": {"type": "log"}, "title": "times the reference"},
            "color": {
                "field": "ours",
                "type": "nominal",
                "scale": {"domain": [True, False], "range": ["#0b6e99", "#9a9a9a"]},
                "legend": None,
            },
        },
    }
    svg: str = vl_convert.vegalite_to_svg(spec)
    return svg
