"""Published views: the Adult experiment of the paper, and how fast a large view is drawn and written.

The experiment: nine attributes, 30,162 complete training rows, m = 648,023,040, d = 10 n/m, gamma = 0.2, and every
selection on up to three attributes. A view (rows repeat, so copies are added to every tuple) against FRAPP with every
perturbed row published, at the same (d, gamma): what `reproduce boundary` draws, as ratios. Where Adult does not lie
beside the project a made-up table of the same shape stands in.

python -m benchmarks publish [--quick]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import tetraodon as td
from benchmarks.runs import row
from reproduce.fig_boundary import (
    ADVERSARY,
    FRAPP,
    KNOWN,
    LIMITS,
    ROWS,
    VIEW,
    estimates,
    mean_errors,
    policy,
    rows,
)
from tetraodon.views.channel import SetChannel
from tetraodon.views.plan import ViewPlan, plan_view


def experiment(repeats: int) -> list[dict[str, Any]]:
    """Average errors of a view, of a view that uses the public n, and of FRAPP."""
    held, data = rows()
    plan, start = plan_view(policy(), ADVERSARY), time.perf_counter()
    true, found = estimates(held, range(repeats))
    figure = mean_errors(true, found)
    each = [mean_errors(true, {name: [views[at]] for name, views in found.items()}) for at in range(repeats)]
    detail = {
        "data": data,
        "queries": len(true),
        "views drawn": repeats,
        "seconds": time.perf_counter() - start,
        "true count at least": LIMITS,
        "average error": figure,
        "epsilon": float(plan.loss),
    }
    made = []
    for name in (KNOWN, VIEW):
        for limit in (0, 100):
            at = LIMITS.index(limit)
            what = "all queries" if limit == 0 else f"true count of at least {limit}"
            ratio = figure[name][at] / figure[FRAPP][at]
            ratios = [one[name][at] / one[FRAPP][at] for one in each]
            made.append(row(f"average error, {name} / FRAPP, {what}", ratio, 1 / 6, ratios, **detail))
    return [*made, _numbered(plan)]


def _numbered(plan: ViewPlan) -> dict[str, Any]:
    """What a set view would leak if the copies of a row were numbered and called distinct: they come together."""
    channel = plan_view(plan.policy, td.research.Adversary(k=10, gamma="0.2", records=ROWS, rows="distinct")).channel
    assert isinstance(channel, SetChannel)
    seen = {}
    for copies in (1, 2, 3):
        odds = plan.prior / (1 - plan.prior) * channel.ratio_up**copies
        seen[copies] = float(odds / (1 + odds))
    return row(
        "posterior after two numbered copies / gamma", seen[2] / 0.2, None, [seen[2] / 0.2], posterior_by_copies=seen
    )


WRITE = """
import sys, time, json, resource
import tetraodon as td
from fractions import Fraction
from pathlib import Path
folder, epsilon, prior = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
policy = td.load_policy({
    "dataset": "rows", "budget": {"epsilon": epsilon},
    "attributes": {
        "a": {"integer": [0, 99]}, "b": {"integer": [0, 99]}, "c": {"integer": [0, 999]},
        "d": [f"v{i}" for i in range(100)], "e": {"integer": [0, 999]},
    },
    "adversary": {"prior": {"d": prior}, "posterior": 0.5},
})
with td.Ledger(folder / "ledger.db") as book:
    book.open("rows", int(epsilon), policy.document)
    start = time.perf_counter()
    td.publish(policy, folder / "table.parquet", ledger=book, out=folder / "view")
    seconds = time.perf_counter() - start
rows = json.loads((folder / "view" / "view.json").read_text())["tuples"]
print(rows, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""
RANDOM = """
import sys, time, duckdb
rows, path = int(sys.argv[1]), sys.argv[2]
whole = "CAST(floor(random() * {}) AS BIGINT) AS {}"
text = "'v' || CAST(floor(random() * 100) AS INTEGER) AS d"
first = [whole.format(100, "a"), whole.format(100, "b"), whole.format(1000, "c")]
columns = ", ".join([*first, text, whole.format(1000, "e")])
duckdb.execute("SET enable_progress_bar = false")
start = time.perf_counter()
duckdb.execute(f"COPY (SELECT {columns} FROM range({rows})) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
print(time.perf_counter() - start)
"""


def throughput(records: int, noise: int, turns: int) -> list[dict[str, Any]]:
    """`td.publish` of a table over 10^12 tuples from end to end, the table read and counted, against DuckDB writing as
    many random rows of the same schema; the middle one of some turns."""
    prior = Fraction(noise, 10**12)  # with a posterior of one half there are d/(1-2d) noise tuples for each tuple
    found = []
    for _ in range(turns):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            _fresh(RANDOM, records, folder / "table.parquet")
            rows, ours, memory = map(float, _fresh(WRITE, folder, 60, f"{prior.numerator}/{prior.denominator}"))
            (theirs,) = map(float, _fresh(RANDOM, int(rows), folder / "random.parquet"))
        found.append((ours / theirs, memory / 4, {"rows": int(rows), "seconds": ours, "DuckDB seconds": theirs}))
    ratio, _, detail = sorted(found, key=lambda one: one[0])[len(found) // 2]
    ratios, memories = [one[0] for one in found], [one[1] for one in found]
    return [
        row("publishing a view / DuckDB writing as many random rows", ratio, 2.0, ratios, **detail),
        row("memory of that / 4 GB", max(memories), 1.0, memories, **detail),
    ]


def _fresh(code: str, *arguments: object) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def run(quick: bool) -> list[dict[str, Any]]:
    """Every figure is a ratio; the detail holds the numbers of the paper's two plots."""
    size = (1_000_000, 4_000_000, 1) if quick else (10_000_000, 40_000_000, 3)
    return [*experiment(1 if quick else 3), *throughput(*size)]
