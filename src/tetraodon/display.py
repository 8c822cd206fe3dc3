"""Sentences from templates, and what notebooks display in place of a value."""

from __future__ import annotations

import re
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

# -- sentences --------------------------------------------------------------------------------------


class Sentences:
    """Sentences from the macros of a Jinja template, filled with facts.

    A line break in the template and the blanks around it are one blank. A dash at the beginning of a line begins a
    sentence of its own. `names` are the functions and constants that the template may use.
    """

    BEGIN = "\x1e"
    """Begins a sentence while the template is filled in: no value that can be printed holds it."""

    def __init__(self, template: Path, **names: Any) -> None:
        self._path, self._names = template, names

    def __call__(self, macro: str, *facts: Any) -> tuple[str, ...]:
        """The sentences that a macro makes of some facts, one for each dash."""
        return tuple(map(self._on_one_line, getattr(self._macros, macro)(*facts).split(self.BEGIN)[1:]))

    def one(self, macro: str, *facts: Any) -> str:
        """The only sentence of a macro."""
        [sentence] = self(macro, *facts)
        return sentence

    def text(self, macro: str, *facts: Any) -> str:
        """All that a macro without dashes makes of some facts."""
        return self._on_one_line(getattr(self._macros, macro)(*facts))

    def raw(self, macro: str, *facts: Any) -> str:
        """The text of a macro as it is written, lines and blanks included."""
        return str(getattr(self._macros, macro)(*facts))

    @staticmethod
    def _on_one_line(text: str) -> str:
        return re.sub(r"\s*\n\s*", " ", text).strip()

    @cached_property
    def _macros(self) -> Any:
        from jinja2 import Environment, StrictUndefined  # slow to import, and most plans are not put into words

        made = Environment(undefined=StrictUndefined, autoescape=False)
        made.globals |= self._names
        return made.from_string(re.sub(r"(?m)^- ", self.BEGIN, self._path.read_text(encoding="utf-8"))).module


# -- displayed --------------------------------------------------------------------------------------


class Displayed:
    """A value that a notebook shows as HTML.

    Why  what is shown takes words and charts from rooms above the value's own. So the module that has them is named
         here, and loaded when somebody looks.
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        found: str = import_module("tetraodon.notebook").html(self)
        return found
