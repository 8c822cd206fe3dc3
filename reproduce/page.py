"""Writing reproduced figures into the documentation: pictures, tables and checks below the words of each page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import vl_convert

from reproduce.figure import Figure, Table

DOCS = Path(__file__).parent.parent / "docs"
MARK = "<!-- results -->"


def write_page(name: str, figure: Figure, stored: Mapping[str, Any]) -> None:
    """Replace everything after the mark of `docs/evidence/NAME.md`, and draw its pictures."""
    page = DOCS / "evidence" / f"{name}.md"
    head = page.read_text(encoding="utf-8").split(MARK)[0]
    lines = [f"Made on {stored['date']} with Python {stored['python']}. Data: {figure.data}.", ""]
    (DOCS / "figures").mkdir(exist_ok=True)
    for chart in figure.charts:
        svg: str = vl_convert.vegalite_to_svg(chart.spec)
        (DOCS / "figures" / f"{chart.name}.svg").write_text(svg, encoding="utf-8")
        lines += [f"**{chart.title}**", "", f"![{chart.title}](../figures/{chart.name}.svg)", ""]
    for table in figure.tables:
        lines += [f"**{table.title}**", "", *table_lines(table), ""]
    lines += ["What must hold, checked on these numbers:", ""]
    lines += [f"- {check.what}: {'yes' if check.holds else '**no**'}" for check in figure.checks]
    page.write_text(f"{head}{MARK}\n\n" + "\n".join(lines) + "\n", encoding="utf-8")


def table_lines(table: Table) -> list[str]:
    """A Markdown table; numbers with three digits that count."""
    lines = ["| " + " | ".join(table.columns) + " |", "| --- |" + " ---: |" * (len(table.columns) - 1)]
    return lines + ["| " + " | ".join(_shown(cell) for cell in row) + " |" for row in table.rows]


def _shown(cell: Any) -> str:
    if isinstance(cell, float):
        return f"{cell:.4g}"
    if isinstance(cell, int) and not isinstance(cell, bool):
        return f"{cell:,}"
    return str(cell)
