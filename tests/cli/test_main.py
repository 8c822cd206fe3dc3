"""Every command is documented, starts quickly and leaves heavy libraries alone until it needs them."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from tests.cli.conftest import POLICY
from typer.testing import CliRunner

import tetraodon
from tetraodon.cli import main
from tetraodon.cli.main import app

SCRIPT = [sys.executable, "-m", "tetraodon.cli.main"]
COMMANDS = {
    ("init",),
    ("check",),
    ("explain",),
    ("plan",),
    ("compare",),
    ("ledger", "open"),
    ("ledger", "show"),
    ("ledger", "reprice"),
    ("ledger", "audit"),
    ("ledger", "allot"),
    ("ledger", "grant"),
    ("ledger", "correct"),
    ("ledger", "key"),
    ("publish",),
    ("release",),
    ("show",),
    ("verify",),
    ("ask",),
    ("synthesize",),
    ("studio",),
    ("serve",),
    ("work",),
    ("account",),
    ("attack",),
    ("schema",),
    ("demo",),
}


def listed(group: typer.Typer, path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    found = {(*path, str(command.name)) for command in group.registered_commands}
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        found |= listed(inner.typer_instance, (*path, str(inner.name)))
    return found


def test_these_are_all_commands() -> None:
    assert listed(app) == COMMANDS


@pytest.mark.parametrize("command", sorted(COMMANDS), ids=" ".join)
def test_every_command_has_a_purpose_an_example_and_json(command: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, [*command, "--help"])
    assert result.exit_code == 0
    assert "Example" in result.output
    assert f"  tetraodon {' '.join(command)}" in result.output
    assert "--json " in result.output
    assert result.output.count("--json gives {") == 1 or command == ("schema",)
    purpose = result.output.split("\n\n")[1].strip()
    assert purpose[0].isupper()
    assert "." in purpose


def test_short_help_is_never_cut_off() -> None:
    for group in (["--help"], ["ledger", "--help"]):
        assert "..." not in CliRunner().invoke(app, group).output.replace("[ARGS]...", "")


def test_version() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.output) == (0, f"tetraodon {tetraodon.__version__}\n")


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["plan"], ["plan", "--nonsense"], ["show", "x", "--rows", "-1"], ["ledger", "close"]]
)
def test_wrong_use_is_exit_code_2(arguments: list[str]) -> None:
    assert CliRunner().invoke(app, arguments).exit_code == 2


HEAVY = ("numpy", "duckdb", "pydantic", "sqlalchemy", "scipy", "polars", "pandas", "ibis", "jinja2", "rich", "yaml")
STORES = ("duckdb", "sqlalchemy", "polars", "pandas", "ibis", "scipy.signal", "scipy.stats")


@pytest.mark.parametrize(("arguments", "unneeded"), [(["--help"], HEAVY), (["plan", "p.yaml"], STORES)])
def test_no_command_imports_what_it_does_not_need(
    arguments: list[str], unneeded: tuple[str, ...], tmp_path: Path
) -> None:
    """A plan needs no tables, and where there is no ledger, no database."""
    (tmp_path / "p.yaml").write_text(POLICY)
    code = (
        "import sys\n"
        "from tetraodon.cli.main import app\n"
        f"app({arguments!r}, standalone_mode=False)\n"
        f"print([name for name in {unneeded!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stderr.strip() == "[]"


def test_a_terminal_without_unicode_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "é.yaml").write_text(POLICY)
    ascii_only = {"PYTHONIOENCODING": "ascii", "PATH": ""}
    done = subprocess.run([*SCRIPT, "plan", "é.yaml"], capture_output=True, cwd=tmp_path, env=ascii_only)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    with subprocess.Popen([*SCRIPT, "schema"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


def test_what_is_imported_is_not_searched_for_garbage_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    before, seen = gc.get_threshold(), list[int]()
    monkeypatch.setattr(main, "needed", lambda _: lambda: seen.append(gc.get_threshold()[0]))
    try:
        main.main()
    finally:
        gc.set_threshold(*before)
    assert seen == [main.OBJECTS_BETWEEN_COLLECTIONS]
    assert seen[0] > before[0]


@pytest.mark.parametrize("words", [["release"], ["show"], ["relese"], ["ledger", "show"], []])
def test_a_command_alone_says_the_same(words: list[str]) -> None:
    """Of the app that has the command alone, and of the whole one."""
    few, every = (CliRunner().invoke(one, [*words, "--help"]) for one in (main.needed(words), app))
    assert (few.exit_code, few.output) == (every.exit_code, every.output)
    alone = len(main.needed(words).registered_commands) == 1
    assert alone == (words in (["release"], ["show"]))
