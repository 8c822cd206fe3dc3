"""How the cost grows: seconds for more rows, values, theta, known counts and questions, over those of the smallest.

A ratio that grows more slowly than the size it is measured at says that nothing enumerates what it need not.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb

import tetraodon as td

REPEATS = 3


def _policy(attributes: dict[str, Any], secrets: dict[str, Any], release: list[Any], **more: Any) -> td.Policy:
    return td.load_policy(
        {
            "tetraodon": 1,
            "dataset": "growth",
            "individuals": "one row each",
            "presence": "public",
            "attributes": attributes,
            "secrets": secrets,
            "budget": {"epsilon": 1},
            "release": release,
            **more,
        }
    )


def run(quick: bool) -> list[dict[str, Any]]:
    """Rows for the common report; the smallest size of each kind is its reference."""
    rows: list[dict[str, Any]] = []
    for what, sizes, prepare in (
        ("rows released from Parquet", [10**5, 10**6, 10**7], _rows),
        ("values of an attribute whose ranges are planned", [10**3, 10**4, 10**5, 10**6], _values),
        ("theta, ranges of 100,000 values planned", [1, 100, 10_000], _theta),
        ("known counts priced for a histogram", [2, 20, 200], _known),
        ("tables planned together", [1, 10, 100], _questions),
        ("tables planned, each of an attribute of its own", [3, 30, 300], _attributes),
    ):
        first = None
        for size in sizes[:-1] if quick else sizes:
            with tempfile.TemporaryDirectory() as folder:
                seconds = _median(prepare(size, Path(folder)))
            first = first or seconds
            name = f"{what}: {size:,} over {sizes[0]:,}"
            detail = {"seconds": seconds, "size_over_smallest": size / sizes[0]}
            rows.append({"name": name, "ratio": seconds / first, "target": None, "reached": True, "detail": detail})
    return rows


def _median(works: Iterator[Callable[[], object]]) -> float:
    found = []
    for work in works:
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def _rows(size: int, folder: Path) -> Iterator[Callable[[], object]]:
    table = folder / "people.parquet"
    duckdb.sql(f"copy (select (hash(i) % 100)::int as age from range({size}) t(i)) to '{table}' (format parquet)")
    policy = _policy({"age": {"integer": [0, 99]}}, {"age": {"within": 5}}, [{"name": "ages", "histogram": ["age"]}])
    plan, book = td.plan(policy), td.Ledger(folder / "ledger.db")
    book.open(policy.dataset, REPEATS + 1, policy.document)
    for _ in range(REPEATS):
        yield lambda: td.release(plan, table, ledger=book)


def _values(size: int, _: Path) -> Iterator[Callable[[], object]]:
    for theta in range(100, 100 + REPEATS):
        yield lambda theta=theta: td.plan(_line(size, theta))


def _theta(theta: int, _: Path) -> Iterator[Callable[[], object]]:
    for size in range(100_000, 100_000 + REPEATS):
        yield lambda size=size: td.plan(_line(size, theta))


def _line(size: int, theta: int) -> td.Policy:
    values = {"x": {"integer": [0, size - 1]}}
    return _policy(values, {"x": {"within": theta}}, [{"name": "r", "ranges": "x"}])


def _known(number: int, _: Path) -> Iterator[Callable[[], object]]:
    for extra in range(REPEATS):
        top = 4 * number + extra
        known = [{"count": f"x between {4 * k} and {4 * k + 1}"} for k in range(number)]
        asked = _policy(
            {"x": {"integer": [0, top]}}, {"x": "everything"}, [{"name": "h", "histogram": ["x"]}], known=known
        )
        yield lambda asked=asked: td.sensitivity(asked, td.queries.histogram("x"))


def _questions(number: int, _: Path) -> Iterator[Callable[[], object]]:
    for extra in range(REPEATS):
        names = [f"a{k}" for k in range(20)]
        pairs = [(a, b) for a in names for b in names if a < b][:number]
        release = [{"name": f"t{place}", "histogram": list(pair)} for place, pair in enumerate(pairs)]
        asked = _policy(
            {name: {"integer": [0, 9 + extra]} for name in names}, dict.fromkeys(names, "everything"), release
        )
        yield lambda asked=asked: td.plan(asked)


def _attributes(number: int, _: Path) -> Iterator[Callable[[], object]]:
    for extra in range(REPEATS):
        names = [f"a{k}" for k in range(number)]
        asked = _policy(
            {name: {"integer": [0, 9 + extra]} for name in names},
            {name: {"within": 1 + place % 5} for place, name in enumerate(names)},
            [{"name": name, "histogram": [name]} for name in names],
        )
        yield lambda asked=asked: td.plan(asked)
