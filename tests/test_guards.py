"""What no module may do: catch everything, toss other coins, draw noise without a permit, charge beside the gate."""

from __future__ import annotations

import ast
import re

from tests.house import MODULES, calls, imports, path_of, room_of, syntax, taken

SEARCHES = {
    "noise/repeatable_coins.py": "repeatable dice for attacks and views that are played on made-up data",
    "certificate/known/push.py": "fixed patterns of signs for a bound from below, which is reported as such",
    "mechanism/kmeans/synopsis.py": "starts of a search over points and weights that are public by then",
    "certificate/known/sequences.py": "which of several alike sequences stands for all: any of them would do",
    "inference/graphical_model.py": "synthetic records that follow a model of published numbers",
    "mechanism/aim.py": "made-up records that follow what was told by then",
    "mechanism/kmeans/lloyd.py": "starts of a search that sees no data",
}
"""Modules that may use a seeded generator, because nothing they draw decides what is promised or released."""


def test_no_handler_catches_everything() -> None:
    for module in MODULES:
        for node in ast.walk(syntax(module)):
            if isinstance(node, ast.ExceptHandler):
                place = f"{path_of(module)} line {node.lineno}"
                caught = "" if node.type is None else ast.unparse(node.type)
                assert caught, f"a bare except: {place}"
                cleans_up = ast.unparse(node.body[-1]) == "raise"
                assert cleans_up or not re.search(r"\b(Exception|BaseException)\b", caught), place


def test_randomness_comes_from_the_coins_alone() -> None:
    for module in MODULES:
        if (path := path_of(module)) in SEARCHES:
            continue
        tree = syntax(module)
        used = {
            f"{node.value.id}.{node.attr}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        }
        names = {name for name, _ in imports(tree)}
        if room_of(module) == "pufferfish":  # made-up attackers are drawn with a generator that the caller hands over
            assert {name for name in used if name.startswith("random.")} <= {"random.Random"}, path
        else:
            assert "random" not in names, path
        assert not used & {"np.random", "numpy.random"}, path
        assert not {name for name in names if name.startswith(("numpy.random", "random."))}, path


DRAWING = {
    "tetraodon.noise": {"discrete_laplace", "discrete_gaussian"},
    "tetraodon.noise.discrete": {"discrete_laplace", "discrete_gaussian"},
    "tetraodon.noise.coins": {"system_coins"},
}
"""What draws noise without being asked for a permit."""
OWN_COINS = {
    "gate/release_transaction.py": "this is the permit",
    "views/perturbation.py": "people perturb their own record; `perturb` tosses a permit's coins",
    "views/source_noise.py": "noise from a source that the caller holds; nothing is published",
    "views/estimate.py": "samples the domain to answer from a view that is public",
}
UNCHARGED = {
    "mechanism/kmeans/estimator.py": "an estimator charges no ledger, and says so",
    "releases/simulated.py": "made-up people have no secrets",
}
"""Modules that may draw without a charge."""


def test_noise_for_data_needs_a_permit() -> None:
    free = {(home, name) for home, names in DRAWING.items() for name in names}
    for module in MODULES:
        path, room = path_of(module), room_of(module)
        if room in ("noise", "attacks"):
            continue
        assert path in OWN_COINS or not taken(module) & free, path
        if room == "gate":
            continue
        assert not {name for name in calls(module) if re.search(r"(?i)(noise|law|laplace|gaussian)\.draw$", name)}, path
        names = {name for _, name in taken(module)}
        assert path in UNCHARGED or "without_ledger" not in names, path
        assert "permit_for" not in names, path


def test_only_the_gate_charges_and_settles() -> None:
    for module in MODULES:
        if room_of(module) in ("gate", "ledger"):
            continue
        called = calls(module)
        assert not {name for name in called if name.endswith(".reserve")}, path_of(module)
        settled = {name for name in called if name.endswith((".settle", ".record_refusal"))}
        assert settled <= {"way.settle"}, path_of(module)
