"""What a command prints: JSON alone on standard output, or text for people; everything else on standard error."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 100
"""Columns of text where the output is not a terminal."""

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that a terminal obeys instead of showing: they move the cursor, hide text or turn it round."""


def harmless(text: str) -> str:
    """A text as it may be shown: what a terminal would obey is spelt out. Whatever we print goes through here.

    >>> print(harmless("a" + chr(27) + "[2Jb"))
    a\\x1b[2Jb
    """
    return UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def emit(document: Any) -> None:
    """Print a document as JSON."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(document, indent=2, ensure_ascii=not utf8, allow_nan=False, default=_day)
    sys.stdout.write(UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def _day(value: object) -> str:
    """Dates are the only values of an answer that JSON does not know."""
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON")


def note(text: str, *, colour: str | None = None) -> None:
    """Print a line for the person at the terminal, on standard error."""
    typer.secho(harmless(text), fg=colour, err=True)


def say(text: str = "") -> None:
    """Print text on standard output, as it is."""
    typer.echo(harmless(text))


def wrapped(text: str) -> None:
    """Print a paragraph."""
    _fill(text, "", "")


def listed(texts: Iterable[str]) -> None:
    """Print paragraphs as a list, after an empty line."""
    say()
    for text in texts:
        _fill(text, "- ", "  ")


def _fill(text: str, first: str, rest: str) -> None:
    import textwrap

    width = min(console().width, WIDTH)
    say(textwrap.fill(text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False))


def console() -> Console:
    """Rich on standard output: no markup and no highlights, for names may look like either."""
    from rich.console import Console

    return Console(markup=False, highlight=False, emoji=False, width=None if sys.stdout.isatty() else WIDTH)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Print a table; the columns named in `right` are numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns:
        shown.add_column(Text(harmless(name)), justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(Text(harmless(cell)) for cell in row))
    console().print(shown)


def heading(text: str) -> None:
    """Print a heading."""
    typer.secho(harmless(text), bold=True)


@contextmanager
def working(text: str) -> Iterator[Callable[[str], None]]:
    """A spinner on standard error while something takes its time, if somebody is watching."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(text)) as status:
        yield lambda stage: status.update(Text(stage))
