"""HTML that escapes by construction: text becomes safe when it becomes part of an element, and not before."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable
from typing import Any

from tetraodon.errors import ReleaseError

_ENDS_SCRIPT = re.compile("</script|<!--", re.IGNORECASE)
_VOID = frozenset({"br", "hr", "meta"})
_IN_SCRIPT = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026", 0x2028: "\\u2028", 0x2029: "\\u2029"}


class Html(str):
    """Text that is HTML already. Only this file makes it out of anything else."""

    __slots__ = ()


def escaped(text: str) -> Html:
    """Text as HTML.

    >>> escaped("a < b"), escaped(Html("<b>"))
    ('a &lt; b', '<b>')
    """
    return text if isinstance(text, Html) else Html(html.escape(text))


def element(tag: str, *children: str, **attributes: str | bool) -> Html:
    """An element around its children: text is escaped, HTML is kept. A trailing `_` saves a Python word.

    >>> element("p", "1 < 2 ", element("em", "&"), class_="note", aria_label='"')
    '<p class="note" aria-label="&quot;">1 &lt; 2 <em>&amp;</em></p>'
    """
    words = [tag]
    for name, value in attributes.items():
        word = name.rstrip("_").replace("_", "-")
        if value is True:
            words.append(word)
        elif value is not False:
            words.append(f'{word}="{html.escape(str(value))}"')
    start = f"<{' '.join(words)}>"
    return Html(start if tag in _VOID else f"{start}{''.join(map(escaped, children))}</{tag}>")


def joined(parts: Iterable[str]) -> Html:
    """Children in a row, without an element around them."""
    return Html("\n".join(map(escaped, parts)))


def script(code: str) -> Html:
    """A script of ours. Pre: it is not made of anybody's text, and nothing in it ends a script."""
    if _ENDS_SCRIPT.search(code):
        raise ReleaseError("a script of the report cannot be put on a page", fix="upgrade tetraodon and vl-convert")
    return element("script", Html(code))


def data_block(document: Any, **attributes: str | bool) -> Html:
    """Plain data for a script to read. No text in it can end the block, or mean anything but itself."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_IN_SCRIPT)
    return element("script", Html(text), type="application/json", **attributes)
