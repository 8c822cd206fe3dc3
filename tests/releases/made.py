"""Releases from given counts and given noise, for tests that need to know both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import tetraodon as td
from tetraodon.gate import without_ledger
from tetraodon.mechanism.aim import draw_tables
from tetraodon.query.aim import ChosenTables
from tetraodon.query.linear import Measurement
from tetraodon.releases.counting import count
from tetraodon.releases.release import Release, infer
from tetraodon.releases.run import noisy


def release_with(policy: td.Policy | td.Plan, table: pl.DataFrame, noise: Callable[[tuple[int, ...]], Any]) -> Release:
    """A release whose noise is what the test says."""
    plan = policy if isinstance(policy, td.Plan) else td.plan(policy)
    exact = count(plan, table)
    measured = {
        item.name: tuple(_told(m, array, noise) for m, array in zip(item.measurements, exact[item.name], strict=True))
        for item in plan
    }
    return infer(plan, measured, "2026-01-01", "1")


def drawn(asked: td.Policy | td.Plan, table: pl.DataFrame, times: int) -> list[Release]:
    """Releases of the same counts, with fresh noise each; nothing is charged, since nothing is published."""
    plan = asked if isinstance(asked, td.Plan) else td.plan(asked)
    exact, permit = count(plan, table), without_ledger(plan.certificate)
    return [infer(plan, {i.name: noisy(i, exact[i.name], permit) for i in plan}, "", "") for _ in range(times)]


def kept(asked: td.Policy | td.Plan, table: Any, home: Path, *, delta: Any = None) -> Release:
    """A release into `out` of a folder, charged to a new ledger there; it verifies."""
    policy = asked.policy if isinstance(asked, td.Plan) else asked
    with td.Ledger(home / "ledger.db") as ledger:
        ledger.open(policy.dataset, 1000, policy.document, delta=delta)
        made = td.release(asked, table, ledger=ledger, out=home / "out")
    assert all(check.passed for check in td.verify(home / "out"))
    return made


def _told(measurement: Measurement, exact: Any, noise: Callable[[tuple[int, ...]], Any]) -> Any:
    if isinstance(measurement.query.contribution, ChosenTables):  # the farthest off is chosen
        draw, choose = lambda _, __, shape: noise(shape), lambda scores, _: int(np.argmax(scores))
        return draw_tables(measurement, exact, draw, choose)
    return exact + np.asarray(noise(exact.shape), np.int64) if measurement.scale else exact


def silent(shape: tuple[int, ...]) -> Any:
    """No noise at all."""
    return np.zeros(shape, np.int64)
