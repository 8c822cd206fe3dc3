"""The rules of the house, walked and not trusted: layers, sizes, names, tests, citations, paths, names in public."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import tetraodon
from tetraodon import errors
from tetraodon.papers import PAPERS
from tetraodon.questions import KINDS

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "tetraodon"
TESTS = ROOT / "tests"
MODULES = sorted(SOURCE.rglob("*.py"))

LAYERS = (
    {
        "arrays",
        "displayed",
        "errors",
        "exponent",
        "lazy_names",
        "one_thread",
        "rational",
        "server_address",
        "whole_sums",
        "wording",
        "zcdp",
        "papers",
        "demo",
        "foreign",
    },
    {"domain", "noise"},
    {"workload", "engine"},
    {"questions"},
    {"policy"},
    {"certificate", "inference", "report"},
    {"ledger"},
    {"gate"},
    {"mechanism", "pufferfish"},
    {"releasing"},
    {"publishing"},
    {"verifying", "attacks", "notebook"},
    {"research"},
    {"cli"},
)
NARROW = {
    "engine": {"domain", "errors", "rational", "server_address", "whole_sums", "arrays"},
    "ledger": {"certificate", "errors", "policy", "rational", "server_address", "zcdp"},
    "report": {"arrays", "domain", "errors", "policy"},
    "noise": {"arrays", "errors", "rational"},
}
REPORT = "the parts of a page: tests/releasing/test_report.py and test_chart.py look at the page they make"
ORPHANS = {
    "arrays.py": "names of types: mypy reads them",
    "displayed.py": "what it shows: tests/test_notebook.py",
    "lazy_names.py": "what it makes are the public names: tests/test_init.py",
    "research.py": "names of other rooms: tests/test_init.py",
    "papers.py": "every citation is resolved below",
    "releasing/words.py": REPORT,
    "report/chart.py": REPORT,
    "report/marks.py": REPORT,
    "report/picture.py": REPORT,
    "engine/expressions.py": "its expressions are what tests/engine/test_conformance.py compares with the oracle",
}
SEARCHES = {
    "attacks/play.py": "repeatable dice for attacks that are played on made-up data",
    "certificate/known/answer_space.py": "fixed patterns of signs for a bound from below, which is reported as such",
    "certificate/known/sign_patterns.py": "fixed patterns of signs for a bound from below, which is reported as such",
    "mechanism/kmeans/centres.py": "starts of a search over points and weights that are public by then",
    "mechanism/kmeans/lloyd_steps.py": "starts of a search that sees no data",
}
"""Modules that may use a seeded generator, because nothing they draw decides what is promised or released."""


def path_of(module: Path) -> str:
    return module.relative_to(SOURCE).as_posix()


def room_of(module: Path) -> str:
    return module.relative_to(SOURCE).parts[0].removesuffix(".py")


def rank(room: str) -> int:
    return next(number for number, layer in enumerate(LAYERS) if room in layer)


def imports(tree: ast.AST, inside: str = "module") -> Iterator[tuple[str, str]]:
    """Every import as (module, where): at the top of the module, in a function, or for the type check only."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for child in node.body:
                yield from ((name, "types") for name, _ in imports(ast.Module([child], [])))
            yield from imports(ast.Module(node.orelse, []), inside)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            if node.module == "tetraodon":
                yield from ((f"tetraodon.{alias.name}", inside) for alias in node.names)
            else:
                yield str(node.module), inside
        elif isinstance(node, ast.Import):
            yield from ((alias.name, inside) for alias in node.names)
        else:
            deeper = "function" if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else inside
            yield from imports(node, deeper)


def syntax(module: Path) -> ast.Module:
    return ast.parse(module.read_text(encoding="utf-8"))


every_module = pytest.mark.parametrize("module", MODULES, ids=path_of)


# -- layers ----------------------------------------------------------------------------------------


def test_every_room_has_its_place() -> None:
    rooms = {room_of(module) for module in MODULES} - {"__init__"}
    assert rooms <= set().union(*LAYERS)
    assert len(set().union(*LAYERS)) == sum(len(layer) for layer in LAYERS)


@every_module
def test_imports_point_downwards(module: Path) -> None:
    room = room_of(module)
    if room == "__init__":
        assert {name for name, where in imports(syntax(module)) if where == "module"} <= {
            "tetraodon.lazy_names",
            "typing",
        }
        return
    for name, where in imports(syntax(module)):
        if not name.startswith("tetraodon") or where == "types":
            continue
        other = name.removeprefix("tetraodon").removeprefix(".").split(".")[0]
        if other in ("", "__version__"):
            assert rank(room) >= rank("releasing"), "only what is written or shown says our version"
            continue
        assert other == room or rank(other) < rank(room) or (rank(room) == rank(other) == 0), f"{name} is not below"
        assert other == room or other in NARROW.get(room, {other}), f"{room} may not know {other}"


