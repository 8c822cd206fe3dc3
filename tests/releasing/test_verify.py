"""Verification believes nothing: it recomputes, and notices every change."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tetraodon as td
from tetraodon.releasing.folder import file_hash


@pytest.fixture
def written(policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, tmp_path: Path) -> Path:
    td.release(td.plan(policy), table, ledger=ledger, out=tmp_path / "out")
    return tmp_path / "out"


def failed(path: Path) -> list[str]:
    return [check.what for check in td.verify(path) if not check.passed]


def rewrite(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    manifest = json.loads((path / "release.json").read_text())
    change(manifest)
    (path / "release.json").write_text(json.dumps(manifest))


def test_an_untouched_release_passes(written: Path, policy: td.Policy) -> None:
    checks = td.verify(written)
    assert failed(written) == []
    assert sum("certificate" in check.what for check in checks) == len(policy.items) + 1
    assert sum("follow" in check.what for check in checks) == len(policy.items)


def test_a_changed_file_is_noticed(written: Path) -> None:
    (written / "answers" / "ages.csv").write_text("nonsense")
    assert failed(written) == ["file answers/ages.csv"]


def test_a_missing_file_is_noticed(written: Path) -> None:
    (written / "report.html").unlink()
    assert failed(written) == ["file report.html"]


def test_a_smaller_noise_than_certified_is_noticed(written: Path) -> None:
    def less(manifest: dict[str, Any]) -> None:
        manifest["plan"]["queries"][0]["measurements"][0]["noise"]["scale"] = "2"

    rewrite(written, less)
    assert "certificate of ages" in failed(written)
    assert "certificate of the whole release" in failed(written)


def test_a_claimed_epsilon_is_not_believed(written: Path) -> None:
    def boast(manifest: dict[str, Any]) -> None:
        manifest["plan"]["certificate"]["epsilon_exact"] = "0.001"

    rewrite(written, boast)
    assert failed(written) == ["certificate of the whole release"]


def test_a_weaker_policy_is_noticed_by_its_hash(written: Path) -> None:
    def weaken(manifest: dict[str, Any]) -> None:
        manifest["policy"]["secrets"]["age"] = "public"

    rewrite(written, weaken)
    assert "policy hash" in failed(written)


def test_answers_that_do_not_follow_are_noticed(written: Path) -> None:
    path = written / "answers" / "men.parquet"
    pl.DataFrame({"count": [1.0], "lower": [0.0], "upper": [2.0]}).write_parquet(path)
    rewrite(written, lambda manifest: manifest["files"].update({"answers/men.parquet": file_hash(path)}))
    assert failed(written) == ["answers of men follow from its measurements"]


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"tetraodon_release": 99}', "\udcff"])
def test_what_is_no_release_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "release.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(td.ReleaseError, match="Fix:"):
        td.verify(tmp_path)


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(td.ReleaseError, match=r"no release\.json"):
        td.verify(tmp_path)
