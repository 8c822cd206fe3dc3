"""The command runs what is named, and nothing by mistake."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("arguments", "code", "told"), [(["--help"], 0, "usage:"), (["nope"], 2, "no benchmark"), (["--chek"], 2, "usage:")]
)
def test_help_and_mistakes_measure_nothing(arguments: list[str], code: int, told: str):
    before = (ROOT / "benchmarks" / "results.json").read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert told in done.stdout + done.stderr
    assert (ROOT / "benchmarks" / "results.json").read_bytes() == before