def used(module: Path) -> Iterator[Path]:
    """The modules of the package that a module imports, wherever it does."""
    for node in ast.walk(syntax(module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tetraodon"):
            home = SOURCE.parent / str(node.module).replace(".", "/")
            yield from (home.with_suffix(".py"), home / "__init__.py")
            yield from (home / f"{alias.name}.py" for alias in node.names)
            yield from (home / alias.name / "__init__.py" for alias in node.names)


UNREACHED = {
    "papers.py": "every citation is resolved below",
}


def test_a_user_reaches_every_module() -> None:
    """From the command line or from `td`. What only papers and tests need is tests/theory."""
    seen: set[Path] = set()
    waiting = [SOURCE / "__init__.py", *(SOURCE / "cli").rglob("*.py")]
    waiting += (SOURCE / "engine").glob("*_source.py")  # engine/open_table.py finds them by their names
    waiting.append(SOURCE / "notebook.py")  # displayed.py finds it by its name
    while waiting:
        module = waiting.pop()
        if module not in seen and module.exists():
            seen.add(module)
            waiting += used(module)
    left = {path_of(module) for module in set(MODULES) - seen if module.name != "__init__.py"}
    assert left == set(UNREACHED)


def test_nothing_that_is_installed_needs_a_solver() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert not [name for name in project["dependencies"] if name.startswith("ortools")]
    assert not [
        path_of(module) for module in MODULES if any(n.startswith("ortools") for n, _ in imports(syntax(module)))
    ]


KNOWN_FIGURES = "figures that are known already are counts and histograms"
KINDS_ELSEWHERE = {
    "certificate/known/unlisted_domain.py": KNOWN_FIGURES,
    "mechanism/free_totals.py": KNOWN_FIGURES,
    "policy/build_known.py": KNOWN_FIGURES,
    "policy/canonical.py": KNOWN_FIGURES,
    "policy/known.py": KNOWN_FIGURES,
    "policy/table_in_words.py": KNOWN_FIGURES,
    "mechanism/kmeans/__init__.py": "clusters are answered in a way of their own",
    "releasing/chart.py": "clusters are drawn in a way of their own",
    "releasing/columns.py": "clusters are answered in a way of their own",
}
"""Modules that name a kind of question. A new kind should need none: the rooms ask a question for its parts."""


def test_a_kind_of_question_is_known_in_its_own_file() -> None:
    kinds = {kind.__name__ for kind in KINDS}
    found = set()
    for module in MODULES:
        taken = {
            alias.name
            for node in ast.walk(syntax(module))
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("tetraodon.questions")
            for alias in node.names
        }
        if room_of(module) != "questions" and taken & kinds:
            found.add(path_of(module))
    assert found == set(KINDS_ELSEWHERE)


# -- imports inside functions, and names ----------------------------------------------------------------

SLOW = {
    "cryptography",
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


@every_module
def test_imports_inside_functions_are_for_start_up_alone(module: Path) -> None:
    if room_of(module) == "cli" or module.name == "__init__.py":
        return
    late = {name.split(".")[0] for name, where in imports(syntax(module)) if where == "function"}
    assert late <= SLOW


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


def test_no_class_name_stands_for_two_things() -> None:
    homes: dict[str, list[str]] = {}
    for module in MODULES:
        for node in ast.walk(syntax(module)):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(path_of(module))
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


# -- files -----------------------------------------------------------------------------------------


@every_module
def test_a_file_can_be_read_in_one_sitting(module: Path) -> None:
    assert len(module.read_text(encoding="utf-8").splitlines()) <= 300


SAY_TOO_LITTLE = {"along", "coarse", "edge", "ladder", "later", "pending", "personal", "reach", "relation"}
SAY_TOO_LITTLE |= {"spread", "stand_in", "thin", "wide", "written"}
"""Names of files that had to be read to know what they were."""


@every_module
def test_a_file_is_named_after_its_concept(module: Path) -> None:
    forbidden = {"utils", "util", "common", "helpers", "helper", "misc", "base"} | SAY_TOO_LITTLE
    assert not forbidden & {part.removesuffix(".py") for part in module.relative_to(SOURCE).parts}


@every_module
def test_it_has_a_test_of_the_same_name(module: Path) -> None:
    path = path_of(module)
    if module.name == "__init__.py" or path in ORPHANS:
        return
    assert (TESTS / module.relative_to(SOURCE).parent / f"test_{module.name}").exists()


@pytest.mark.parametrize("path", sorted(ORPHANS))
def test_orphans_are_orphans(path: str) -> None:
    module = SOURCE / path
    assert module.exists()
    assert not (TESTS / Path(path).parent / f"test_{module.name}").exists(), "it has a test now: take it off the list"


# -- what the source must not hold ---------------------------------------------------------------------


@every_module
def test_no_handler_catches_everything(module: Path) -> None:
    for node in ast.walk(syntax(module)):
        if isinstance(node, ast.ExceptHandler):
            caught = "" if node.type is None else ast.unparse(node.type)
            assert caught, "a bare except"
            cleans_up = ast.unparse(node.body[-1]) == "raise"
            assert cleans_up or not re.search(r"\b(Exception|BaseException)\b", caught), f"line {node.lineno}"


@every_module
def test_randomness_comes_from_the_coins_alone(module: Path) -> None:
    if path_of(module) in SEARCHES:
        return
    tree = syntax(module)
    used = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    if room_of(module) == "pufferfish":  # made-up attackers are drawn with a generator that the caller hands over
        assert {name for name in used if name.startswith("random.")} <= {"random.Random"}
    else:
        assert "random" not in {name for name, _ in imports(tree)}
    assert not used & {"np.random", "numpy.random"}
    assert not {name for name, _ in imports(tree) if name.startswith(("numpy.random", "random."))}


DRAWING = {
    "tetraodon.noise": {"discrete_laplace", "discrete_gaussian"},
    "tetraodon.noise.laplace": {"discrete_laplace"},
    "tetraodon.noise.gaussian": {"discrete_gaussian"},
    "tetraodon.noise.coins": {"system_coins"},
}
"""What draws noise without being asked for a permit."""
OWN_COINS = {
    "gate/permit.py": "this is the permit",
    "publishing/perturbation.py": "anybody may replace values of their own record; `perturb` tosses a permit's coins",
    "publishing/frapp.py": "a method of others, for comparison; nothing is published",
    "publishing/source_noise.py": "noise from a source that the caller holds; nothing is published",
    "publishing/estimate.py": "samples the domain to answer from a view that is public",
}
UNCHARGED = {"mechanism/kmeans/estimator.py": "an estimator charges no ledger, and says so"}
"""Modules that may draw without a charge."""


@every_module
def test_noise_for_data_needs_a_permit(module: Path) -> None:
    path = path_of(module)
    if room_of(module) in ("noise", "attacks"):
        return
    taken = {
        (node.module, alias.name)
        for node in ast.walk(syntax(module))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    free = {(home, name) for home, names in DRAWING.items() for name in names}
    assert path in OWN_COINS or not taken & free
    called = {ast.unparse(node.func) for node in ast.walk(syntax(module)) if isinstance(node, ast.Call)}
    assert room_of(module) == "gate" or not {
        name for name in called if re.search(r"(?i)(noise|law|laplace|gaussian)\.draw$", name)
    }
    names = {name for _, name in taken}
    assert path in UNCHARGED or room_of(module) == "gate" or "without_ledger" not in names
    assert room_of(module) == "gate" or "permit_for" not in names


@every_module
def test_only_the_gate_charges_and_settles(module: Path) -> None:
    if room_of(module) in ("gate", "ledger"):
        return
    called = {ast.unparse(node.func) for node in ast.walk(syntax(module)) if isinstance(node, ast.Call)}
    assert not {name for name in called if name.endswith(".reserve")}
    assert {name for name in called if name.endswith((".settle", ".record_refusal"))} <= {"way.settle"}


@every_module
def test_citations_resolve(module: Path) -> None:
    for node in ast.walk(syntax(module)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            cited = re.findall(r"\[([A-Z][A-Za-z]*\d{2}[a-z]?)\]", node.value)
            assert set(cited) <= set(PAPERS), f"line {node.lineno}"


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
    assert set(own_errors()) <= set(tetraodon.__all__)


@pytest.mark.parametrize("name", own_errors())
def test_every_error_has_an_entry_in_the_documentation(name: str) -> None:
    page = ROOT / "docs" / "errors.md"
    assert re.search(rf"\b{name}\b", page.read_text(encoding="utf-8"))
