"""What a notebook shows in place of a value: a promise, a table, charts."""

from __future__ import annotations

from importlib import import_module


class Displayed:
    """A value that a notebook shows as HTML.

    Why  what is shown takes words and charts from rooms above the value's own. So the module that has them is named
         here, and loaded when somebody looks.
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        found: str = import_module("tetraodon.notebook").html(self)
        return found
