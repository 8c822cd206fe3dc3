"""The exact answers of a plan from the bytes of a file, and what they lose."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from scipy.optimize import linprog

from scripts.audit.chosen import chosen_loss
from scripts.audit.ranks import rank_loss
from tetraodon.engine import duckdb_source as duckdb_table
from tetraodon.errors import DataRefusal
from tetraodon.policy.policy import Policy
from tetraodon.query.aim import ChosenTables
from tetraodon.query.contribution import Among
from tetraodon.query.edge_flows import PARTS, Flows
from tetraodon.query.linear import Measurement
from tetraodon.query.ranks import Ranks
from tetraodon.releases import counting
from tetraodon.releases.plan import Plan


@dataclass(frozen=True, slots=True)
class Told:
    """What came of counting a table: the answers, measurement by measurement, or the words of a refusal. Where values
    are chosen by rank, an answer is the codes that somebody has, with how many do; where tables are chosen, the rows of
    codes that somebody has, with how many do.
    """

    answers: tuple[tuple[Any, ...], ...]
    refusal: str = ""


def count(plan: Plan, content: bytes, folder: Path, governing: Policy | None = None, *, owned: bool = False) -> Told:
    """Count a file as a release does; with `owned`, as one for somebody who may not see it."""
    path = folder / "table.csv"
    path.write_bytes(content)
    try:
        found = counting.count(plan, path, governing, owned=owned)
    except DataRefusal as refusal:
        return Told((), str(refusal))
    every = [(m, array) for item in plan for m, array in zip(item.measurements, found[item.name], strict=True)]
    return Told(tuple(_answers(measurement, array) for measurement, array in every))


def _answers(measurement: Measurement, array: np.ndarray) -> tuple[Any, ...]:
    if isinstance(measurement.query.contribution, ChosenTables):
        return tuple(sorted(tuple(row) for row in array.tolist()))
    return tuple(_plain(n) for n in array.ravel())


def _plain(answer: Any) -> int | tuple[tuple[int, int], ...]:
    if isinstance(answer, np.ndarray):
        return tuple((int(code), int(many)) for code, many in answer)
    return int(answer)


def loss(plan: Plan, one: Told, two: Told) -> Fraction | float:
    """What tells two tables apart: the sum of |difference| / scale for Laplace noise; for Gaussian noise, rho."""
    measurements = [m for item in plan for m in item.measurements]
    names = {m.noise.name for m in measurements if m.scale > 0}
    assert names in (set(), {"laplace"}, {"gaussian"}), "one law of noise in a plan"
    total = Fraction(0)
    for measurement, here, there in zip(measurements, one.answers, two.answers, strict=True):
        kind = measurement.query.contribution
        kind = kind.inner if isinstance(kind, Among) else kind
        if isinstance(kind, Ranks):
            total += rank_loss(kind, here, there, measurement.scale)
            continue
        if isinstance(kind, ChosenTables):
            total += chosen_loss(kind, here, there, measurement.scale, measurement.noise)
            continue
        gaps = [abs(a - b) for a, b in zip(here, there, strict=True)]
        if isinstance(kind, Flows):
            moved = [Fraction(a - b, PARTS) for a, b in zip(here, there, strict=True)]
            total += _along_steps(kind, moved, measurement.scale, laplace=names == {"laplace"})
        elif measurement.scale == 0:
            if any(gaps):
                return math.inf
        elif names == {"laplace"}:
            total += Fraction(sum(gaps)) / measurement.scale
        else:
            total += Fraction(sum(gap**2 for gap in gaps)) / (2 * measurement.scale**2)
    return total


def _along_steps(flows: Flows, moved: list[Fraction], scale: Fraction, *, laplace: bool) -> Fraction:
    """What noise on the steps of a map loses: the cheapest way to carry records from cell to cell until tables agree.

    Pre   no border is long enough to be smoothed. A cheapest way of whole records is one of whole steps.
    """
    assert flows.first.width == flows.second.width == 0, "a map of the audit is small"
    cells = np.arange(flows.rows).reshape(flows.shape)
    ends = (
        [*zip(cells[:-1].ravel(), cells[1:].ravel(), strict=True)],
        [*zip(cells[:, :-1].ravel(), cells[:, 1:].ravel(), strict=True)],
    )
    wide = [scale * flows.first.steps] * len(ends[0]) + [scale * flows.second.steps] * len(ends[1])
    steps = np.zeros((flows.rows, len(wide)))
    for number, (one, other) in enumerate(ends[0] + ends[1]):
        steps[one, number], steps[other, number] = 1, -1
    lost = Fraction(0)
    for first in range(0, len(moved), flows.rows):
        gap = moved[first : first + flows.rows]
        if not any(gap):
            continue
        if laplace:
            cost = [float(1 / one) for one in wide] * 2
            found = linprog(cost, A_eq=np.hstack([steps, -steps]), b_eq=[float(one) for one in gap])
            assert found.success
            taken = [Fraction(round(a - b)) for a, b in zip(found.x[: len(wide)], found.x[len(wide) :], strict=True)]
            assert all(
                sum(int(row[n]) * t for n, t in enumerate(taken)) == g for row, g in zip(steps, gap, strict=True)
            )
            lost += sum((abs(t) / one for t, one in zip(taken, wide, strict=True)), Fraction(0))
        else:
            least = np.linalg.lstsq(steps * [float(one) for one in wide], np.array(gap, float), rcond=None)[0]
            lost += Fraction(float((least**2).sum() / 2) * (1 - 1e-9))
    return lost


class _Shared:
    """One of many connections to one database. Opening a database of its own takes longer than counting five rows."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self._own = database.cursor()

    def execute(self, sql: str, *parameters: Any) -> Any:
        return self if sql.startswith("SET ") else self._own.execute(sql, *parameters)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)


@contextmanager
def quickly() -> Iterator[None]:
    """Tables are opened in one database, with the settings of the engine but for the number of threads."""
    connect, settings = duckdb.connect, dict[str, Any](duckdb_table.SETTINGS)
    database = connect(":memory:", config={**settings, "threads": 1})

    def shared(_: str, config: Mapping[str, Any]) -> _Shared:
        assert config.items() >= settings.items()
        return _Shared(database)

    duckdb.connect = shared  # type: ignore[assignment]
    small = [(tables, tables._made) for tables in (duckdb_table.SMALL_FILES, duckdb_table.SMALL_FRAMES)]
    try:
        yield
    finally:
        duckdb.connect = connect
        for tables, made in small:  # what was made meanwhile is a part of the database that ends here
            tables._made = made
        database.close()
