"""Counting ten million rows in a fresh process, against plain DuckDB in the same run.

python -m benchmarks engine [--quick]
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

DOMAIN = """
from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.engine import Individuals, open_table
states = Categories((*(f"S{number:02d}" for number in range(51)), "other"))
domain = Domain((Attribute("age", Integers(0, 99)), Attribute("state", states, other=51)))
"""
PLAIN = 'import duckdb; duckdb.sql("SELECT age, state, count(*) FROM read_parquet(PATH) GROUP BY ALL").fetchnumpy()'
OURS = DOMAIN + "with open_table(PATH, domain) as engine: engine.counts([('age', 'state')])"
KEYED = DOMAIN + "with open_table(PATH, domain, Individuals('id', 2)) as engine: engine.counts([('age', 'state')])"
TALE = "\nimport resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"


def fresh(program: str, path: Path, turns: int = 3) -> tuple[float, int]:
    """The best of several fresh processes, in seconds, and the memory it took, in MB."""
    best, memory = float("inf"), 0
    for _ in range(turns):
        start = time.perf_counter()
        command = [sys.executable, "-c", program.replace("PATH", repr(str(path))) + TALE]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        best, memory = min(best, time.perf_counter() - start), int(done.stdout)
    return best, memory


def run(quick: bool) -> list[dict[str, object]]:
    """Rows for the common report; the target is that of a whole release, which counting must leave room for."""
    rows = 1_000_000 if quick else 10_000_000
    found: list[dict[str, object]] = []
    with TemporaryDirectory() as folder:
        parquet, csv = Path(folder, "table.parquet"), Path(folder, "table.csv")
        table = (
            "SELECT (hash(range) % 100)::INTEGER AS age, printf('S%02d', (hash(range + 1) % 51)::INTEGER) AS state, "
            f"hash(range) % {max(1, rows // 4)} AS id FROM range({rows})"
        )
        duckdb.execute(f"COPY ({table}) TO '{parquet}'; COPY ({table}) TO '{csv}' (HEADER)")
        plain, plain_memory = fresh(PLAIN, parquet)
        for name, program, path in (
            ("Parquet", OURS, parquet),
            ("Parquet, at most 2 rows each", KEYED, parquet),
            ("CSV", OURS, csv),
        ):
            seconds, memory = fresh(program, path, turns=2)
            found.append(
                {
                    "name": f"counting {rows:,} rows by age and state, {name}: seconds over plain DuckDB on Parquet",
                    "ratio": seconds / plain,
                    "target": None,
                    "reached": True,
                    "detail": {
                        "seconds": seconds,
                        "plain_seconds": plain,
                        "megabytes": memory,
                        "plain_megabytes": plain_memory,
                    },
                }
            )
    return found
