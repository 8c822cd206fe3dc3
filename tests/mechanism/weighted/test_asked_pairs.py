"""What is asked of pairs of values, against a listing of all answers."""

from __future__ import annotations

import numpy as np
import pytest

from tetraodon.mechanism.strategy_optimiser import AskedPairs, Sought
from tetraodon.query.query import EveryRange, ListedRanges, RunningCounts


@pytest.mark.parametrize("reading", [RunningCounts(), EveryRange(), ListedRanges(((0, 3), (2, 5)))])
def test_what_is_asked_of_pairs(reading: Sought) -> None:
    ends = {
        RunningCounts: [(0, high) for high in range(6)],
        EveryRange: [(low, high) for low in range(6) for high in range(low, 6)],
        ListedRanges: [(0, 3), (2, 5)],
    }[type(reading)]
    rows = np.array([[low <= code <= high for code in range(6)] for low, high in ends], np.float64)
    asked = AskedPairs(reading, 6)
    assert np.array_equal(asked.times(np.eye(6)), rows.T @ rows)
    assert np.array_equal(asked.diagonal, np.diag(rows.T @ rows))
