"""Which room may know which: imports point downwards, hide no cycle, and stand inside functions for start-up alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house import MODULES, SOURCE, imports, path_of, room_of, syntax, taken
from tetraodon.query.kinds import KINDS

LAYERS = (
    {"database_url", "display", "errors", "lazy_names", "papers", "demo", "untrusted_files", "wording"},
    {"exact"},
    {"domain", "noise"},
    {"engine", "query"},
    {"policy"},
    {"certificate", "inference", "report"},
    {"ledger"},
    {"gate"},
    {"mechanism", "pufferfish"},
    {"releases"},
    {"views"},
    {"attacks", "notebook"},
    {"client", "editor", "queries", "research", "session"},
    {"web"},
    {"cli"},
)
NARROW = {
    "engine": {"domain", "errors", "exact", "database_url"},
    "ledger": {"certificate", "errors", "exact", "policy", "database_url"},
    "report": {"display", "domain", "errors", "exact", "policy", "wording"},
    "noise": {"errors", "exact"},
}


def rank(room: str) -> int:
    return next(number for number, layer in enumerate(LAYERS) if room in layer)


def test_every_room_has_its_place() -> None:
    rooms = {room_of(module) for module in MODULES} - {"__init__"}
    assert rooms <= set().union(*LAYERS)
    assert len(set().union(*LAYERS)) == sum(len(layer) for layer in LAYERS)


def allowed(room: str, name: str) -> bool:
    """Whether a room may import a module when it runs."""
    if name.split(".")[0] == "tetraodon_verify":
        return room == "gate"
    if not name.startswith("tetraodon"):
        return True
    other = name.removeprefix("tetraodon").removeprefix(".").split(".")[0]
    if other in ("", "__version__"):  # only what is written or shown says our version
        return rank(room) >= rank("releases")
    below = rank(other) < rank(room) or (rank(room) == rank(other) == 0)
    return other == room or (below and other in NARROW.get(room, {other}))


def test_imports_point_downwards() -> None:
    wrong = {
        (path_of(module), name)
        for module in MODULES
        if room_of(module) != "__init__"
        for name, where in imports(syntax(module))
        if where != "types" and not allowed(room_of(module), name)
    }
    assert not wrong


def test_importing_the_package_imports_nothing_else() -> None:
    at_once = {name for name, where in imports(syntax(SOURCE / "__init__.py")) if where == "module"}
    assert at_once <= {"tetraodon.lazy_names", "typing"}


def used(module: Path) -> Iterator[Path]:
    """The modules of the package that a module imports, wherever it does."""
    for home, name in taken(module):
        if home.startswith("tetraodon"):
            place = SOURCE.parent / home.replace(".", "/")
            yield from (place.with_suffix(".py"), place / "__init__.py")
            yield from (place / f"{name}.py", place / name / "__init__.py")


UNREACHED = {
    "papers.py": "every citation is resolved in test_house.py",
    "web/warm_up.py": "web/planner.py names it to the process that others are forked from",
}


def test_a_user_reaches_every_module() -> None:
    """From the command line or from `td`. What only tests need is tests/theory."""
    seen: set[Path] = set()
    waiting = [SOURCE / "__init__.py", *(SOURCE / "cli").rglob("*.py")]
    waiting += (SOURCE / "engine").glob("*_source.py")  # engine/open_table.py finds them by their names
    waiting.append(SOURCE / "notebook.py")  # display.py finds it by its name
    while waiting:
        module = waiting.pop()
        if module not in seen and module.exists():
            seen.add(module)
            waiting += used(module)
    left = {path_of(module) for module in set(MODULES) - seen if module.name != "__init__.py"}
    assert left == set(UNREACHED)


KINDS_ELSEWHERE = {
    "mechanism/aim.py": "made-up records are answered in a way of their own",
    "mechanism/kmeans/__init__.py": "clusters are answered in a way of their own",
    "releases/report.py": "clusters are drawn in a way of their own",
    "releases/answer.py": "clusters are answered in a way of their own",
}
"""Modules that name a kind of question. A new kind should need none: the rooms ask a question for its parts."""


def test_a_kind_of_question_is_known_in_its_own_file() -> None:
    kinds = {kind.__name__ for kind in KINDS}
    found = {
        path_of(module)
        for module in MODULES
        if room_of(module) != "query"
        and kinds & {name for home, name in taken(module) if home.startswith("tetraodon.query.")}
    }
    assert found == set(KINDS_ELSEWHERE)


SLOW = {
    "cryptography",
    "duckdb",
    "ibis",
    "jinja2",
    "markupsafe",
    "pandas",
    "polars",
    "psycopg",
    "py4j",
    "pyarrow",
    "pyspark",
    "scipy",
    "threadpoolctl",
    "vl_convert",
}
"""Libraries that are worth importing late: most commands do not need them, or not everybody has them."""
SLOW_MODULES = {"tetraodon.engine.duckdb_source", "tetraodon.engine.frames"}
"""Modules of ours that begin by importing one."""


def test_imports_inside_functions_are_for_start_up_alone() -> None:
    late = {
        (path_of(module), name)
        for module in MODULES
        if room_of(module) != "cli" and module.name != "__init__.py"
        for name, where in imports(syntax(module))
        if where == "function" and name.split(".")[0] not in SLOW and name not in SLOW_MODULES
    }
    assert not late


def needed_by(module: Path) -> set[Path]:
    """The modules of ours that a module imports when it runs, at its top or inside a function."""
    tree = syntax(module)
    for_types = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for child in ast.walk(node)
    }
    found: set[Path] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("tetraodon.") and id(node) not in for_types:
            home = SOURCE.joinpath(*str(node.module).split(".")[1:])
            for alias in node.names:
                whole = {home / f"{alias.name}.py", home / alias.name / "__init__.py"} & set(MODULES)
                found |= whole or {home.with_suffix(".py"), home / "__init__.py"} & set(MODULES)
    return found - {module}


def test_no_import_hides_a_cycle() -> None:
    """Over all imports of ours, those inside functions included."""
    needs = {module: needed_by(module) for module in MODULES}
    done: set[Path] = set()
    while free := {module for module, below in needs.items() if module not in done and below <= done}:
        done |= free
    assert not {path_of(module) for module in needs if module not in done}, "among these are some that need each other"
