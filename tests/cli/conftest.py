"""A small table, a policy for it, and a way to run commands in this process."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from typer.testing import CliRunner, Result

from tetraodon.cli.main import app

MARKER = "MARKER-4711"
"""A value of the table that must never be printed by a failing run."""

POLICY = """\
tetraodon: 1
dataset: people
presence: public
attributes:
  age: {integer: [17, 90], unit: years}
  sex: [Female, Male]
  loss: {integer: [0, 500], unit: USD}
secrets:
  age: {within: 5}
  loss: {within: 10}
  sex: public
together: one attribute at a time
budget: {epsilon: 1}
release:
  - {name: ages, histogram: [age, sex], share: 2}
  - {name: losses, cdf: loss}
  - {name: sexes, histogram: [sex]}
  - {name: spent, total: loss}
"""

Run: TypeAlias = Callable[..., Result]


def table_text(rows: int = 400) -> str:
    lines = [f"{17 + row % 74},{('Female', 'Male')[row % 3 == 0]},{row * 7 % 501},{MARKER}" for row in range(rows)]
    return "\n".join(["age,sex,loss,remark", *lines, ""])


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with `people.csv` and `people.policy.yaml`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TETRAODON_LEDGER", raising=False)
    monkeypatch.delenv("TETRAODON_DEBUG", raising=False)
    (tmp_path / "people.csv").write_text(table_text())
    (tmp_path / "people.policy.yaml").write_text(POLICY)
    return tmp_path


@pytest.fixture
def run(place: Path) -> Run:  # noqa: ARG001 - the folder to run in
    """Run a command in `place` and insist on its exit code."""

    def command(*arguments: str, code: int = 0) -> Result:
        result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        return result

    return command


@pytest.fixture
def run_json(run: Run) -> Callable[..., Any]:
    """Run a command with `--json`; standard output must be one document and standard error empty."""

    def command(*arguments: str, code: int = 0) -> Any:
        result = run(*arguments, "--json", code=code)
        assert result.stderr == ""
        return json.loads(result.stdout)

    return command


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a release and its ledger, which tests copy."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "people.csv").write_text(table_text())
    (folder / "people.policy.yaml").write_text(POLICY)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for command in (
            ["ledger", "open", "people.policy.yaml", "--total", "3", "--ledger", "tetraodon.db"],
            ["release", "people.policy.yaml", "people.csv", "--ledger", "tetraodon.db"],
        ):
            assert CliRunner().invoke(app, command, catch_exceptions=False).exit_code == 0
    return folder


@pytest.fixture
def released(made_once: Path, place: Path) -> Path:
    """A release folder in `place`, with its ledger."""
    shutil.copytree(made_once / "release", place / "release")
    shutil.copy(made_once / "tetraodon.db", place)
    return place / "release"
