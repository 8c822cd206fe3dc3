"""Sentences from templates: Jinja macros filled in as plain text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Prose:
    """The macros of a template, by name. Line breaks in it are blanks; values are taken as they are."""

    path: Path
    words: tuple[tuple[str, Any], ...] = ()
    """What its macros may call, by name."""

    def __call__(self, macro: str, *facts: Any) -> str:
        """What a macro says of some facts."""
        return re.sub(r"\s*\n\s*", " ", getattr(self._template, macro)(*facts)).strip()

    @cached_property
    def _template(self) -> Any:
        from jinja2 import Environment, StrictUndefined  # slow to import, and most plans are not put into words

        made = Environment(undefined=StrictUndefined, autoescape=False)
        made.globals |= dict(self.words)
        return made.from_string(self.path.read_text(encoding="utf-8")).module
