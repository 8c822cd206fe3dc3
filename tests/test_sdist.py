"""The source distribution has what the tests and the documentation need."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
NEEDED = {
    "pyproject.toml",
    "Makefile",
    "README.md",
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "LICENSE",
    "mkdocs.yml",
    "requirements-dev.lock",
    "requirements.lock",
    ".ci/run",
}
FOLDERS = ("src", "verifier", "tests", "docs", "scripts", "benchmarks", "reproduce")
PATTERNS = ("*.py", "*.md", "*.j2", "*.css", "*.js", "data/**/*.*")


def test_it_holds_everything(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [archive] = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        names = {"/".join(Path(name).parts[1:]) for name in file.getnames()}
    assert names >= NEEDED
    for folder in FOLDERS:
        found = [path for pattern in PATTERNS for path in (ROOT / folder).rglob(pattern) if path.is_file()]
        ours = {path.relative_to(ROOT).as_posix() for path in found if "__pycache__" not in path.parts}
        assert ours
        assert ours <= names, folder
    assert not {name for name in names if name.startswith((".venv", ".git/", "site/"))}
