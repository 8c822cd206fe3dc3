"""A view folder reads back as what it is, or is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tetraodon.errors import ReleaseError, TetraodonError
from tetraodon.views.channel import CopyChannel, SetChannel, channel_document, channel_from
from tetraodon.views.view import load_view

MANIFEST: dict[str, Any] = {
    "tetraodon_view": 1,
    "name": "people",
    "policy": {"dataset": "people", "attributes": {"age": {"integer": [20, 39]}}, "budget": {"epsilon": 12}},
    "channel": {"rows": "repeated", "keep": "1/2", "noise": "1/101"},
    "rows": "tuples.parquet",
    "n": 6,
    "public": {"regions": "public/regions.csv"},
}


def written(folder: Path, **changed: Any) -> Path:
    (folder / "view.json").write_text(json.dumps(MANIFEST | changed), encoding="utf-8")
    (folder / "public").mkdir()
    for name in ("tuples.parquet", "public/regions.csv"):
        (folder / name).touch()
    return folder


@pytest.mark.parametrize(
    "channel", [SetChannel(Fraction(2, 3), Fraction(1, 150)), CopyChannel(Fraction(1, 2), Fraction(1, 7))]
)
def test_a_channel_reads_back(channel: SetChannel | CopyChannel) -> None:
    assert channel_from(channel_document(channel)) == channel


def test_a_view_reads_back(tmp_path: Path) -> None:
    view = load_view(written(tmp_path))
    assert (view.name, view.n, view.domain.size) == ("people", 6, 20)
    assert view.channel == CopyChannel(Fraction(1, 2), Fraction(1, 101))
    assert view.rows == tmp_path / "tuples.parquet"
    assert view.public == {"regions": tmp_path / "public/regions.csv"}


@pytest.mark.parametrize(
    "changed",
    [
        {"channel": {}},
        {"rows": 3},
        {"n": "many"},
        {"n": -1},
        {"n": True},
        {"rows": "../other.parquet"},
        {"rows": "*.parquet"},
        {"rows": "public/regions.csv"},
        {"public": None},
        {"public": {"regions": "public/*.csv"}},
        {"public": {"regions": "tuples.parquet"}},
        {"public": {"lost": "public/lost.csv"}},
        {"public": {"../x": "public/../x.csv"}},
        {"channel": {"rows": "repeated", "keep": "1e999999999", "noise": "1/101"}},
        {"policy": MANIFEST["policy"] | {"known": [{"table": "/dev/zero"}]}},
    ],
)
def test_a_broken_view_is_refused(tmp_path: Path, changed: dict[str, Any]) -> None:
    with pytest.raises(TetraodonError, match="Fix:"):
        load_view(written(tmp_path, **changed))


def test_a_folder_without_a_view_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match=r"no view\.json"):
        load_view(tmp_path)
    (tmp_path / "view.json").write_text("{", encoding="utf-8")
    with pytest.raises(ReleaseError, match="cannot be read"):
        load_view(tmp_path)
