"""Asking views: a chain of predicates counted over a domain of 10^39 tuples, a hundred questions to a view, averages of
ten thousand groups.

The view has the shape of the Adult experiment: nine attributes, 30,162 rows, m = 648,023,040, d = 10 n/m, gamma = 0.2.
Where Adult does not lie beside the project its rows are made up; neither the noise nor the questions' cost depends on
them. Times are over the stated limits.
"""

from __future__ import annotations

import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import tetraodon as td
from benchmarks.runs import row
from reproduce.fig_boundary import ADVERSARY, ROWS, policy, rows
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.noise.coins import system_coins
from tetraodon.views.channel import SetChannel
from tetraodon.views.plan import plan_view
from tetraodon.views.sampling import view_cells
from tetraodon.views.tuple_files import cells_of, write_tuples
from tetraodon.views.view import View


def questions() -> list[str]:
    """A hundred of twelve kinds."""
    numbers = np.random.default_rng(7)
    kinds = (
        "age = {a} and workclass = {w}",
        "age between {a} and {a} + 9 and sex = 1",
        "age < 3 * education and occupation in (1, {o}, 7)",
        "age > {a} or native_country = {n} or income = 2",
        "not (race = 2 or marital_status > {w}) and education >= {e}",
        "case when sex = 1 then age > {a} else education > {e} end",
        "cast(native_country as varchar) like '{w}%'",
        "abs(age - native_country) < {e} and (education + occupation) % 3 = 1",
        "(age < education and education < occupation) or (race = sex and income = 1)",
        "select sex, count(*) from adult where age > {a} group by sex",
        "select sum(age) from adult where occupation = {o}",
        "select race, avg(education) from adult where age < {a} group by race",
    )
    return [
        kinds[n % len(kinds)].format(
            a=numbers.integers(5, 50), w=numbers.integers(1, 7), o=numbers.integers(2, 14), n=numbers.integers(1, 41),
            e=numbers.integers(2, 14),
        )
        for n in range(100)
    ]  # fmt: skip


def chain(size: int) -> dict[str, Any]:
    """Twelve predicates over thirteen attributes of a thousand values."""
    domain = Domain(tuple(Attribute(f"x{i}", Integers(1, size)) for i in range(13)))
    asked = " and ".join(f"(x{i} + 2 * x{i + 1}) % 7 < {2 + i % 5}" for i in range(12))
    start = time.perf_counter()
    found = td.research.domain_count(domain, asked)
    seconds = time.perf_counter() - start
    counts = [1] * size
    for i in range(12):
        left = [0] * 7
        for x, count in enumerate(counts, 1):
            left[x % 7] += count
        counts = [sum(left[r] for r in range(7) if (r + 2 * y) % 7 < 2 + i % 5) for y in range(1, size + 1)]
    assert found == sum(counts)
    return {"seconds": seconds, "digits": len(str(found)), "digits of the domain": len(str(domain.size - 1))}


def adult(folder: Path) -> dict[str, Any]:
    """A view of the experiment's shape, drawn, written, and asked a hundred questions."""
    held, data = rows()
    adult_policy = policy()
    start = time.perf_counter()
    plan = plan_view(adult_policy, ADVERSARY)
    cells, counts = np.unique(cells_of(adult_policy.domain, held), return_counts=True)
    parts = view_cells(plan.channel, plan.tuples, cells, counts, coins=system_coins())
    shown = write_tuples(adult_policy.domain, parts, folder / "tuples.parquet")
    drawn = time.perf_counter() - start
    view = View("adult", adult_policy.domain, plan.channel, folder / "tuples.parquet", ROWS)
    for question in questions():
        view.ask(question)
    return {
        "seconds": time.perf_counter() - start,
        "drawn and written": drawn,
        "rows": shown,
        "questions": 100,
        "data": data,
    }


def averages(folder: Path, groups: int) -> dict[str, Any]:
    """Averages of a hundred values in each of many groups of a view, with their intervals."""
    domain = Domain((Attribute("place", Integers(1, groups)), Attribute("score", Integers(1, 100))))
    numbers = np.random.default_rng(11)
    cells = np.unique(numbers.integers(0, domain.size, 10 * groups))
    channel = SetChannel(Fraction(1, 2), Fraction(1, 20))
    parts = view_cells(channel, domain.size, cells, np.ones(len(cells), np.int64), coins=system_coins())
    shown = write_tuples(domain, parts, folder / "tuples.parquet")
    view = View("scores", domain, channel, folder / "tuples.parquet", None)
    start = time.perf_counter()
    found = view.ask("select place, avg(score) from scores group by place")
    assert len(found) == groups
    return {"seconds": time.perf_counter() - start, "groups": groups, "rows": shown}


def run(quick: bool) -> list[dict[str, Any]]:
    """Every row has a name, a ratio, a target, whether it is reached, and the parts of the ratio."""
    counted = chain(300 if quick else 1000)
    with tempfile.TemporaryDirectory() as folder:
        asked = adult(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        grouped = averages(Path(folder), 1000 if quick else 10_000)
    return [
        row("count over a domain of 10^39 / 5 s", counted["seconds"] / 5, 1.0, **counted),
        row("view of Adult's shape and 100 questions / 10 s", asked["seconds"] / 10, 1.0, **asked),
        row("averages of 10,000 groups of a view / 10 s", grouped["seconds"] / 10, 1.0, **grouped),
    ]
