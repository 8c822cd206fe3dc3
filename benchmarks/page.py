"""Writing the measured figures into the documentation, so that no number is typed by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.picture import dots, growth

DOCS = Path(__file__).parent.parent / "docs"
MARK = "<!-- results -->"
BLOCK = re.compile(r"(<!-- measured: (?P<name>[a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
Row = Mapping[str, Any]


def write_pages(report: Mapping[str, Any]) -> None:
    """The page of benchmarks with its pictures, and every block of measured figures on other pages."""
    page = DOCS / "benchmarks.md"
    head = page.read_text(encoding="utf-8").split(MARK)[0]
    page.write_text(f"{head}{MARK}\n\n{tables(report)}", encoding="utf-8")
    (DOCS / "figures").mkdir(exist_ok=True)
    for name, rows in sections(report).items():
        drawn = growth(rows) if name == "growth" else dots([{**row, "label": row["name"]} for row in rows])
        (DOCS / "figures" / f"bench-{name}.svg").write_text(drawn, encoding="utf-8")
    for path in sorted(DOCS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        written = with_blocks(text, report)
        if written != text:
            path.write_text(written, encoding="utf-8")


def sections(report: Mapping[str, Any]) -> dict[str, list[Row]]:
    """The rows of every benchmark, by its name."""
    found: dict[str, list[Row]] = {}
    for row in report["results"]:
        found.setdefault(row["benchmark"], []).append(row)
    return found


def tables(report: Mapping[str, Any]) -> str:
    """One picture and one table per benchmark."""
    versions = ", ".join(f"{name} {version}" for name, version in report.get("versions", {}).items())
    lines = [f"Measured on {report['cores']} cores with Python {report['python']}{versions and ', '}{versions}.", ""]
    for name, rows in sections(report).items():
        way = "higher is better" if rows[0].get("better") == "higher" else "lower is better"
        lines += [
            f"### {name}",
            "",
            f"{rows[0].get('date', report['date'])}; {way} unless the name says otherwise.",
            "",
        ]
        lines += [f"![{name}: every ratio with its spread](figures/bench-{name}.svg)", ""]
        lines += ["| what | ratio | least | most | runs | target | reached |"]
        lines += ["| --- | ---: | ---: | ---: | ---: | ---: | --- |", *(_line(row) for row in rows), ""]
    return "\n".join(lines)


def _line(row: Row) -> str:
    target = row["target"]
    reached = "" if target is None else "yes" if row["reached"] else "**no**"
    name = str(row["name"]).replace("|", "\\|")
    spread = [f"{row[key]:.3g}" if key in row else "" for key in ("least", "most")]
    shown = [
        name,
        f"{row['ratio']:.3g}",
        *spread,
        row.get("runs", ""),
        "" if target is None else f"{target:g}",
        reached,
    ]
    return "| " + " | ".join(map(str, shown)) + " |"


def with_blocks(text: str, report: Mapping[str, Any]) -> str:
    """A page whose blocks of measured figures are those of the report."""

    def replaced(found: re.Match[str]) -> str:
        rows = {row["name"]: row for row in report["results"]}
        try:
            made = BLOCKS[found["name"]](rows)
        except KeyError:  # not measured yet: the block stays as it is
            return found[0]
        return f"{found[1]}{made}\n{found[3]}"

    return BLOCK.sub(replaced, text)


def _engines(rows: Mapping[str, Row]) -> str:
    details = [row["detail"] for row in rows.values() if row["benchmark"] == "engines"][::2]
    if not details:
        raise KeyError("engines")
    cells = [
        (
            d["engine"],
            f"{d['rows']:,}",
            f"{d['file_megabytes']:,.0f}",
            f"{d['hand']:.2f}",
            f"{d['ours']:.2f}",
            f"{d['ours'] / d['hand']:.2f}",
            f"{d['megabytes']:.0f}",
        )
        for d in sorted(details, key=lambda d: (d["engine"], d["rows"]))
    ]
    heads = ("engine", "rows", "megabytes of files", "seconds by hand", "seconds", "ratio", "megabytes")
    return _table(heads, cells)


def _ranges(rows: Mapping[str, Row]) -> str:
    kinds = ("planned / Equation 15", "measured / planned", "after inference / planned")
    thetas = ("1", "10", "50", "100", "500", "1000", "full")
    cells = [(t, *(f"{rows[f'theta {t}: {kind}']['ratio']:.3g}" for kind in kinds)) for t in thetas]
    return _table(("theta", *kinds), cells)


def _presence(rows: Mapping[str, Row]) -> str:
    words = {"ranges": "a range drawn at random", "cdf": "a running count"}
    name, parts = (
        "presence alone, {} of 1,024 values: planned / HDMM as published",
        ("planned", "published", "each value"),
    )
    cells = [(told, *(f"{rows[name.format(key)]['detail'][p]:.0f}" for p in parts)) for key, told in words.items()]
    return _table(("", "planned", "HDMM, as published", "each value"), cells)


def _kmeans(rows: Mapping[str, Row]) -> str:
    kinds = ("full", "one attribute at a time", "theta = 0.25", "theta = 0.1", "blocks of 0.1")
    names = {kind: f"objective, {kind}, epsilon {{}}" for kind in kinds}
    names["full, Lloyd's steps alone"] = "objective, full, epsilon {}, Lloyd's steps alone"
    cells = [
        (kind, *(f"{rows[name.format(e)]['ratio']:.3g}" for e in ("0.1", "0.5", "1"))) for kind, name in names.items()
    ]
    return _table(("policy", "epsilon 0.1", "0.5", "1"), cells)


def _kmeans_many(rows: Mapping[str, Row]) -> str:
    name = "objective, 16 columns, one at a time within {}, epsilon {}, {}"
    methods = {"auto": "chosen", "steps": "hard steps", "soft": "soft steps", "synopsis": "synopsis"}
    cells = [
        (f"{theta}, {epsilon}", *(f"{rows[name.format(theta, epsilon, method)]['ratio']:.3g}" for method in methods))
        for theta in ("0.05", "0.25")
        for epsilon in ("0.2", "1")
    ]
    return _table(("theta, epsilon", *methods.values()), cells)


def _attackers(rows: Mapping[str, Row]) -> str:
    cells = []
    for added in ("1", "1/10"):
        row = rows[f"noise of group differential privacy over the Markov quilt, {added} added to each count"]
        detail = row["detail"]
        hidden = f"{detail['rows that noise hides']:.0f}"
        cells.append((added, f"{detail['rows']:,}", hidden, f"{row['ratio']:.0f} times less"))
    return _table(
        ("added to each count", "rows protected", "noise is that of rows", "than for all rows together"), cells
    )


def _counts(rows: Mapping[str, Row]) -> str:
    found = [row for row in rows.values() if row["benchmark"] == "counts"]
    if not found:
        raise KeyError("counts")
    heads = ("squared error against the truth", "published / measured")
    return _table(heads, [(str(row["name"]).partition(": whole")[0], f"{row['ratio']:.3g}") for row in found])


def _counts_bias(rows: Mapping[str, Row]) -> str:
    names = {"Adult": "36 tables of Adult, epsilon 1", "tweets": "cells of the map of tweets"}
    told = {short: rows[f"{name}: whole / measured"]["detail"]["by true count"] for short, name in names.items()}
    cells = [
        (
            size.replace("1001..1000000000", "above 1,000").replace("101..1000", "101..1,000"),
            *(
                f"{told[short][size][key]:.{1 if abs(told[short][size][key]) < 10 else 0}f}"
                for short in names
                for key in ("mean error", "rms", "rms measured")
            ),
        )
        for size in told["Adult"]
    ]
    heads = [f"{short}: {word}" for short in names for word in ("mean error", "off", "`measured` off")]
    return _table(("true count", *heads), cells)


BLOCKS: dict[str, Callable[[Mapping[str, Row]], str]] = {
    "engines": _engines,
    "ranges": _ranges,
    "presence": _presence,
    "kmeans": _kmeans,
    "kmeans-many": _kmeans_many,
    "attackers": _attackers,
    "counts": _counts,
    "counts-bias": _counts_bias,
}


def _table(heads: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "| --- |" + " ---: |" * (len(heads) - 1)]
    return "\n".join(["", *lines, *("| " + " | ".join(row) + " |" for row in cells), ""])


def merged(old: Mapping[str, Any] | None, results: Sequence[Row]) -> list[Row]:
    """New results, and old ones of benchmarks that were not run again."""
    fresh = {row["benchmark"] for row in results}
    kept = [row for row in (old or {}).get("results", []) if row["benchmark"] not in fresh]
    return sorted([*kept, *results], key=lambda row: str(row["benchmark"]))
