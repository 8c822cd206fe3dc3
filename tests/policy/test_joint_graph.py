"""Graphs over cells number them row by row, and say of a pair what they say of many."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tetraodon.policy.joint_graph import JointGraph
from tetraodon.policy.joint_metric import JointMetric
from tetraodon.policy.regions import Regions

ONE = Fraction(1)


@pytest.mark.parametrize(
    "graph",
    [
        JointMetric("l1", ONE, (3, 2), (ONE, ONE), (ONE, ONE)),
        Regions((3, 2), (0, 1, 0, 2, 1, 0), ("a", "b", "c")),
    ],
)
def test_cells_and_pairs(graph: JointGraph) -> None:
    assert graph.size == 6
    cells = np.arange(6)
    assert list(zip(*(axis.tolist() for axis in graph.codes(cells)), strict=True)) == list(np.ndindex(3, 2))
    near = graph.adjacent(cells[:, None], cells[None, :])
    assert [[graph.is_edge(x, y) for y in range(6)] for x in range(6)] == near.tolist()
    assert graph.has_edges
    assert graph.edge_count == near.sum() // 2 > 0
