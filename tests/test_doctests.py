"""Every example in the source and in the documentation runs and says what it shows."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
FOLDERS = (SOURCE / "tetraodon", ROOT / "tests" / "theory")
MODULES = sorted(
    path for folder in FOLDERS for path in folder.rglob("*.py") if re.search(r"^\s*>>> ", path.read_text("utf-8"), re.M)
)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^(?P<indent> *)```(?:python|pycon|py)\b[^\n]*\n(?P<code>.*?)^ *```", re.M | re.S)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_examples_in_the_source(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    parts = path.relative_to(SOURCE if path.is_relative_to(SOURCE) else ROOT).with_suffix("").parts
    module = importlib.import_module(".".join(part for part in parts if part != "__init__"))
    result = doctest.testmod(module)
    assert result.attempted > 0, "it has examples that doctest does not find"
    assert result.failed == 0


def test_there_are_examples() -> None:
    assert len(MODULES) > 10


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_examples_in_the_documentation(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of one page share their names and a folder, in order; one without a prompt must at least be Python."""
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {}
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for block in BLOCK.finditer(text):
        code = re.sub(rf"^{block['indent']}", "", block["code"], flags=re.M)
        line = text.count("\n", 0, block.start()) + 1
        if ">>>" in code:
            test = parser.get_doctest(code, names, name_of(page), name_of(page), line)
            runner.run(test, clear_globs=False)
            names = test.globs
        else:
            ast.parse(code, f"{name_of(page)}:{line}")
    assert runner.summarize(verbose=False).failed == 0
    outside = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    assert not re.search(r"^\s*>>> ", outside, re.M), "an example outside a ```python block would never run"
