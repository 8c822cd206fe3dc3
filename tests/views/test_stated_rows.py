"""Rows are read back as the cells that were written, and as nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tetraodon as td
from tetraodon.views import verify as stated_rows
from tetraodon.views.plan import plan_view
from tetraodon.views.tuple_files import write_tuples
from tetraodon.views.verify import NotTuples, check_rows, stated_cells

POLICY: dict[str, Any] = {
    "dataset": "d",
    "attributes": {
        "word": ["a", "b", "c"],
        "yes": "boolean",
        "n": {"integer": [-5, 5]},
        "real": {"real": ["-0.3", "0.3"], "step": "0.1"},
        "day": {"date": ["1969-12-30", "1970-01-03"]},
    },
    "budget": {"epsilon": 20},
    "adversary": {"prior": {"d": "0.02"}, "posterior": "0.9"},
}
DOMAIN = td.load_policy(POLICY).domain


@pytest.fixture
def written(tmp_path: Path) -> Path:
    write_tuples(DOMAIN, [np.arange(DOMAIN.size, dtype=np.uint64)], tmp_path / "tuples.parquet")
    return tmp_path / "tuples.parquet"


def test_every_cell_reads_back(written: Path) -> None:
    found = np.concatenate(list(stated_cells(written, DOMAIN, DOMAIN.size)))
    assert found.tolist() == list(range(DOMAIN.size))


@pytest.mark.parametrize(
    "change",
    [
        {"word": pl.lit("d")},
        {"n": pl.lit(6, pl.Int64)},
        {"n": pl.lit(-(2**63), pl.Int64)},
        {"real": pl.lit(0.05)},
        {"real": pl.lit(float("nan"))},
        {"real": pl.lit(float("inf"))},
        {"day": pl.lit("1971-01-01").str.to_date()},
        {"yes": pl.lit(None, pl.Boolean)},
        {"n": pl.lit("1")},
    ],
)
def test_other_values_are_no_tuples(written: Path, change: dict[str, Any]) -> None:
    rows = pl.read_parquet(written)
    rows.with_columns(**change).write_parquet(written)
    with pytest.raises(NotTuples):
        list(stated_cells(written, DOMAIN, DOMAIN.size))


def test_the_number_of_rows_must_be_possible(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_view(td.load_policy(POLICY))
    assert not check_rows(written, plan, -1).passed
    assert not check_rows(written, plan, 10**9).passed
    assert not check_rows(written, plan, DOMAIN.size - 1).passed
    assert check_rows(written, plan, DOMAIN.size).passed
    monkeypatch.setattr(stated_rows, "DENSE", 1)
    monkeypatch.setattr(stated_rows, "PER_BYTE", 1e-6)
    assert not check_rows(written, plan, DOMAIN.size).passed
