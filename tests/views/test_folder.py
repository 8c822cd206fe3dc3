"""The view folder: long views come without CSV."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.views.test_publish import POLICY
from tetraodon.policy.load import load_policy
from tetraodon.untrusted_files import plain_files
from tetraodon.views import folder
from tetraodon.views.plan import plan_view
from tetraodon.views.tuple_files import write_view


def test_long_views_have_no_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "CSV_ROWS", 2)
    plan = plan_view(load_policy(POLICY))
    drawn, out = tmp_path / "drawn", tmp_path / "out"
    drawn.mkdir()
    out.mkdir()
    write_view(drawn, plan.policy.domain, [np.arange(3, dtype=np.uint64)])
    folder.fill_folder(out, plan, drawn, side={}, charged="1", when="2026-01-01")
    names = ["README.md", "estimate.sql", "policy.yaml", "report.html", "tuples.parquet"]
    assert list(plain_files(out)) == [*names, "view.json"] == [*folder.file_names(3, {}, False), "view.json"]
