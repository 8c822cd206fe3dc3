"""k-means beside Google's coresets, where presence alone is secret, on clusters with heavy tails."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

import tetraodon as td
from benchmarks.peers.coreset_method import DEPTH, coreset_centres
from benchmarks.peers.environments import Missing, work
from benchmarks.peers.rows import OURS, Row, absolute

Floats = NDArray[np.float64]
SETS = ((2, 5_000), (16, 5_000), (16, 20_000))
"""Columns and points."""
POLICIES: dict[str, dict[str, str]] = {
    OURS: {"secrets": "none but presence"},
    "ours, a record replaced": {"presence": "public"},
}
DELTA, GOOGLE, TIMES = 1e-6, "Google's coresets (our floats)", 5
"""The delta of the peer, which ours do without; its name; how often it tries each data set."""


def coresets(quick: bool, folder: Path) -> Iterator[Row]:  # noqa: ARG001 - every task gets a folder
    """Objective over that of plain k-means, one for each data set."""
    many = 2 if quick else 5
    noise = {one: work("dpaccounting", "coreset", epsilon=one, delta=DELTA, levels=DEPTH + 1) for one in (0.2, 1.0)}
    for columns, rows in SETS:
        dice = np.random.default_rng(columns * rows)
        sets = [clusters(dice, rows, columns, 3 + number % 4) for number in range(many)]
        for epsilon, needed in noise.items():
            found: dict[str, list[float] | Missing] = {}
            for who, policy in POLICIES.items():
                found[who] = [_objective(points, _ours(points, k, policy, epsilon)) / best for points, k, best in sets]
            found[GOOGLE] = needed if isinstance(needed, Missing) else []
            for points, k, best in sets * TIMES if not isinstance(needed, Missing) else ():
                centres = coreset_centres(points, k, needed.answer["sums"], needed.answer["counts"], dice)
                found[GOOGLE].append(_objective(points, centres) / best)
            what = f"{rows:,} points in {columns} columns, presence alone, epsilon {epsilon:g}"
            yield from absolute(f"{what}: objective over that of plain k-means", found, {OURS: version("tetraodon")})


def clusters(dice: np.random.Generator, rows: int, columns: int, many: int) -> tuple[Floats, int, float]:
    """Points of the unit cube around so many centres, their number, and the objective of plain k-means."""
    centres = dice.random((many, columns))
    points = centres[dice.integers(many, size=rows)] + 0.1 * dice.standard_t(5, (rows, columns))
    points = np.clip(points, 0, 1)
    return points, many, float(KMeans(many, n_init=5, random_state=0).fit(points).inertia_)


def _ours(points: Floats, many: int, policy: dict[str, str], epsilon: float) -> Floats:
    attributes: dict[str, Any] = {f"x{i}": {"real": [0, 1], "step": 0.01} for i in range(points.shape[1])}
    asked = [{"name": "n", "count": "all"}]
    document = {"dataset": "points", **policy, "attributes": attributes, "budget": {"epsilon": 1}, "release": asked}
    model = td.PolicyKMeans(td.load_policy(document), str(epsilon), many)
    return np.asarray(model.fit(points).cluster_centers_)


def _objective(points: Floats, centres: Floats) -> float:
    return float(
        sum(((part[:, None, :] - centres) ** 2).sum(axis=2).min(axis=1).sum() for part in np.array_split(points, 10))
    )
