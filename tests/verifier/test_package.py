"""The verifier is small, needs nothing, and agrees with the package on whole folders."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import polars
import pytest
from scripts.verifier_zip import PACKAGE, write_zip

import tetraodon as td

MOST_FILES, MOST_LINES = 6, 1500
POLICY = {
    "dataset": "d",
    "presence": "public",
    "attributes": {"age": {"integer": [0, 9]}, "sex": ["f", "m"], "pay": {"real": [0, 2], "step": "0.5"}},
    "secrets": {"age": {"within": 2}},
    "budget": {"epsilon": 1},
    "release": [
        {"name": "ages", "histogram": ["age", "sex"]},
        {"name": "pays", "cdf": "pay", "where": "age >= 3"},
        {"name": "mean_pay", "mean": "pay", "by": "sex"},
    ],
}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("made")
    table = polars.DataFrame({"age": list(range(10)) * 9, "sex": ["f", "m"] * 45, "pay": [0.0, 1.5, 2.0] * 30})
    with td.Ledger(place / "office.db") as ledger:
        ledger.open("d", 10, POLICY)
        td.release(td.plan(POLICY), table, ledger=ledger, out=place / "release")
        (place / "office.pem").write_text(ledger.keys()[0].pem)
    return place / "release"


@pytest.fixture(scope="module")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("zip") / "verify.pyz"
    write_zip(made)
    return made


def run(pyz: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """With nothing but the standard library, and no word of this environment."""
    command = [sys.executable, "-I", "-S", str(pyz), *map(str, arguments)]
    return subprocess.run(command, env={}, capture_output=True, text=True, timeout=100, check=False)


def test_it_is_small_and_imports_the_standard_library_alone() -> None:
    sources = sorted(PACKAGE.glob("*.py"))
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in sources)
    assert len(sources) <= MOST_FILES
    assert lines <= MOST_LINES
    for path in sources:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names | {"tetraodon_verify"}


def test_the_zip_is_the_same_every_time(pyz: Path, tmp_path: Path) -> None:
    write_zip(tmp_path / "again.pyz")
    assert (tmp_path / "again.pyz").read_bytes() == pyz.read_bytes()


def test_it_proves_a_release_without_anything_else(pyz: Path, release: Path) -> None:
    done = run(pyz, release)
    assert (done.returncode, done.stderr) == (0, "")
    assert "FAILED" not in done.stdout
    assert [line for line in done.stdout.splitlines() if line.startswith("proved   certificate of")]
    for item in ("ages", "pays", "mean_pay"):
        assert f"proved   CSV of {item}" in done.stdout
    assert run(pyz, release, "--strict").returncode == 3  # pages and rounding are not proved


def test_it_knows_the_key_that_is_named(pyz: Path, release: Path) -> None:
    assert run(pyz, release, "--key", release.parent / "office.pem").returncode == 0
    assert run(pyz, release, "--key", "0" * 64).returncode == 1
