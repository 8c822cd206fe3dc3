"""Published views: the Adult experiment of the paper, and how fast a large view is drawn and written.

The experiment: nine attributes, 30,162 complete training rows, m = 648,023,040, d = 10 n/m, gamma = 0.2, and every
selection on up to three attributes. A view (rows repeat, so copies are added to every tuple) against FRAPP with every
perturbed row published, at the same (d, gamma). `TETRAODON_ADULT` names the Parquet file of the data; without it a
made-up table of the same shape stands in.

python benchmarks/bench_publish.py [--quick]
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import tetraodon as td
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.publishing.channel import SetChannel
from tetraodon.publishing.columns import cells_of, codes_of
from tetraodon.publishing.plan import ViewPlan, plan_view
from tetraodon.publishing.sampling import view_cells

NAMES = ("age", "workclass", "education", "marital_status", "occupation", "race", "sex", "native_country", "income")
SIZES = (72, 7, 16, 7, 14, 5, 2, 41, 2)
ROWS = 30162
ADVERSARY = td.Adversary(k=10, gamma="0.2", records=ROWS)
LIMITS = (0, 1, 10, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
Ints = NDArray[np.int64]


def codes() -> Ints:
    """The nine attributes of every row, numbered by their active values."""
    path = os.environ.get("TETRAODON_ADULT", "")
    if not path:
        numbers = np.random.default_rng(2007)
        return np.stack([np.minimum(numbers.geometric(2 / size, ROWS) - 1, size - 1) for size in SIZES], axis=1)
    table = pl.read_parquet(path).filter(pl.col("split") == "train").select(NAMES)
    for name in NAMES[1:]:
        table = table.filter(pl.col(name) != "?")
    assert len(table) == ROWS
    return np.stack([table[name].rank("dense").to_numpy().astype(np.int64) - 1 for name in NAMES], axis=1)


def experiment(repeats: int) -> list[dict[str, Any]]:
    """Average errors of a view, of a view that uses the public n, and of FRAPP."""
    held = codes()
    domain = Domain(tuple(Attribute(name, Integers(1, size)) for name, size in zip(NAMES, SIZES, strict=True)))
    policy = td.load_policy(
        {
            "dataset": "adult",
            "attributes": {name: {"integer": [1, size]} for name, size in zip(NAMES, SIZES, strict=True)},
            "budget": {"epsilon": 13},
        }
    )
    plan = plan_view(policy, ADVERSARY)
    frapp = td.frapp(domain, adversary=ADVERSARY)
    cells, counts = np.unique(cells_of(domain, held), return_counts=True)
    sets = [names for size in (1, 2, 3) for names in itertools.combinations(range(9), size)]
    true = [_table(held, names) for names in sets]
    wrong: dict[str, list[NDArray[np.float64]]] = {"view": [], "view, n known": [], "FRAPP": []}
    start = time.perf_counter()
    for _ in range(repeats):
        shown = np.concatenate(list(view_cells(plan.channel, domain.size, cells, counts)))
        view = np.stack([part.astype(np.int64) for part in codes_of(domain, shown)], axis=1)
        moved = np.stack(
            [part.astype(np.int64) for part in codes_of(domain, frapp.perturb(np.repeat(cells, counts)))], axis=1
        )
        added, keep, stays = float(plan.channel.added_per_tuple), float(plan.channel.keep), float(frapp.keep)
        whole = (len(view) - domain.size * added) / keep - ROWS
        for names, exact in zip(sets, true, strict=True):
            share = 1 / exact.size
            ours = (_table(view, names) - domain.size * share * added) / keep - exact
            theirs = (_table(moved, names) - ROWS * (1 - stays) * share) / stays - exact
            wrong["view"].append(abs(ours))
            wrong["view, n known"].append(abs(ours - whole * share))
            wrong["FRAPP"].append(abs(theirs))
    seconds = time.perf_counter() - start
    every = np.concatenate(true * repeats)
    errors = {name: np.concatenate(parts) for name, parts in wrong.items()}
    figure = {name: [float(error[every >= limit].mean()) for limit in LIMITS] for name, error in errors.items()}
    detail = {
        "queries": len(every) // repeats,
        "views drawn": repeats,
        "rows of a view": len(view),
        "seconds": seconds,
        "true count at least": LIMITS,
        "average error": figure,
        "epsilon": float(plan.loss),
    }
    rows = []
    for name in ("view, n known", "view"):
        for limit in (0, 100):
            at = LIMITS.index(limit)
            what = "all queries" if limit == 0 else f"true count of at least {limit}"
            ratio = figure[name][at] / figure["FRAPP"][at]
            target = 1 / 6 if name != "view" else None
            rows.append(_row(f"average error, {name} / FRAPP, {what}", ratio, target, **detail))
    return [*rows, _numbered(plan)]


def _table(rows: Ints, names: tuple[int, ...]) -> Ints:
    place = np.zeros(len(rows), np.int64)
    for name in names:
        place = place * SIZES[name] + rows[:, name]
    return np.bincount(place, minlength=int(np.prod([SIZES[name] for name in names])))


def _numbered(plan: ViewPlan) -> dict[str, Any]:
    """What a set view would leak if the copies of a row were numbered and called distinct: they come together."""
    channel = plan_view(plan.policy, td.Adversary(k=10, gamma="0.2", records=ROWS, rows="distinct")).channel
    assert isinstance(channel, SetChannel)
    seen = {}
    for copies in (1, 2, 3):
        odds = plan.prior / (1 - plan.prior) * channel.ratio_up**copies
        seen[copies] = float(odds / (1 + odds))
    return _row("posterior after two numbered copies / gamma", seen[2] / 0.2, None, posterior_by_copies=seen)


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


def throughput(records: int, noise: int) -> list[dict[str, Any]]:
    """`td.publish` of a table over 10^12 tuples from end to end, the table read and counted, against DuckDB writing as
    many random rows of the same schema."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _fresh(RANDOM, records, folder / "table.parquet")
        prior = Fraction(noise, 10**12)  # with a posterior of one half there are d/(1-2d) noise tuples for each tuple
        ours = _fresh(WRITE, folder, 60, f"{prior.numerator}/{prior.denominator}")
        rows = int(ours[0])
        theirs = _fresh(RANDOM, rows, folder / "random.parquet")
    detail = {"rows": rows, "seconds": float(ours[1]), "DuckDB seconds": float(theirs[0]), "GB": float(ours[2])}
    ratio = float(ours[1]) / float(theirs[0])
    return [
        _row("publishing a view / DuckDB writing as many random rows", ratio, 2.0, **detail),
        _row("memory of that / 4 GB", float(ours[2]) / 4, 1.0, **detail),
    ]


def _fresh(code: str, *arguments: object) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def _row(name: str, ratio: float, target: float | None, **detail: Any) -> dict[str, Any]:
    return {
        "name": name,
        "ratio": ratio,
        "target": target,
        "reached": target is None or ratio <= target,
        "detail": detail,
    }


def run(quick: bool) -> list[dict[str, Any]]:
    """Every figure is a ratio; the detail holds the numbers of the paper's two plots."""
    size = (1_000_000, 4_000_000) if quick else (10_000_000, 40_000_000)
    return [*experiment(1 if quick else 3), *throughput(*size)]


if __name__ == "__main__":
    for row in run("--quick" in sys.argv):
        target = "" if row["target"] is None else f"target {row['target']:.3g}  {'yes' if row['reached'] else 'NO'}"
        print(f"{row['name']:70s} {row['ratio']:8.4f}  {target}")
        print("   ", row["detail"])
