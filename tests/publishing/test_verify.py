"""A view folder is checked without the data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tetraodon as td
from tests.publishing.test_run import POLICY, people


@pytest.fixture
def view(tmp_path: Path) -> Path:
    policy = td.load_policy(POLICY)
    with td.Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open(policy.dataset, 20, policy.document)
    td.publish(policy, people(), ledger=str(tmp_path / "ledger.db"), out=tmp_path / "view")
    return tmp_path / "view"


def failed(view: Path) -> list[str]:
    return [check.what for check in td.verify(view) if not check.passed]


def test_a_view_as_published_holds(view: Path) -> None:
    assert failed(view) == []
    assert "probabilities withstand the adversary" in [check.what for check in td.verify(view)]


def test_changed_and_foreign_files_are_found(view: Path) -> None:
    (view / "tuples.csv").write_text("age\n")
    (view / "more.txt").write_text("more")
    assert failed(view) == ["file tuples.csv", "file more.txt"]


def test_other_probabilities_are_found(view: Path) -> None:
    manifest = json.loads((view / "view.json").read_text())
    manifest["channel"]["keep"] = manifest["plan"]["channel"]["keep"] = "4/5"
    (view / "view.json").write_text(json.dumps(manifest))
    assert failed(view) == ["probabilities withstand the adversary"]


def test_a_weaker_adversary_is_found(view: Path) -> None:
    manifest = json.loads((view / "view.json").read_text())
    manifest["policy"]["adversary"]["posterior"] = "0.9"
    (view / "view.json").write_text(json.dumps(manifest))
    assert failed(view) == ["policy hash", "probabilities withstand the adversary"]


def test_a_manifest_without_a_plan_is_refused(view: Path) -> None:
    manifest = json.loads((view / "view.json").read_text())
    del manifest["plan"]
    (view / "view.json").write_text(json.dumps(manifest))
    with pytest.raises(td.ReleaseError, match="does not fit together"):
        td.verify(view)
