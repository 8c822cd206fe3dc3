"""A wheel installs into an empty environment, and what the README says works there.

What it needs comes from the package index that pip is set up with, in the versions that are locked, as `make` does it.
Where there is no such index the tests fail, and say so; TETRAODON_SKIP=wheel leaves them out.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.lock import PLAIN, ROOT, entries
from scripts.services import SKIP, skipped

from tests.test_docs import BLOCK, matches, shown_commands

pytestmark = [
    pytest.mark.skipif("wheel" in skipped(), reason=f"{SKIP} names it"),
    pytest.mark.skipif(os.name != "posix", reason="the README is for a POSIX shell"),
]
PIP = ("-m", "pip", "--disable-pip-version-check")


def clean() -> dict[str, str]:
    """The environment without what leads to this source or to settings of ours."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TETRAODON"))}


def call(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=clean(), capture_output=True, text=True, timeout=900, check=False
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an environment, `.venv`, in which nothing but the wheel was asked for."""
    home = tmp_path_factory.mktemp("newcomer")
    built = call(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", home, cwd=ROOT)
    assert built.returncode == 0, built.stderr
    [wheel] = home.glob("*.whl")
    assert call(sys.executable, "-m", "venv", home / ".venv", cwd=home).returncode == 0
    pins = [part.split(" \\")[0] for lines in entries(PLAIN.read_text("utf-8")).values() for part in _each(lines)]
    (home / "pins.txt").write_text("\n".join(pins), encoding="utf-8")
    python = home / ".venv" / "bin" / "python"
    first = next(pin for pin in pins if pin.startswith("typing-extensions"))
    if call(python, *PIP, "download", "--no-deps", "--dest", home / "tried", first, cwd=home).returncode:
        pytest.fail("there is no package index to install from; TETRAODON_SKIP=wheel leaves these tests out")
    done = call(python, *PIP, "install", "--no-compile", "--constraint", home / "pins.txt", wheel, cwd=home)
    assert done.returncode == 0, done.stderr
    return home


def _each(lines: str) -> list[str]:
    return re.findall(r"^[\w.-]+==[^\\]+", lines, re.M)


def test_what_it_requires_is_all_it_needs(home: Path) -> None:
    python = home / ".venv" / "bin" / "python"
    assert call(python, *PIP, "check", cwd=home).returncode == 0
    listed = call(python, *PIP, "list", "--format=freeze", cwd=home).stdout
    assert "tetraodon==" in listed
    assert not re.search(r"^(pandas|polars|pytest|hatchling)==", listed, re.M), "the environment was empty"


README = (ROOT / "README.md").read_text(encoding="utf-8")
[WAY] = re.findall(r"`(\. \.venv/\S+)`", README)


@pytest.fixture(scope="module")
def demo(home: Path) -> Path:
    """The demonstration, made with the command that the README leads to."""
    done = call("sh", "-c", f"{WAY} && tetraodon demo --out demo", cwd=home)
    assert done.returncode == 0, done.stderr
    return home / "demo"


def test_the_command_is_there_and_the_readme_goes_on_as_printed(demo: Path) -> None:
    [policy] = [block for block in BLOCK.finditer(README) if block["title"]]
    (demo.parent / policy["title"]).write_text(policy["text"], encoding="utf-8")
    first = next(block for block in BLOCK.finditer(README) if block["language"] == "console")
    line, code, output = next(shown_commands(first["text"]))
    done = call("sh", "-c", f"{WAY} && {line}", cwd=demo.parent)
    assert done.returncode == code, done.stderr
    assert matches(output, done.stdout), done.stdout


def test_a_release_is_read_and_shown_without_any_extra(home: Path, demo: Path) -> None:
    program = "import tetraodon as td; r = td.load_release('release'); print(td.__file__, len(r._repr_html_()))"
    done = call(home / ".venv" / "bin" / "python", "-c", program, cwd=demo)
    assert done.returncode == 0, done.stderr
    place, length = done.stdout.split()
    assert Path(place).is_relative_to(home)
    assert int(length) > 10_000
