"""Pages: text stays text, a value that is missing is an error, scripts and data cannot end early."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import vl_convert
from jinja2 import UndefinedError

from tetraodon.errors import ReleaseError
from tetraodon.report.page import FOLDER, PageTable, page_html, page_script, script, templates

ATTACK = "</script><script>alert(1)</script>"
VIEW: dict[str, Any] = {"title": "T", "sections": [("H", ["told"])], "errors": PageTable("C", ["h"], [["c"]])}


def made(source: str, **values: object) -> str:
    return templates().from_string(f'{{% import "parts.html.j2" as parts %}}{source}').render(**values)


def test_every_value_is_escaped_wherever_it_stands() -> None:
    nasty = f"\"'{ATTACK}"
    table = PageTable(nasty, [nasty], [[nasty]], [True], long=True)
    page = page_html("view.html.j2", title=nasty, sections=[(nasty, [nasty])], errors=table)
    assert ATTACK not in page
    assert page.count("alert(1)") == 8  # twice in the title, thrice in the text, caption and label and two cells
    assert "<script" not in page
    assert not re.search(r'="[^"<]*\'', page.replace("content=", ""))


def test_a_value_that_a_template_needs_is_an_error() -> None:
    for name in VIEW:
        with pytest.raises(UndefinedError):
            page_html("view.html.j2", **{other: value for other, value in VIEW.items() if other != name})


def test_numbers_are_aligned_and_long_tables_scroll() -> None:
    short = made("{{ parts.table(t) }}", t=PageTable("C", ["a", "b"], [["x", "1"]], [False, True]))
    assert '<td>x</td><td class="n">1</td>' in short
    assert 'class="scroll short"' in short
    assert 'class="scroll"' in made("{{ parts.table(t) }}", t=PageTable("C", ["a"], [["x"]], long=True))


def test_data_of_a_chart_cannot_end_its_block() -> None:
    spec = {"description": "d", "usermeta": {"caption": "c"}, "x": f"{ATTACK}<!--\u2028\u2029&'"}
    drawn = made("{{ parts.chart('a', spec) }}", spec=spec)
    (inside,) = re.findall(r'<script type="application/json" id="spec-a">(.*?)</script>', drawn)
    assert not set(inside) & set("<>&'\u2028\u2029")
    assert json.loads(inside) == spec
    with pytest.raises(ValueError, match="JSON compliant"):
        made("{{ parts.chart('a', spec) }}", spec=spec | {"x": float("nan")})


def test_scripts_cannot_end_early() -> None:
    for code in ("x = '</SCRIPT>'", "<!-- x"):
        with pytest.raises(ReleaseError, match="cannot be put on a page"):
            script(code)
    assert page_script() in page_html("view.html.j2", [page_script()], **VIEW)


def test_the_real_bundle_can_be_put_on_a_page() -> None:
    code = vl_convert.javascript_bundle()
    assert "window.vegaEmbed=" in code
    assert script(code) == code


def test_no_template_calls_a_value_safe() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (FOLDER / "templates").glob("*.j2")]
    assert len(sources) >= 4
    assert not [text for text in sources if re.search(r"\|\s*safe\b|autoescape|Markup", text)]
