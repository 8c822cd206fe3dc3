"""What a plain installation gets: what the package requires, and nothing that only developers need."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from scripts.lock import DEV, PARTS, PLAIN, ROOT, SERVER, entries, needed, only_entries, part_lock


def test_the_parts_are_what_is_needed() -> None:
    for path, extras in PARTS.items():
        assert path.read_text(encoding="utf-8") == part_lock(*extras)
    plain, server = ({*entries(path.read_text("utf-8"))} for path in (PLAIN, SERVER))
    assert "uvicorn" in plain  # `make demo` installs the studio
    assert "psycopg-binary" in server - plain


def test_everything_that_is_declared_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [
        *project["dependencies"],
        *(one for extra in project["optional-dependencies"].values() for one in extra if one != "tetraodon[web]"),
    ]
    locked = entries(DEV.read_text(encoding="utf-8"))
    assert {name for each in declared for name in needed([each], locked)} <= {*locked}
    assert all(needed([each], locked) for each in declared)


def test_every_entry_has_its_hashes() -> None:
    for path in (DEV, *PARTS):
        assert all("--hash=sha256:" in lines for lines in entries(path.read_text(encoding="utf-8")).values())


def test_what_only_developers_need_is_left_out() -> None:
    for path in PARTS:
        names = {*entries(path.read_text(encoding="utf-8"))}
        assert not names & {"pyspark", "mypy", "mkdocs", "pytest", "polars", "scikit-learn", "dp-accounting"}


def test_what_an_extra_asks_for_is_found() -> None:
    locked = entries(DEV.read_text(encoding="utf-8"))
    assert "psycopg-binary" in needed(["psycopg[binary]"], locked)
    assert "psycopg-binary" not in needed(["psycopg"], locked)


def test_nothing_but_entries_is_written() -> None:
    locked = "numpy==2.4.6 ; python_full_version < '3.12' \\\n    --hash=sha256:1 \\\n    --hash=sha256:2\n"
    written = f"# made by a tool\n-i https://index.example/simple\n--pre\n{locked}    # via scipy\n\n"
    assert only_entries(written) == locked
    assert all(only_entries(path.read_text(encoding="utf-8")) == path.read_text("utf-8") for path in (DEV, *PARTS))


@pytest.mark.skipif(sys.platform != "linux", reason="the linter is locked for Linux")
def test_the_container_file_is_as_its_linter_wants_it_and_installs_what_is_locked(tmp_path: Path) -> None:
    """Nobody is root in it, its base has a version, and no package comes without a hash."""
    tool, written = Path(sys.executable).with_name("hadolint"), ROOT / "deploy" / "Containerfile"
    said = subprocess.run([tool, "--no-color", written], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (0, "")
    text = written.read_text(encoding="utf-8")
    installing = [line for line in text.replace("\\\n", "").splitlines() if "pip install" in line]
    parts = [part for line in installing for part in line.split("&&") if "pip install" in part]
    assert all("--require-hashes" in part or "--no-deps --no-build-isolation ." in part for part in parts)
    assert SERVER.name in text
    worse = tmp_path / "Containerfile"
    worse.write_text(text.replace(":3.12-slim-bookworm", "").replace("USER 10001", "USER root"))
    said = subprocess.run([tool, "--no-color", worse], capture_output=True, text=True, check=False)
    assert (said.returncode, "DL3002" in said.stdout) == (1, True)
