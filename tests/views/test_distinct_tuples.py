"""What is collected of a view on its way to the disk."""

from __future__ import annotations

import numpy as np
import pytest

from tetraodon.views.exposure import shown


def test_tuples_are_counted_over_the_ends_of_parts() -> None:
    parts = [np.array(part, np.uint64) for part in ([1, 1, 2], [], [2], [2, 3], [3, 5])]
    found = shown(parts)
    assert found.cells.tolist() == [1, 2, 3, 5]
    assert found.copies.tolist() == [2, 3, 2, 1]


def test_of_very_many_tuples_evenly_spaced_ones_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tetraodon.views.exposure.MOST", 4)
    for cut in range(1, 11):
        found = shown([np.arange(0, cut, dtype=np.uint64), np.arange(cut, 11, dtype=np.uint64)])
        assert (found.every, found.cells.tolist()) == (4, [0, 4, 8])
