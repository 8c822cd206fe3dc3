"""Noisy numbers are read back as they were written, and refused if they are not those of the plan."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tetraodon as td
from tetraodon.releases.run import DRAWN, read_measured, write_measured


def test_they_are_read_back(policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, tmp_path: Path) -> None:
    made = td.release(policy, table, ledger=ledger)
    write_measured(tmp_path, made.measured)
    found = read_measured(tmp_path, made.plan)
    for name, arrays in made.measured.items():
        assert all(np.array_equal(a, b) for a, b in zip(arrays, found[name], strict=True))


@pytest.mark.parametrize("content", [b"", b"broken", None, "other"])
def test_others_are_refused(policy: td.Policy, tmp_path: Path, content: bytes | str | None) -> None:
    if isinstance(content, bytes):
        (tmp_path / DRAWN).write_bytes(content)
    elif content == "other":
        write_measured(tmp_path, {item.name: (np.zeros(1, np.int64),) for item in td.plan(policy)})
    with pytest.raises(td.errors.ReleaseError, match="cannot be read"):
        read_measured(tmp_path, td.plan(policy))
