"""The public names, pinned; and `import tetraodon` costs next to nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import tetraodon
import tetraodon.research

PINNED = [
    "Certificate",
    "Ledger",
    "Plan",
    "Policy",
    "PolicyKMeans",
    "Release",
    "Session",
    "Verification",
    "View",
    "attacks",
    "certify",
    "check",
    "compare",
    "connect",
    "editor",
    "errors",
    "explain",
    "init",
    "joint_errors",
    "load_perturbed",
    "load_policy",
    "load_release",
    "load_view",
    "noise",
    "perturb",
    "plan",
    "plan_for_error",
    "publish",
    "pufferfish",
    "queries",
    "release",
    "reprice",
    "research",
    "sensitivity",
    "synthesize",
    "verify",
]
NAMESPACES = ("attacks", "editor", "errors", "noise", "pufferfish", "queries", "research")
MODULES = {*(f"tetraodon.{name}" for name in NAMESPACES), "tetraodon.certificate.oracle"}
"""What is public as a whole."""
HEAVY = {"numpy", "duckdb", "pydantic", "sqlalchemy", "scipy", "ibis", "polars", "pandas", "sqlglot", "yaml", "rich"}


def test_the_public_names_are_pinned_and_nothing_else_is_shown() -> None:
    assert tetraodon.__all__ == PINNED == dir(tetraodon)
    assert sorted(PINNED) == PINNED


@pytest.mark.parametrize("module", [tetraodon, tetraodon.research], ids=lambda module: str(module.__name__))
def test_every_name_is_there_under_its_own_name(module: ModuleType) -> None:
    for name in module.__all__:
        found = getattr(module, name)
        assert getattr(module, name) is found
        assert getattr(found, "__name__", name).rsplit(".", 1)[-1] == name
    assert dir(module) == module.__all__


@pytest.mark.parametrize("name", NAMESPACES)
def test_a_namespace_shows_its_own_names_alone(name: str) -> None:
    namespace = getattr(tetraodon, name)
    assert dir(namespace) == sorted(namespace.__all__)
    assert all(hasattr(namespace, one) for one in namespace.__all__)


@pytest.mark.parametrize("module", [tetraodon, tetraodon.research], ids=lambda module: str(module.__name__))
def test_the_type_check_sees_the_same_names(module: ModuleType) -> None:
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    imported = [node for node in checked.body if isinstance(node, ast.ImportFrom)]
    assert all(alias.asname == alias.name for node in imported for alias in node.names), "so it is exported"
    homes = {alias.name: str(node.module) for node in imported for alias in node.names}
    stated = {name: home for home, names in module._NAMES.items() for name in names.split()}
    assert homes == {name: home.removesuffix(f".{name}") if home in MODULES else home for name, home in stated.items()}


@pytest.mark.parametrize("name", [name for names in tetraodon._MOVED.values() for name in names.split()])
def test_a_name_that_has_moved_says_where(name: str) -> None:
    with pytest.raises(AttributeError, match=f"{name} has moved") as caught:
        getattr(tetraodon, name)
    path = str(caught.value).split("write tetraodon.")[1].split(".")
    found: object = tetraodon
    for part in path:
        found = getattr(found, part)
    assert path[-1] == name


def test_a_misspelt_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'histogramm'"):
        tetraodon.histogramm  # noqa: B018


def test_importing_loads_nothing_heavy() -> None:
    code = "import sys, tetraodon; print(' '.join(sorted({name.split('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert not HEAVY & set(done.stdout.split())
    assert "tetraodon" in done.stdout.split()
