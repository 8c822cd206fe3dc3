"""The bundled example, from end to end."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cli.conftest import Run


def test_a_demonstration(run: Run, run_json: Callable[..., Any], place: Path) -> None:
    told = run("demo").stdout
    assert "The promise" in told
    assert "all good" in told
    assert f"tetraodon studio {Path('demo/adult.policy.yaml')} {Path('demo/adult.parquet')} --ledger" in told
    assert f"The report: {Path('demo/release/report.html')}" in told
    assert (place / "demo/release/report.html").is_file()
    assert (place / "demo/adult.parquet").is_file()
    assert "--force" in run("demo", code=1).stderr
    found = run_json("demo", "--force")
    assert set(found) == {
        "folder",
        "policy",
        "table",
        "ledger",
        "release",
        "report",
        "epsilon",
        "charged",
        "left",
        "verified",
        "answer",
    }
    assert (found["verified"], found["left"]) == (True, "0")
    shutil.rmtree(place / "demo")


def test_a_folder_that_cannot_be_made(run: Run) -> None:
    assert "cannot be written" in run("demo", "--out", "people.csv/demo", code=1).stderr
