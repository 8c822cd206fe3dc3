"""What stands beside the answers is part of the folder: made again, compared, all of it or none."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import tetraodon as td
from tetraodon.releasing.companions import companion_names, companion_texts
from tetraodon.releasing.manifest import file_hash


@pytest.fixture
def written(policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, tmp_path: Path) -> Path:
    td.release(policy, table, ledger=ledger, out=tmp_path / "out")
    return tmp_path / "out"


def failed(folder: Path) -> list[str]:
    return [check.what for check in td.verify(folder) if not check.passed]


def stated_again(folder: Path, name: str) -> None:
    """A forger writes the hash of a changed file into release.json, or leaves out that of one that is gone."""
    manifest = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    manifest["files"].pop(name)
    if (folder / name).exists():
        manifest["files"][name] = file_hash(folder / name)
    (folder / "release.json").write_text(json.dumps(manifest), encoding="utf-8")


def test_they_are_in_the_folder_as_the_release_makes_them(written: Path) -> None:
    release = td.load_release(written)
    texts = companion_texts(release)
    assert tuple(texts) == companion_names(release.plan)
    assert all((written / name).read_text(encoding="utf-8") == text for name, text in texts.items())
    assert failed(written) == []


def test_one_that_says_something_else_is_found(written: Path) -> None:
    for name in companion_names(td.load_release(written).plan):
        before, signed = (written / name).read_bytes(), (written / "release.json").read_bytes()
        (written / name).write_bytes(before.replace(b'"', b'"x', 1))
        assert f"file {name}" in failed(written)
        stated_again(written, name)
        assert f"{name} is what follows from the manifest" in failed(written)
        (written / name).write_bytes(before)
        (written / "release.json").write_bytes(signed)


def test_a_folder_of_earlier_days_has_none_of_them_and_one_alone_is_not_enough(written: Path) -> None:
    first, *others = companion_names(td.load_release(written).plan)
    for name in others:
        (written / name).unlink()
        stated_again(written, name)
    assert {f"file {name}" for name in others} <= {*failed(written)}
    (written / first).unlink()
    stated_again(written, first)
    assert not [what for what in failed(written) if what.startswith("file ")]
