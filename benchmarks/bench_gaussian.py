"""Gaussian noise beside Laplace noise at epsilon 1 and delta 1e-6: planned and measured errors of the same release.

A ratio below 1 says that Gaussian noise errs less. One count, where it does not; all two-way marginals of six
attributes; histograms of many attributes. Measured errors are those of noise drawn as a release draws it.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import tetraodon as td

BUDGET = {"epsilon": 1, "delta": "1e-6"}


def policy(names: list[str], release: list[dict[str, Any]]) -> td.Policy:
    attributes = {name: {"integer": [0, 9]} for name in names}
    return td.load_policy({"dataset": "many", "attributes": attributes, "budget": BUDGET, "release": release})


def run(quick: bool) -> list[dict[str, Any]]:
    """Every row has a name, a ratio, a target, whether it is reached, and the parts of the ratio."""
    few, many = list("abcdef"), [f"a{number}" for number in range(20 if quick else 50)]
    pairs = [{"name": x + y, "histogram": [x, y]} for x, y in itertools.combinations(few, 2)]
    return [
        _row("one count", policy(few, [{"name": "n", "count": "a = 1"}]), None),
        _row("15 two-way marginals", policy(few, pairs), 0.6),
        _row(f"{len(many)} histograms", policy(many, [{"name": n, "histogram": [n]} for n in many]), None),
    ]


def _row(name: str, asked: td.Policy, target: float | None) -> dict[str, Any]:
    plans = {noise: td.plan(asked, noise=noise) for noise in ("laplace", "gaussian")}
    planned = {noise: plan.items[0].expected_error for noise, plan in plans.items()}
    measured = {noise: _measured(plan) for noise, plan in plans.items()}
    chosen = td.plan(asked).items[0].strategy.noise
    ratio = planned["gaussian"] / planned["laplace"]
    reached = (chosen == "gaussian") == (ratio < 1) and (target is None or ratio <= target)
    detail = {"planned": planned, "measured": measured, "chosen": chosen}
    return {
        "name": f"{name}, Gaussian / Laplace",
        "ratio": ratio,
        "target": target,
        "reached": reached,
        "detail": detail,
    }


def _measured(plan: td.Plan) -> float:
    """The root mean squared error of the first item's noise, over 100,000 draws."""
    [measurement, *_] = plan.items[0].measurements
    noise = measurement.noise.draw(measurement.scale, 100_000).astype(float)
    return float(np.sqrt(np.mean(noise**2)))
