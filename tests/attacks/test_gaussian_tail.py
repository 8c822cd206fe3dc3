"""Thirteen thousand to one, and e to one."""

from __future__ import annotations

import math

import pytest
from tests.attacks.stories import story


def test_thirteen_thousand() -> None:
    played = story("gaussian-tail")
    density = [math.exp(-((10 - bit) ** 2) / 2) for bit in (1, 0)]
    assert played.attacked == pytest.approx(density[0] / sum(density))
    assert 13_000 < played.numbers["times as likely for 1 as for 0"] < 14_000
    assert played.defended == pytest.approx(math.e / (1 + math.e), rel=1e-12)
    assert played.numbers["smallest delta at epsilon 1"] == 0.1269
