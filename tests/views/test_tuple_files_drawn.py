"""The files of a drawn view go into the published folder as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.views.tuple_files import TUPLES, take_drawn, write_later, write_view

DOMAIN = Domain((Attribute("x", Integers(0, 99)),))


def cells(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.uint64)


@pytest.mark.parametrize("links", [True, False])
def test_a_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    drawn, out = tmp_path / "drawn", tmp_path / "out"
    drawn.mkdir()
    out.mkdir()
    write_later(drawn, DOMAIN, [cells(1, 9), cells(12)], cells(5, 5), cells(5, 7))
    if not links:

        def refuse(*_: object) -> None:
            raise OSError

        monkeypatch.setattr("os.link", refuse)
    assert take_drawn(drawn, out) == 5
    assert pl.read_parquet(out / TUPLES)["x"].to_list() == [1, 5, 5, 9, 12]
    found = {
        name: pl.read_parquet(out / "parts" / f"{name}.parquet")["x"].to_list() for name in ("fresh", "rows", "before")
    }
    assert found == {"fresh": [1, 9, 12], "rows": [5, 5], "before": [5, 7]}


def test_a_first_view(tmp_path: Path) -> None:
    write_view(tmp_path, DOMAIN, iter([cells(3), cells(4, 4)]))
    assert pl.read_parquet(tmp_path / TUPLES)["x"].to_list() == [3, 4, 4]
