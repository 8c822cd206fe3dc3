"""The source of the package as the house's rules read it: modules, rooms, imports, syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "tetraodon"
MODULES = sorted(SOURCE.rglob("*.py"))


def path_of(module: Path) -> str:
    return module.relative_to(SOURCE).as_posix()


def room_of(module: Path) -> str:
    return module.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def syntax(module: Path) -> ast.Module:
    return ast.parse(module.read_text(encoding="utf-8"))


def calls(module: Path) -> set[str]:
    """What a module calls, as it is written."""
    return {ast.unparse(node.func) for node in ast.walk(syntax(module)) if isinstance(node, ast.Call)}


def taken(module: Path) -> set[tuple[str, str]]:
    """Every `from HOME import NAME` as (HOME, NAME), wherever it stands."""
    return {
        (str(node.module), alias.name)
        for node in ast.walk(syntax(module))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


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
