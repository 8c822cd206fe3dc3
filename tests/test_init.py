"""The public names, pinned; and `import tetraodon` costs next to nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tetraodon

PINNED = [
    "ABSENT",
    "Adversary",
    "Attribute",
    "BudgetExhausted",
    "Certificate",
    "Channel",
    "Definition",
    "Domain",
    "DomainError",
    "Kronecker",
    "Ledger",
    "LedgerError",
    "NoiseError",
    "Perturbation",
    "Perturbed",
    "Plan",
    "Policy",
    "PolicyError",
    "PolicyKMeans",
    "QueryError",
    "Refused",
    "Release",
    "ReleaseError",
    "Secret",
    "SecretGraph",
    "Sensitivity",
    "TableError",
    "TetraodonError",
    "View",
    "World",
    "cdf",
    "certify",
    "compare",
    "compose",
    "count",
    "domain_count",
    "explain",
    "frapp",
    "histogram",
    "kmeans",
    "load_perturbed",
    "load_policy",
    "load_release",
    "load_view",
    "mean",
    "noise",
    "optimal_mechanism",
    "oracle",
    "pairs",
    "perturb",
    "perturbation",
    "plan",
    "plan_for_error",
    "publish",
    "quantiles",
    "ranges",
    "rectangles",
    "release",
    "scenarios",
    "sensitivity",
    "strategy",
    "total",
    "verify",
]
HEAVY = {"numpy", "duckdb", "pydantic", "sqlalchemy", "scipy", "ibis", "polars", "pandas", "sqlglot", "yaml", "rich"}


def test_the_public_names_are_pinned_and_sorted() -> None:
    assert tetraodon.__all__ == PINNED
    assert sorted(PINNED) == PINNED
    assert {*tetraodon._HOMES, *tetraodon._MODULES} == set(PINNED)
    assert set(PINNED) <= set(dir(tetraodon))


@pytest.mark.parametrize("name", PINNED)
def test_every_name_is_there_under_its_own_name(name: str) -> None:
    found = getattr(tetraodon, name)
    assert getattr(tetraodon, name) is found
    known_as = getattr(found, "__name__", name)
    assert known_as.rsplit(".", 1)[-1] == name


def test_the_type_check_sees_the_same_names() -> None:
    tree = ast.parse(Path(str(tetraodon.__file__)).read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    homes = {
        alias.name: node.module for node in checked.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    modules = {name: home.rsplit(".", 1)[0] for name, home in tetraodon._MODULES.items()}
    assert homes == tetraodon._HOMES | modules


def test_a_misspelt_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'histogramm'"):
        tetraodon.histogramm  # noqa: B018


def test_importing_loads_nothing_heavy() -> None:
    code = "import sys, tetraodon; print(' '.join(sorted({name.split('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert not HEAVY & set(done.stdout.split())
    assert "tetraodon" in done.stdout.split()
