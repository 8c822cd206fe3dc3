"""Asking a view of forty million rows: its time beside a plain scan of its file in the same run, and its memory."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ASKED = "a < 50 and c between 100 and 299"
MADE = """
import sys, duckdb
duckdb.execute("SET enable_progress_bar = false")
rows, path = int(sys.argv[1]), sys.argv[2]
cell = f"(i * 10000000 // {rows})"
columns = f"{cell} // 100000 AS a, {cell} // 1000 % 100 AS b, {cell} % 1000 AS c"
duckdb.execute(f"COPY (SELECT {columns} FROM range({rows}) AS t(i)) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
"""
MEASURED = """
import sys, time
from pathlib import Path
path, asked = sys.argv[1], sys.argv[2]
{imports}
start = time.perf_counter()
{work}
seconds = time.perf_counter() - start
peak = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]  # ru_maxrss would know the parent's too
print(seconds, int(peak) / 1024)
"""
SCAN = MEASURED.format(
    imports="import duckdb; base = duckdb.connect(); base.execute('SET enable_progress_bar = false')",
    work="base.execute(f\"SELECT count(*) FROM read_parquet('{path}') WHERE {asked}\").fetchall()",
)
ASK = MEASURED.format(
    imports="""
from fractions import Fraction
import tetraodon as td
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.views.channel import CopyChannel
from tetraodon.views.view import View
sizes = {"a": 100, "b": 100, "c": 1000}
domain = Domain(tuple(Attribute(name, Integers(0, size - 1)) for name, size in sizes.items()))
td.research.domain_count(domain, asked)  # what is imported on the first question is no part of it
""",
    work="View('long', domain, CopyChannel(Fraction(1, 2), Fraction(4, 5)), Path(path)).ask(asked)",
)


def long(rows: int, turns: int) -> list[dict[str, Any]]:
    """A question to a view of many rows, from opening it on, and a plain scan of its file; new processes in turn.

    Rows are in order and repeat, as in a view of a dense domain, and so they compress to next to nothing.
    """
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "tuples.parquet")
        _fresh(MADE, str(rows), path)
        for _ in range(turns):
            scan, scan_memory = _fresh(SCAN, path, ASKED)
            ours, memory = _fresh(ASK, path, ASKED)
            parts = {"rows": rows, "seconds": ours, "scan": scan, "megabytes": memory, "scan megabytes": scan_memory}
            found.append((ours / scan, memory / 500, parts))
    return [
        _spread(f"asking a view of {rows // 10**6} million rows / a plain scan", 3.0, [(a, d) for a, _, d in found]),
        _spread("memory of that / 500 MB", 1.0, [(b, d) for _, b, d in found]),
    ]


def _fresh(code: str, *arguments: str) -> list[float]:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def _spread(name: str, target: float, turns: list[tuple[float, dict[str, Any]]]) -> dict[str, Any]:
    """The turn in the middle, with the least and the most."""
    ratio, detail = sorted(turns, key=lambda turn: turn[0])[len(turns) // 2]
    ratios = [turn[0] for turn in turns]
    spread = {"least": min(ratios), "most": max(ratios), "runs": len(turns)}
    return {"name": name, "ratio": ratio, **spread, "target": target, "reached": ratio <= target, "detail": detail}


def run(quick: bool) -> list[dict[str, Any]]:
    """Every row has a name, a ratio, a target, whether it is reached, and the parts of the ratio."""
    return long(*((8_000_000, 1) if quick else (40_000_000, 5)))
