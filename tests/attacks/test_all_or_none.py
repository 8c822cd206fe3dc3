"""Noise for the restricted sensitivity loses n times epsilon."""

from __future__ import annotations

import math

import pytest
from tests.attacks.stories import story


def test_the_loss_grows_with_the_club() -> None:
    played = story("all-or-none")
    assert played.attacked == pytest.approx(math.exp(5), rel=1e-12)
    assert played.defended == pytest.approx(math.exp(0.5), rel=1e-12)
