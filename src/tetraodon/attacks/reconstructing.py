"""Records read off the published tables, by somebody who has nothing else.

They take from a table how common each value is, and expect as many records in a cell as there would be if values went
together by chance. What the noise left of the cell then tells, by Bayes' rule, whether somebody is there, and whether
exactly one person is. Nothing but the folder is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.noise.laws import GAUSSIAN, LAPLACE
from tetraodon.policy.joint_graph import JointGraph
from tetraodon.policy.secret_graph import FactorGraph
from tetraodon.publishing.exposure import BEFORE, BELIEF
from tetraodon.releasing.plan import PlannedItem
from tetraodon.releasing.release import Release
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import Measurement

MOST_TERMS = 200_000_000
BLOCK = 2_000_000
FAR = 40
"""So many scales away noise does not matter."""
ENOUGH = Fraction(1000, 2197)
"""A scale of Laplace noise above 1 / ln 9, that takes no even belief in one record to 90%."""


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """What a table of counts tells of its cells.

    Attributes
    ----------
    named:     cells in which somebody is, by a belief of at least 90%.
    new:       of these, how many had a belief of at most 50% from how common their values are.
    lone:      cells that exactly one record is in, by a belief of at least 90%; before it is never above 50%.
    strongest: the most that a cell makes of an even belief between nobody and one record.
    key:       what in the policy would stop that one record is named so; empty where nothing needs to.
    """

    item: str
    cells: int
    named: int
    new: int
    lone: int
    strongest: float
    key: str

    def document(self) -> dict[str, Any]:
        """The finding as plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


def reconstruct(release: Release) -> tuple[Reconstruction, ...]:
    """What the largest table of every item tells that was measured cell by cell; other items are left out."""
    found = (max(_tables(release, item), key=lambda one: one.cells, default=None) for item in release.plan)
    return tuple(one for one in found if one is not None)


def _tables(release: Release, item: PlannedItem) -> Iterator[Reconstruction]:
    for measurement, answers in zip(item.measurements, release.measured[item.name], strict=False):
        query = measurement.query
        known = measurement.noise in (LAPLACE, GAUSSIAN) or measurement.scale == 0
        if not isinstance(query.contribution, One) or not query.by or not known:
            continue
        noisy = np.asarray(answers[..., 0], np.int64)
        expected = expected_records(noisy)
        nobody = at_most_one(noisy.ravel(), expected.ravel(), measurement)
        if nobody is None:
            continue
        before = expected.ravel() / (1 + expected.ravel())
        hidden, named, lone = before <= BEFORE, nobody[:, 0] <= 1 - BELIEF, nobody[:, 1] >= BELIEF
        yield Reconstruction(
            item.name,
            noisy.size,
            int(named.sum()),
            int((named & hidden).sum()),
            int(lone.sum()),
            _strongest(measurement),
            _key(release, measurement),
        )


def expected_records(table: Ints) -> Floats:
    """How many records each cell has if values go together by chance, as common as the table says; above 0.

    >>> expected_records(np.array([[6, 2], [3, 1]])).tolist()
    [[6.0, 2.0], [3.0, 1.0]]
    """
    counts = np.maximum(table, 0).astype(np.float64)
    total = max(1.0, float(counts.sum()))
    if counts.ndim == 1:
        return np.full(counts.shape, total / counts.size)
    found = np.full(counts.shape, total)
    for axis in range(counts.ndim):
        margin = counts.sum(axis=tuple(other for other in range(counts.ndim) if other != axis), keepdims=True)
        found = found * np.maximum(margin, 0.5) / total
    return found


def at_most_one(noisy: Ints, expected: Floats, measurement: Measurement) -> Floats | None:
    """For each cell the beliefs that nobody is there, and exactly one; None where that would take too long.

    Why  before, somebody is there with p = expected / (1 + expected), and how many is left open: n with p / (n (n+1)).
         After, each number is believed in as much more as the noise makes what is told likely.
    """
    scale = float(measurement.scale)
    if scale == 0:
        return np.stack([noisy == 0, noisy == 1], axis=1).astype(np.float64)
    near = noisy < (FAR + 10) * scale + 10  # elsewhere somebody is there, and more than one
    most = int(max(noisy[near].max(initial=0), 0) + FAR * scale + FAR)
    if near.sum() * most > MOST_TERMS:
        return None
    found, places = np.zeros((noisy.size, 2)), np.flatnonzero(near)
    numbers = np.arange(most + 1)
    step = max(1, BLOCK // (most + 1))
    for start in range(0, len(places), step):
        those = places[start : start + step]
        off = np.abs(noisy[those, None] - numbers)
        noise = -off / scale if measurement.noise == LAPLACE else -(off**2) / (2 * scale**2)
        log = np.where(
            numbers == 0, 0.0, np.log(expected[those, None]) - np.log(np.maximum(numbers * (numbers + 1), 1))
        )
        log = log + noise
        weights = np.exp(log - log.max(axis=1, keepdims=True))
        found[those] = weights[:, :2] / weights.sum(axis=1, keepdims=True)
    return found


def _strongest(measurement: Measurement) -> float:
    if measurement.scale == 0 or measurement.noise == GAUSSIAN:
        return 1.0
    return 1 / (1 + math.exp(-1 / float(measurement.scale)))


def _secret(graph: FactorGraph) -> bool:
    return graph.has_edges if isinstance(graph, JointGraph) else graph.edge_count > 0


def _key(release: Release, measurement: Measurement) -> str:
    """For tables that are told exactly, the secrets; for those with little noise, the epsilon at which it suffices."""
    if measurement.scale == 0:
        graphs = {name: factor.graph for factor in release.plan.policy.graph.factors for name in factor.names}
        public = [name for name in measurement.query.names if not _secret(graphs[name])]
        return f"secrets: {{{public[0]}: everything}}" if public else "presence: secret"
    if measurement.noise != LAPLACE or measurement.scale >= ENOUGH:
        return ""
    least = release.plan.epsilon * measurement.scale / ENOUGH
    return f"budget: {{epsilon: {math.floor(1000 * least) / 1000:g}}}"
