"""release.json is not believed, and costs nothing before its sizes are known."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tetraodon as td
from tetraodon.releases import plan as planning
from tetraodon.releases.folder import plan_from_manifest, read_manifest


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("made")
    policy = td.load_policy(
        {
            "dataset": "d",
            "attributes": {"x": {"integer": [0, 5]}},
            "secrets": {"x": {"within": 1}},
            "budget": {"epsilon": 1},
            "release": [{"name": "h", "histogram": "x", "bins": {"x": [[0, 2], [3, 5]]}}],
        }
    )
    with td.Ledger(home / "ledger.db") as book:
        book.open("d", 1, policy.document)
        td.release(td.plan(policy), pl.DataFrame({"x": [1, 2, 3]}), ledger=book, out=home / "release")
    return home / "release"


def test_the_plan_is_the_one_that_was_made(made: Path) -> None:
    manifest = read_manifest(made, "release")
    plan = plan_from_manifest(manifest, made)
    assert str(plan.epsilon) == "1"
    assert plan["h"].strategy.table[0].labels == ("0..2", "3..5")


def test_loading_plans_nothing_and_verifying_plans_the_baseline_again(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = []
    choose = planning.choose
    monkeypatch.setattr(planning, "choose", lambda *given: planned.append(given) or choose(*given))
    loaded = td.load_release(made).plan["h"]
    assert planned == []
    again = plan_from_manifest(read_manifest(made, "release"), made)["h"]
    assert len(planned) == 1
    assert (loaded.baseline_error, loaded.baseline) == (again.baseline_error, again.baseline)


@pytest.mark.parametrize("stated", [None, "8", True, -1, float("nan"), float("inf")])
def test_a_baseline_that_is_no_number_is_refused(made: Path, stated: Any) -> None:
    manifest = json.loads((made / "release.json").read_text())
    manifest["plan"]["queries"][0]["baseline_error"] = stated
    with pytest.raises(td.errors.ReleaseError, match="does not describe a release"):
        plan_from_manifest(manifest, made, believed=True)


def wide(manifest: dict[str, Any]) -> None:
    manifest["policy"]["attributes"][0]["integer"] = [0, 10**17]


def many_bins(manifest: dict[str, Any]) -> None:
    manifest["plan"]["queries"][0]["measurements"][0]["by"][0]["bins"] = [0, 0, 0, 10**9, 10**9, 10**9]


def other_labels(manifest: dict[str, Any]) -> None:
    [item] = manifest["plan"]["queries"]
    for split in (item["table"][0], item["measurements"][0]["by"][0]):
        split["labels"] = ["3..5", "0..2"]


def much_noise(manifest: dict[str, Any]) -> None:
    manifest["plan"]["queries"][0]["measurements"][0]["noise"]["scale"] = "1e999999999"


def another_item(manifest: dict[str, Any]) -> None:
    manifest["plan"]["queries"][0]["name"] = "../../h"


def a_file(manifest: dict[str, Any]) -> None:
    manifest["policy"]["known"] = [{"table": "/dev/zero"}]


def no_policy(manifest: dict[str, Any]) -> None:
    manifest["policy"] = "people.policy.yaml"


def many_measurements(manifest: dict[str, Any]) -> None:
    measured = manifest["plan"]["queries"][0]["measurements"]
    measured *= 10_000


@pytest.mark.parametrize(
    "change",
    [wide, many_bins, other_labels, much_noise, another_item, a_file, no_policy, many_measurements],
)
def test_other_statements_are_refused(made: Path, change: Callable[[dict[str, Any]], None]) -> None:
    manifest = json.loads((made / "release.json").read_text())
    change(manifest)
    with pytest.raises(td.errors.TetraodonError, match="Fix:"):
        plan_from_manifest(manifest, made)


def test_measurements_that_are_missing(made: Path, tmp_path: Path) -> None:
    with pytest.raises(td.errors.ReleaseError, match="missing"):
        plan_from_manifest(read_manifest(made, "release"), tmp_path)
