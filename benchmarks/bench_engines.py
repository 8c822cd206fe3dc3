"""The same counts on DuckDB and on a Spark cluster, beside the same aggregates written by hand, as the table grows.

python -m benchmarks engines [--quick]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb

SIZES = (1_000_000, 10_000_000, 100_000_000)
PART = 10_000_000
MOST, MEGABYTES = 1.5, 500
TABLE = """
SELECT (hash(i) % 100)::INTEGER AS age, printf('S%02d', (hash(i + 1) % 51)::INTEGER) AS state,
       (hash(i + 2) % 1000)::INTEGER AS income, (hash(i + 3) % 1000000)::INTEGER AS amount, random() AS other
FROM range({first}, {last}) t(i)
"""
PROGRAM = """
import json, resource, sys, time
sys.path.insert(0, ROOT)
from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.engine import open_table
states = Categories((*(f"S{number:02d}" for number in range(51)), "other"))
domain = Domain((Attribute("age", Integers(0, 99)), Attribute("state", states, other=51),
                 Attribute("income", Integers(0, 999)), Attribute("amount", Integers(0, 999_999))))
HAND = ["SELECT age, state, count(*) FROM t GROUP BY age, state", "SELECT income, count(*) FROM t GROUP BY income",
        "SELECT sum(amount) FROM t"]

def ours():
    with open_table(SOURCE(), domain) as engine:
        people, incomes, all = engine.counts([("age", "state"), ("income",), ()], {(): ["amount"]})
        return people.total, len(people.counts), int(all.sums["amount"][0])

def seconds(run):
    start = time.perf_counter()
    found = run()
    return time.perf_counter() - start, found

START()
seconds(ours if WARM else by_hand), seconds(by_hand if WARM else ours)
times = {"hand": [], "ours": []}
for _ in range(TURNS):
    times["hand"].append(seconds(by_hand)[0])
    spent, found = seconds(ours)
    times["ours"].append(spent)
megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
ratios = [ours / hand for ours, hand in zip(times["ours"], times["hand"])]
best = {"hand": min(times["hand"]), "ours": min(times["ours"])}
print(json.dumps({**best, "ratios": ratios, "megabytes": megabytes, "found": found}))
"""
DUCKDB = """
import duckdb
SOURCE = lambda: PATH
START = lambda: duckdb.sql(f"CREATE VIEW t AS FROM '{PATH}'")
WARM = False
def by_hand():
    return [duckdb.sql(query).fetchnumpy() for query in HAND]
"""
SPARK = """
sys_path = ROOT
import sys; sys.path.insert(0, ROOT)
from scripts.services import spark_session
session = spark_session(2, 2048)
frame = session.read.parquet(PATH)
SOURCE = lambda: frame
START = lambda: frame.createOrReplaceTempView("t")
WARM = True
def by_hand():
    return [session.sql(query).toArrow() for query in HAND]
"""


def measured(engine: str, path: str, turns: int) -> dict[str, Any]:
    """Best seconds by hand and by us, taken in turn in one process, and that process's most megabytes."""
    given = {"ROOT": repr(str(Path(__file__).parent.parent)), "PATH": repr(path), "TURNS": str(turns)}
    lines = f"{DUCKDB if engine == 'DuckDB' else SPARK}\n{PROGRAM}"
    for name, value in given.items():
        lines = lines.replace(name, value)
    command = [sys.executable, "-c", lines]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    return dict(json.loads(done.stdout.splitlines()[-1]))


def run(quick: bool) -> list[dict[str, object]]:
    """Rows for the common report; the best of the turns, their spread beside; docs/engines.md shows them too."""
    found: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        for rows in SIZES[:1] if quick else SIZES:
            parts = Path(folder, str(rows))
            parts.mkdir()
            for first in range(0, rows, PART):
                table = TABLE.format(first=first, last=min(rows, first + PART))
                duckdb.execute(f"COPY ({table}) TO '{parts}/{first}.parquet' (FORMAT parquet)")
            size = sum(file.stat().st_size for file in parts.iterdir()) / 2**20
            for engine in ("DuckDB", "Spark"):
                figures = measured(engine, f"{parts}/*.parquet", 1 if engine == "Spark" and rows == SIZES[-1] else 5)
                ratios = figures.pop("ratios")
                detail = {**figures, "engine": engine, "rows": rows, "file_megabytes": size}
                found += _rows(engine, rows, detail, ratios, target=rows == SIZES[-1])
    return found


def _rows(
    engine: str, rows: int, detail: dict[str, Any], ratios: list[float], *, target: bool
) -> list[dict[str, object]]:
    ratio, memory = detail["ours"] / detail["hand"], detail["megabytes"] / MEGABYTES
    return [
        {
            "name": f"{engine}, {rows:,} rows: a histogram, a cdf and a sum, seconds over the same by hand",
            "ratio": ratio,
            "least": min(ratios),
            "most": max(ratios),
            "runs": len(ratios),
            "target": MOST if target else None,
            "reached": ratio <= MOST if target else True,
            "detail": detail,
        },
        {
            "name": f"{engine}, {rows:,} rows: megabytes of our own process over {MEGABYTES}",
            "ratio": memory,
            "target": 1.0 if target else None,
            "reached": memory <= 1 if target else True,
            "detail": detail,
        },
    ]
