"""Killed at sampled lines and resumed, a release and a publish are charged once, drawn once and always finished.

`python -m scripts.kill_every_line` does it at every line.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from scripts.kill_every_line import points_of, spread

KILLS = 30


@pytest.mark.parametrize("way", ["release", "publish"])
def test_killed_anywhere_it_is_finished_under_one_charge(way: str) -> None:
    command = [sys.executable, "-m", "scripts.kill_every_line", "--json", "--points", str(KILLS), "--way", way]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (found,) = json.loads(done.stdout)
    assert found["failed"] == []
    assert found["kills"] == KILLS == sum(found["stood"].values())
    assert all(found["stood"].values())  # it was killed before the charge, after it, with numbers kept, and settled
    assert found["points"] > 400


def test_points_are_spread_over_all_lines() -> None:
    reached = [("a", 1), ("a", 2), ("b", 1), ("a", 2), ("a", 2), ("a", 3)]
    points = [("a", 1, 1), ("a", 2, 1), ("b", 1, 1), ("a", 2, 3), ("a", 3, 1)]
    assert points_of(reached) == points
    assert spread(points, 3) == [points[0], points[2], points[4]]
    assert spread(points, None) == spread(points, 9) == points
