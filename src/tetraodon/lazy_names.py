"""Public names that are fetched on first use, so that importing the package costs next to nothing."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TypeAlias

Names: TypeAlias = Mapping[str, str]
"""The names that a module defines, with blanks between them; a module that is public itself defines its own name."""


def public_names(names: Names) -> list[str]:
    """What a module calls `__all__`."""
    return sorted(_by_name(names))


def lazy_names(
    module: str, names: Names, moved: Names, namespace: dict[str, object]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """What a module calls `__getattr__` and `__dir__`: its names by their homes, and rooms that have its former names.

    Whatever is fetched is kept in the namespace, so that it is fetched once. `dir` tells the public names only.
    """
    homes, rooms = _by_name(names), _by_name(moved)

    def fetch(name: str) -> object:
        if name in rooms:
            raise AttributeError(f"{module}.{name} has moved. Fix: write tetraodon.{rooms[name]}.{name}")
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home = import_module(homes[name])
        found = home if homes[name].endswith(f".{name}") and not hasattr(home, name) else getattr(home, name)
        namespace[name] = found
        return found

    return fetch, lambda: public_names(names)


def _by_name(names: Names) -> dict[str, str]:
    return {name: home for home, together in names.items() for name in together.split()}
