"""(0, delta) is kept, and the table gets out."""

from __future__ import annotations

import pytest
from tests.attacks.stories import story


def test_a_thousand_releases() -> None:
    played = story("everything-at-once")
    assert played.attacked == pytest.approx(1 - 0.999**1000 / 2)
    assert played.numbers["chance that the table is out"] == pytest.approx(1 - 0.999**1000, abs=1e-4)
    assert played.numbers["accepted at that delta"] is True
    assert played.numbers["epsilon of discrete Laplace noise at delta 0"] == 1
