"""The worst odds of Example 9.2, and noise that serves."""

from __future__ import annotations

import math

import pytest
from tests.attacks.stories import story

from tetraodon.attacks.on_mechanisms import sitting


def test_only_the_number_is_in_doubt() -> None:
    assert sitting(2).datasets == ((0, 0), (1, 0), (1, 1))


def test_ten_students() -> None:
    played = story("exam")
    assert round(played.attacked, 3) == 37.465
    assert played.defended == pytest.approx(math.exp(0.5), rel=1e-12)
    assert played.numbers["odds, 1 student"] == pytest.approx(math.exp(0.5), rel=1e-3)
