"""Pages that open offline, with the JavaScript that draws their charts.

Jinja2 escapes every value. Nothing is marked as safe but scripts of ours and data as JSON, and neither can end its
element.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from tetraodon.errors import ReleaseError
from tetraodon.policy.publication import NOBODY, Publisher

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


# -- vega bundle ------------------------------------------------------------------------------------
# The JavaScript that draws the charts, from vl-convert, kept in the user's cache because making it takes a second.

BUNDLE_FOLDER = "tetraodon"


def vega_bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script without any import.

    Post  what is returned is what vl-convert makes, whether or not it was kept: a copy that is damaged, or that
          somebody else could have changed, is made anew. A folder that cannot be written costs time, nothing else.
    """
    path = cache_folder() / f"vega-{version('vl-convert-python')}.js"
    kept = _kept(path)
    if kept is not None:
        return kept
    import vl_convert

    made: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its stub asks for more than it does
    _keep(path, made.encode())
    return made


def cache_folder() -> Path:
    """Where this user's programs keep what they can make again."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    return Path(root if os.path.isabs(root) else os.path.expanduser("~/.cache")) / BUNDLE_FOLDER


def _kept(path: Path) -> str | None:
    try:
        digest = _own_bytes(path.with_suffix(".sha256"))
        content = _own_bytes(path)
        if digest is None or content is None or hashlib.sha256(content).hexdigest().encode() != digest.strip():
            return None
        return content.decode()
    except (OSError, UnicodeDecodeError):
        return None


def _own_bytes(path: Path) -> bytes | None:
    """A file's content, if only its owner, who runs this process, can write it."""
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        ours = not hasattr(os, "getuid") or status.st_uid == os.getuid()
        if not ours or (os.name == "posix" and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
            return None
        return file.read()


def _keep(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _replace(path, content)
        _replace(path.with_suffix(".sha256"), hashlib.sha256(content).hexdigest().encode())
    except OSError:
        return


def _replace(path: Path, content: bytes) -> None:
    """Write a file in one step, readable by its owner only."""
    handle, draft = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(draft, path)
    except OSError:
        os.unlink(draft)
        raise


# -- page -------------------------------------------------------------------------------------------

FOLDER = Path(__file__).parent
_MAIL, _PAGE = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+"), re.compile(r"https?://[\w.-]+(/[\w./?&=%~#+-]*)?")
_ENDS_SCRIPT = re.compile("</script|<!--", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table of texts under headings, those of numbers aligned to the right. `long` tables scroll."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Sequence[bool] = ()
    long: bool = False


def page_html(template: str, codes: Sequence[str] = (), *, publisher: Publisher = NOBODY, **values: object) -> str:
    """A template of this room filled with values, as a page that loads nothing and runs only the given scripts.

    Post  no value is ever read as HTML or as a script; a name that the template needs and does not get is an error.
    """
    scripts, words = [script(code) for code in codes], dict(publisher.words)
    made = templates().get_template(template)
    return made.render(rules=_rules(codes), scripts=scripts, publisher=publisher, words=words, **values)


@cache
def templates() -> Environment:
    """The templates: every value escaped, every name wanted."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader([FOLDER / "templates", FOLDER]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.tests["an_address"] = lambda text: bool(_link(text))
    made.filters["as_link"] = _link
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return made


def script(code: str) -> Markup:
    """A script of ours. Pre: it is not made of anybody's text, and nothing in it ends a script."""
    from markupsafe import Markup

    if _ENDS_SCRIPT.search(code):
        raise ReleaseError("a script of the report cannot be put on a page", fix="upgrade tetraodon and vl-convert")
    return Markup(code)


def _link(text: str) -> str:
    """Where a text leads that is an address of mail or of a page; nothing for any other."""
    return f"mailto:{text}" if _MAIL.fullmatch(text) else text if _PAGE.fullmatch(text) else ""


def page_script() -> str:
    """The script that draws the charts and the strips of a page."""
    return "".join((FOLDER / name).read_text(encoding="utf-8") for name in ("page.js", "strips.js"))


def _rules(codes: Sequence[str]) -> str:
    """What a browser may do with the page: run these scripts, and nothing else."""
    hashes = (base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in codes)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes) or "'none'"
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"


# -- prose -------------------------------------------------------------------------------------------
# Sentences from templates: Jinja macros filled in as plain text.
