"""Lists and numbers in words, sentences from templates, and what notebooks display in place of a value."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

# -- wording ----------------------------------------------------------------------------------------
# Lists and numbers of things in words.

THINGS = ("record", "year", "month", "week", "day", "hour", "minute", "second")
"""What is counted often: words that lose their last letter where there is one."""


def of_one(unit: str) -> str:
    """A unit as it stands after the number one, where its first word is one that we know.

    >>> of_one("hours a week"), of_one("records"), of_one("USD")
    ('hour a week', 'record', 'USD')
    """
    first, blank, rest = unit.partition(" ")
    return f"{first.removesuffix('s')}{blank}{rest}" if first.removesuffix("s") in THINGS else unit


def number_of(count: int, thing: str) -> str:
    """`1 row`, `3 rows`."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def listing(parts: Iterable[str], *, most: int = 8, word: str = "and") -> str:
    """`a, b and c`, or the first few and how many more."""
    words = list(parts)
    if len(words) > most:
        return f"{', '.join(words[:most])} {word} {len(words) - most:,} more"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {word} {words[-1]}"


def shown_number(number: float) -> str:
    """A number with as many digits as matter: `12,965`, `0.35`, `1.2e-05`.

    >>> shown_number(12964.8), shown_number(3.14159), shown_number(0.0), shown_number(25.0)
    ('12,965', '3.14', '0', '25')
    """
    if number == 0 or abs(number) >= 100 or float(number).is_integer():
        return f"{number:,.0f}"
    return f"{number:.3g}"


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
