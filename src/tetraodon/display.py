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

    In the template every dash at the beginning of a line begins a sentence, on as many lines as it takes; a line break
    and the blanks around it are one blank. `names` are the functions and constants that the template may use.
    """

    BEGIN = "\x1e"
    """Begins a sentence while the template is filled in: no value that can be printed holds it."""

    def __init__(self, template: Path, **names: Any) -> None:
        self._path, self._names = template, names

    def __call__(self, macro: str, *facts: Any) -> tuple[str, ...]:
        """The sentences that a macro makes of some facts."""
        text = getattr(self._macros, macro)(*facts)
        return tuple(re.sub(r"\s*\n\s*", " ", sentence).strip() for sentence in text.split(self.BEGIN)[1:])

    def one(self, macro: str, *facts: Any) -> str:
        """The only sentence of a macro."""
        [sentence] = self(macro, *facts)
        return sentence

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
