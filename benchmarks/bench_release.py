"""A whole release of ten million rows, from the shell's prompt to the written folder, beside plain DuckDB.

And releases of a small table one after the other, each charged to a SQLite ledger on the disk, without a folder.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

import tetraodon as td

ROWS = 10_000_000
POLICY = """
tetraodon: 1
dataset: ten-million
presence: public
attributes:
  age: {integer: [0, 99]}
  state: [STATES]
secrets: {age: {within: 5}}
budget: {epsilon: 1}
release:
  - {name: people, histogram: [age, state]}
""".replace("STATES", ", ".join(f"S{number:02d}" for number in range(51)))
PLAIN = """
import duckdb, sys
print(len(duckdb.sql(f"select age, state, count(*) from '{sys.argv[1]}' group by all").fetchall()))
"""


WATCH = """
import os, sys, time
start = time.perf_counter()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, 1, 0)])
_, status, usage = os.wait4(child, 0)
print(time.perf_counter() - start, usage.ru_maxrss / 1024, os.waitstatus_to_exitcode(status))
"""


def measured(command: list[str]) -> tuple[float, float]:
    """Seconds and peak megabytes of a fresh process.

    A small process in between starts it: a child's peak begins at the size of the process that starts it.
    """
    done = subprocess.run([sys.executable, "-c", WATCH, *command], check=True, capture_output=True, text=True)
    seconds, megabytes, code = done.stdout.split()
    if code != "0":
        raise SystemExit(f"{command[0]} failed")
    return float(seconds), float(megabytes)


def medians(repeats: int, *runs: Callable[[], tuple[float, float]]) -> list[tuple[float, float]]:
    """Median seconds and megabytes of each, taken in turn so that a disturbed machine disturbs all alike."""
    found: list[list[tuple[float, float]]] = [[] for _ in runs]
    for _ in range(repeats):
        for times, run in zip(found, runs, strict=True):
            times.append(run())
    return [(statistics.median(t for t, _ in times), max(m for _, m in times)) for times in found]


SMALL = {
    "dataset": "small",
    "presence": "public",
    "attributes": {"age": {"integer": [0, 99]}, "sex": ["Female", "Male"]},
    "secrets": {"age": {"within": 5}},
    "budget": {"epsilon": "0.001"},
    "release": [{"name": "ages", "histogram": "age"}, {"name": "mean", "mean": "age", "by": "sex"}],
}


def small_releases(number: int) -> tuple[float, float]:
    """Seconds, and seconds of processor time, for one release of a thousand rows after the other."""
    with tempfile.TemporaryDirectory() as folder:
        table = f"{folder}/people.parquet"
        duckdb.sql(
            "copy (select (hash(i) % 100)::int as age, if(hash(i + 1) % 2 = 0, 'Female', 'Male') as sex "
            f"from range(1000) t(i)) to '{table}' (format parquet)"
        )
        plan = td.plan(SMALL)
        with td.Ledger(f"{folder}/ledger.db") as ledger:
            ledger.open("small", 10, SMALL)
            td.release(plan, table, ledger=ledger)  # fills what is kept for all of them
            start, spent = time.perf_counter(), time.process_time()
            for _ in range(number):
                td.release(plan, table, ledger=ledger)
            return (time.perf_counter() - start) / number, (time.process_time() - spent) / number


def small(quick: bool) -> dict[str, object]:
    """The row of small releases: a hundred a second are wanted."""
    seconds, spent = small_releases(20 if quick else 200)
    return {
        "name": "release of 1,000 rows with a SQLite ledger, seconds each over 0.01",
        "ratio": seconds / 0.01,
        "target": 1.0,
        "reached": seconds <= 0.01,
        "detail": {"seconds": seconds, "processor_seconds": spent, "a_second": 1 / seconds},
    }


def run(quick: bool) -> list[dict[str, object]]:
    """Rows for the common report."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        table, policy, ledger = home / "people.parquet", home / "p.yaml", home / "ledger.db"
        duckdb.sql(
            f"copy (select (hash(i) % 100)::int as age, 'S' || lpad((hash(i + 1) % 51)::varchar, 2, '0') as state, "
            f"random() as other from range({ROWS}) t(i)) to '{table}' (format parquet)"
        )
        policy.write_text(POLICY)
        tetraodon = str(Path(sys.executable).parent / "tetraodon")
        subprocess.run(
            [tetraodon, "ledger", "open", str(policy), "--total", "1000", "--ledger", str(ledger)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        ours_command = [tetraodon, "release", str(policy), str(table), "--out", str(home / "out"), "--force"]
        ours_command += ["--ledger", str(ledger)]
        measured(ours_command)  # fills the cache of chart code, once per machine
        plain, ours = medians(
            3 if quick else 9,
            lambda: measured([sys.executable, "-c", PLAIN, str(table)]),
            lambda: measured(ours_command),
        )
    allowed = 1.5 * plain[0] + 1.0
    return [
        small(quick),
        {
            "name": "release of 10 million rows, seconds over those of plain DuckDB",
            "ratio": ours[0] / plain[0],
            "target": 3.0,
            "reached": ours[0] <= 3 * plain[0],
            "detail": {"plain_seconds": plain[0], "our_seconds": ours[0]},
        },
        {
            "name": "release of 10 million rows, seconds over (1.5 x plain DuckDB + 1)",
            "ratio": ours[0] / allowed,
            "target": 1.0,
            "reached": ours[0] <= allowed,
            "detail": {"plain_seconds": plain[0], "our_seconds": ours[0], "allowed_seconds": allowed},
        },
        {
            "name": "release of 10 million rows, megabytes above plain DuckDB over 300",
            "ratio": (ours[1] - plain[1]) / 300,
            "target": 1.0,
            "reached": ours[1] - plain[1] <= 300,
            "detail": {"plain_megabytes": plain[1], "our_megabytes": ours[1]},
        },
    ]
