"""Numbers as people read them: no finer than their error allows, intervals rounded outwards."""

from __future__ import annotations

import numpy as np

from tetraodon.report.picture import date_text, places, rounded


def test_numbers_are_rounded_as_their_intervals_allow() -> None:
    assert places(np.array([245.0]), np.array([305.0])) == 0
    assert places(np.array([38.6416]), np.array([38.6447])) == 4
    assert places(np.array([3.0]), np.array([3.0])) == 0
    assert (rounded(244.999, 0, up=False), rounded(305.001, 0, up=True)) == ("244", "306")
    assert (rounded(245.0, 0, up=False), rounded(305.0, 0, up=True)) == ("245", "305")
    assert date_text("soon") == "soon"
