"""The script that draws the charts: made once, kept for its owner, and never believed when it could be another's."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest
import vl_convert

from tetraodon.report import page as home
from tetraodon.report.page import cache_folder, vega_bundle


@pytest.fixture
def small_bundle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """A cache of the test's own, and a bundle that costs nothing to make; how often it was made is returned."""
    made: list[str] = []

    def bundle() -> str:
        made.append("made")
        return "window.vegaEmbed = null;"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    return made


def paths() -> tuple[Path, Path]:
    (kept,) = cache_folder().glob("vega-*.js")
    return kept, kept.with_suffix(".sha256")


def test_the_bundle_is_made_once_and_kept_for_its_owner(small_bundle: list[str]) -> None:
    first = vega_bundle()
    assert vega_bundle() == first
    assert small_bundle == ["made"]
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in paths())
    assert sorted(path.name for path in cache_folder().iterdir()) == sorted(path.name for path in paths())


@pytest.mark.usefixtures("small_bundle")
def test_a_warm_cache_does_not_need_vl_convert(monkeypatch: pytest.MonkeyPatch) -> None:
    first = vega_bundle()
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert vega_bundle() == first


@pytest.mark.parametrize("damage", ["content", "digest", "no digest", "not text", "anybody may write"])
def test_a_damaged_copy_is_made_anew(damage: str, small_bundle: list[str]) -> None:
    good = vega_bundle()
    content, digest = paths()
    match damage:
        case "content":
            content.write_text("alert(1)")
        case "digest":
            digest.write_text("0" * 64)
        case "no digest":
            digest.unlink()
        case "not text":
            content.write_bytes(b"\xff\xfe")
            digest.write_text(hashlib.sha256(b"\xff\xfe").hexdigest())
        case _:
            content.chmod(0o666)
    assert vega_bundle() == good
    assert vega_bundle() == good
    assert len(small_bundle) == 2


def test_a_cache_that_cannot_be_written_costs_only_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, small_bundle: list[str]
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert vega_bundle() == vega_bundle()
    assert len(small_bundle) == 2


def test_a_full_disk_leaves_no_draft_behind(monkeypatch: pytest.MonkeyPatch, small_bundle: list[str]) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(home.os, "replace", full)
    vega_bundle()
    assert list(cache_folder().iterdir()) == []
    assert small_bundle == ["made"]


def test_a_relative_cache_folder_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/nobody")
    assert cache_folder() == Path("/nobody/.cache/tetraodon")
