"""Made-up records with the counts of a release, from the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.cli.conftest import Run


@pytest.mark.usefixtures("released")
def test_records_are_written_and_told(run: Run, run_json: Callable[..., Any], place: Path) -> None:
    told = run("synthesize", "release", "--records", "50").stdout
    assert "synthetic.csv has 50 made-up records" in told
    assert pl.read_csv(place / "synthetic.csv").height == 50
    assert "--force" in run("synthesize", "release", code=2).stderr
    found = run_json("synthesize", "release", "--records", "60", "--out", "people.parquet")
    assert set(found) == {"file", "records", "columns", "left_out", "distance"}
    read = pl.read_parquet(place / "people.parquet")
    assert (read.height, read.columns) == (found["records"], found["columns"]) == (60, found["columns"])
    assert all(0 <= share <= 1 for share in found["distance"].values())


@pytest.mark.usefixtures("released")
def test_other_files_are_refused(run: Run) -> None:
    assert "--out synthetic.csv" in run("synthesize", "release", "--out", "people.xlsx", code=2).stderr
    assert "no such folder" in run("synthesize", "elsewhere", code=2).stderr
