"""The rules of the house, walked and not trusted: names, citations, paths, names in public."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

import tetraodon
from tests.house import MODULES, ROOT, SOURCE, path_of, syntax
from tetraodon import errors
from tetraodon.papers import PAPERS

# -- files -----------------------------------------------------------------------------------------


def test_a_file_is_named_after_its_concept() -> None:
    forbidden = {"utils", "util", "common", "helpers", "helper", "misc", "base"}
    parts = {part.removesuffix(".py") for module in MODULES for part in module.relative_to(SOURCE).parts}
    assert not forbidden & parts


def test_types_of_arrays_have_one_name_each() -> None:
    spelt = re.compile(r"NDArray\[np\.(int64|float64|bool_|int16)\]")
    assert {path_of(module) for module in MODULES if spelt.search(module.read_text("utf-8"))} == {"exact/arrays.py"}


# -- citations -------------------------------------------------------------------------------------


def test_citations_resolve() -> None:
    cited = {
        (key, path_of(module), node.lineno)
        for module in MODULES
        for node in ast.walk(syntax(module))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for key in re.findall(r"\[([A-Z][A-Za-z]*\d{2}[a-z]?)\]", node.value)
    }
    assert cited
    assert not {place for place in cited if place[0] not in PAPERS}


def test_every_paper_is_cited() -> None:
    text = "".join(module.read_text(encoding="utf-8") for module in MODULES)
    assert {key for key in PAPERS if f"[{key}]" not in text} <= {
        "RS07"
    }  # the definition behind [KM12], not used by itself


# -- what other files must not hold ----------------------------------------------------------------

MACHINE = re.compile(r"(?<![\w.~$}-])/(?:home|root|Users|work|opt|mnt|srv)/\w")
INDEX = re.compile(r"py(?:pi\.|thonho)|--(?:extra-)?index-url|--trusted-host|\bfind-links\b", re.IGNORECASE)
WRITTEN = ("*.py", "*.md", "*.toml", "*.lock", "*.yaml", "*.yml", "*.json", "*.cff", "*.html", "Makefile", "run")


def written_files() -> list[Path]:
    tops = [path for pattern in WRITTEN for path in ROOT.glob(pattern)]
    below = [
        path
        for folder in ("src", "tests", "docs", "benchmarks", "reproduce", "scripts", ".ci")
        for pattern in WRITTEN
        for path in (ROOT / folder).rglob(pattern)
    ]
    return [path for path in [*tops, *below] if path.resolve() != Path(__file__).resolve()]


def test_nothing_names_a_machine_or_a_package_index() -> None:
    found = []
    for path in written_files():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if MACHINE.search(line) or INDEX.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}")
    assert not found


def test_the_files_that_install_us_are_among_them() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in written_files()}
    assert {"requirements.lock", "requirements-dev.lock", "pyproject.toml", "Makefile", ".ci/run"} <= names


# -- what is public --------------------------------------------------------------------------------


def test_the_version_is_said_once() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == tetraodon.__version__


def own_errors() -> list[str]:
    return [name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)]


def test_every_error_is_public() -> None:
    assert set(own_errors()) <= set(errors.__all__)


@pytest.mark.parametrize("name", own_errors())
def test_every_error_has_an_entry_in_the_documentation(name: str) -> None:
    page = ROOT / "docs" / "errors.md"
    assert re.search(rf"\b{name}\b", page.read_text(encoding="utf-8"))
