"""Releasing, and reading a release."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.forger import forge


def test_the_shape_of_a_release(run: Run, run_json: Callable[..., Any]) -> None:
    run("ledger", "open", "people.policy.yaml")
    found = run_json("release", "people.policy.yaml", "people.csv")
    assert set(found) == {
        "dataset",
        "folder",
        "report",
        "ledger",
        "epsilon",
        "epsilon_exact",
        "charged",
        "left",
        "queries",
    }
    keys = {"name", "kind", "mechanism", "epsilon", "expected_error", "rows"}
    assert all(set(query) == keys for query in found["queries"])
    assert [query["rows"] for query in found["queries"]] == [148, 501, 2, 1]


def test_an_output_folder_that_exists(run: Run, released: Path, place: Path) -> None:
    before = (released / "release.json").read_bytes()
    assert "--force" in run("release", "people.policy.yaml", "people.csv", code=1).stderr
    assert (released / "release.json").read_bytes() == before
    run("release", "people.policy.yaml", "people.csv", "--force")
    assert (released / "release.json").read_bytes() != before
    (place / "mine").mkdir()
    (place / "mine" / "thesis.txt").write_text("precious")
    refused = run("release", "people.policy.yaml", "people.csv", "--out", "mine", "--force", code=1)
    assert "has no release.json" in refused.stderr
    assert (place / "mine" / "thesis.txt").read_text() == "precious"


@pytest.mark.usefixtures("released")
def test_an_item_that_is_not_there(run: Run) -> None:
    assert "did you mean 'ages'?" in run("show", "release", "--item", "agess", code=1).stderr


@pytest.mark.usefixtures("released")
def test_a_good_release_verifies(run_json: Callable[..., Any]) -> None:
    found = run_json("verify", "release")
    assert set(found) == {"verified", "key_named", "checks", "not_checked"}
    assert all(set(check) == {"what", "passed", "detail", "other_version"} for check in found["checks"])
    assert any(check["what"] == "certificate of the whole release" for check in found["checks"])


@pytest.mark.parametrize("file", ["answers/ages.csv", "report.html", "measurements/losses.parquet", "policy.yaml"])
def test_a_release_that_was_tampered_with(run: Run, run_json: Callable[..., Any], released: Path, file: str) -> None:
    content = bytearray((released / file).read_bytes())
    content[len(content) // 2] ^= 1
    (released / file).write_bytes(bytes(content))
    found = run_json("verify", "release", code=1)
    assert found["verified"] is False
    assert [check["what"] for check in found["checks"] if not check["passed"]] == [f"file {file}"]
    told = run("verify", "release", code=1).stdout
    assert "FAILED" in told
    assert f"file {file}" in told


def test_without_a_key_anyone_could_have_signed(run: Run, run_json: Callable[..., Any], released: Path) -> None:
    told = run("verify", "release").stdout.split()
    assert " ".join(told).endswith("anyone could have made and signed this folder. Name the curator's: --key.")
    assert run_json("verify", "release", "--strict", code=4)["key_named"] is False
    key = json.loads((released / "signature.json").read_text())["fingerprint"]
    assert "anyone could" not in run("verify", "release", "--strict", "--key", key).stdout


def test_pages_of_another_version_have_an_exit_code_of_their_own(run: Run, released: Path) -> None:
    manifest = json.loads((released / "release.json").read_text()) | {"software": "tetraodon 0.0.1"}
    forge(released, manifest)
    run("verify", "release")
    (released / "report.html").write_text("epsilon 0.001 <script>alert(1)</script>")
    forge(released, manifest)
    assert "do not rely on them" in run("verify", "release", code=3).stdout
    run("verify", "release", "--key", "00" * 32, code=1)


def test_a_manifest_that_cannot_be_read(run_json: Callable[..., Any], released: Path) -> None:
    (released / "release.json").write_text("{")
    found = run_json("verify", "release", code=1)
    assert found["verified"] is False
    assert found["error"]["type"] == "ReleaseError"


def test_what_is_complete_is_said_to_be(released: Path, run: Run, run_json: Callable[..., Any]) -> None:
    told = run("release", "people.policy.yaml", "people.csv", "--resume").stdout
    assert "complete already: nothing was charged now, epsilon 1 before; 2 left" in told
    assert run_json("release", "people.policy.yaml", "people.csv", "--resume")["charged"] == "1"
    assert len(run_json("ledger", "show")["datasets"][0]["entries"]) == 1
    assert not (released.parent / ".release.pending").exists()


def test_the_gate_says_complete_in_the_same_words() -> None:
    from tetraodon import gate
    from tetraodon.cli import release as release_commands

    assert release_commands.COMPLETE == gate.COMPLETE


def test_a_place_that_cannot_be_written_costs_nothing(place: Path, run: Run, run_json: Callable[..., Any]) -> None:
    run("ledger", "open", "people.policy.yaml")
    (place / "f").touch()
    for out in ("f/x", "f", "/proc/x"):
        for resume in ([], ["--resume"]):
            run("release", "people.policy.yaml", "people.csv", "--out", out, *resume, code=1)
    assert run_json("ledger", "show")["datasets"][0]["charged"] == "0"


def test_a_query_may_stand_in_place_of_a_table(run: Run, run_json: Callable[..., Any]) -> None:
    query = "select * from 'people.csv' where sex = 'Male'"
    assert run_json("init", query, "--out", "draft.yaml")["dataset"] == "people"
    assert run_json("check", "people.policy.yaml", query)["table"]["columns"][0]["rows"] == 400
    run("ledger", "open", "people.policy.yaml")
    run("release", "people.policy.yaml", query)
    assert run("ask", "release", "sex = 'Male'").stdout.startswith("exactly 134")
    assert "more than one statement" in run("check", "people.policy.yaml", f"{query}; select 1", code=1).stderr
    assert "no such file" in run("check", "people.policy.yaml", "select * from 'peple.csv'", code=2).stderr
