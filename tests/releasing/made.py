"""Releases from given counts and given noise, for tests that need to know both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

import tetraodon as td
from tetraodon.releasing.counting import count
from tetraodon.releasing.release import Release, infer


def release_with(policy: td.Policy | td.Plan, table: pl.DataFrame, noise: Callable[[tuple[int, ...]], Any]) -> Release:
    """A release whose noise is what the test says."""
    plan = policy if isinstance(policy, td.Plan) else td.plan(policy)
    exact = count(plan, table)
    measured = {
        item.name: tuple(
            array + np.asarray(noise(array.shape), np.int64) if m.scale else array
            for m, array in zip(item.measurements, exact[item.name], strict=True)
        )
        for item in plan
    }
    return infer(plan, measured, "2026-01-01", "1")


def silent(shape: tuple[int, ...]) -> Any:
    """No noise at all."""
    return np.zeros(shape, np.int64)
