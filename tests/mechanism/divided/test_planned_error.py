"""The planned error of divided parts, against least squares written out."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

import tetraodon as td
from tetraodon.mechanism.divided.planned_error import mean_variance
from tetraodon.mechanism.registry import proposals
from tetraodon.mechanism.strategy import Scaled
from tetraodon.questions import cdf, ranges, rectangles
from tetraodon.questions.query import Query
from tetraodon.workload.divided import Divided

SCALE = Fraction(3)


def answers(query: Query, size: int) -> np.ndarray[Any, Any]:
    """All answers, a row of weights each."""
    codes = np.arange(size)
    lines = [(a <= codes) & (codes <= b) for a, b in combinations_with_replacement(codes, 2)]
    if query == cdf("x", shape="sparse"):
        return np.tri(size)
    if query == rectangles("x", "y", shape="sparse"):
        return np.array([np.outer(one, other).ravel() for one in lines for other in lines], float)
    if query == ranges("x", [[3, 20], [8, 9]], shape="sparse"):
        return np.array([(codes >= 3) & (codes <= 20), (codes >= 8) & (codes <= 9)], float)
    return np.array(lines, float)


@pytest.mark.parametrize("presence", ["public", "secret"])
@pytest.mark.parametrize(
    ("query", "size"),
    [
        (cdf("x", shape="sparse"), 64),
        (ranges("x", shape="sparse"), 64),
        (ranges("x", [[3, 20], [8, 9]], shape="sparse"), 64),
        (rectangles("x", "y", shape="sparse"), 16),
    ],
)
def test_it_is_the_error_of_least_squares_if_all_parts_are_divided(query: Query, size: int, presence: str) -> None:
    sides = 2 if query == rectangles("x", "y", shape="sparse") else 1
    policy = td.load_policy(
        {
            "dataset": "d",
            "presence": presence,
            "attributes": {name: {"integer": [0, size - 1]} for name in "xy"[:sides]},
            "budget": {"epsilon": 1},
        }
    )
    (strategy,) = (one for one in proposals(query, policy) if one.mechanism.name == "divided")
    parts = strategy.noisy[0].contribution
    assert isinstance(parts, Divided)
    precise = np.zeros((size**sides, size**sides))
    for place, width in enumerate(parts.widths):
        line = np.kron(np.eye(size // width), np.ones(width))
        rows = line if sides == 1 else np.kron(line, line)
        precise += rows.T @ rows / strategy.noise.variance(parts.scale_of(SCALE, place))
    if presence == "public":
        precise += np.ones_like(precise) * 1e7
    asked = answers(query, size)
    variance = (asked @ np.linalg.inv(precise) * asked).sum(axis=1)
    assert mean_variance(query, Scaled(strategy, SCALE, policy.domain)) == pytest.approx(variance.mean(), rel=1e-4)
