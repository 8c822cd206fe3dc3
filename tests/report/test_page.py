"""Pages: text stays text, a value that is missing is an error, scripts and data cannot end early."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import vl_convert
from jinja2 import UndefinedError

from tetraodon.errors import ReleaseError
from tetraodon.policy.publication import NOBODY, PHRASES, Publisher
from tetraodon.report.page import FOLDER, PageTable, page_html, page_script, script, templates

ATTACK = "</script><script>alert(1)</script>"
VIEW: dict[str, Any] = {
    "title": "T",
    "lede": "lede",
    "figures": [{"label": "L", "number": "1", "unit": "row", "sure": "sure"}],
    "off": ["off"],
    "errors": PageTable("C", ["h"], [["c"]]),
    "beliefs": [{"words": "before", "percent": "3"}],
    "promise": ["promised"],
    "exposed": ["exposed"],
    "folded": [("What it costs", ["told"])],
}


def made(source: str, **values: object) -> str:
    whole = f'{{% import "parts.html.j2" as parts with context %}}{source}'
    return templates().from_string(whole).render(publisher=NOBODY, words={}, **values)


def test_every_value_is_escaped_wherever_it_stands() -> None:
    nasty = f"\"'{ATTACK}"
    values = VIEW | {
        "title": nasty,
        "figures": [dict.fromkeys(("label", "number", "unit", "sure"), nasty)],
        "errors": PageTable(nasty, [nasty], [[nasty]], [True], long=True),
        "beliefs": [{"words": nasty, "percent": nasty}],
        "folded": [("What it costs", [nasty])],
    }
    office = Publisher(
        name=nasty, source=nasty, contact=nasty, licence=nasty, language="de", words={"What it costs": nasty}
    )
    page = page_html("view.html.j2", publisher=office, **values)
    assert ATTACK not in page
    assert page.count("alert(1)") == 19
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


# -- the office's words --------------------------------------------------------------------------------


def test_every_phrase_of_a_template_may_be_said_in_another_language() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in (FOLDER / "templates").glob("*.j2"))
    said = {*re.findall(r'(?:say|folded)\("([^"]+)"', sources)}
    assert said <= {*PHRASES}
    elsewhere = {"Source", "Contact", "Licence", "How it was chosen", "How to count with it", "What it costs"}
    assert {phrase for phrase in PHRASES if len(phrase) < 60} == said | elsewhere


def test_a_page_is_in_the_language_of_the_office_and_says_where_it_is_not() -> None:
    office = Publisher(name="Amt", source="Erhebung", language="de", words={"Source": "Quelle"})
    page = page_html("view.html.j2", publisher=office, **VIEW)
    assert '<html lang="de">' in page
    assert "<dt>Quelle</dt><dd>Erhebung</dd>" in page
    assert '<h2><span lang="en">What it promises</span></h2>' in page
    assert '<p lang="en">promised</p>' in page
    ours = page_html("view.html.j2", publisher=Publisher(source="Survey"), **VIEW)
    assert '<html lang="en">' in ours
    assert "<dt>Source</dt><dd>Survey</dd>" in ours
    assert ours.count("lang=") == 1


@pytest.mark.parametrize(
    ("told", "leads"),
    [
        ("press@office.example", "mailto:press@office.example"),
        ("https://office.example/data?year=2026", "https://office.example/data?year=2026"),
        ("Press office, 12 High Street", ""),
        ("javascript:alert(1)", ""),
        ('https://office.example/"onclick=x', ""),
        ("a@b", ""),
    ],
)
def test_addresses_lead_somewhere_and_nothing_else_does(told: str, leads: str) -> None:
    page = page_html("view.html.j2", publisher=Publisher(contact=told), **VIEW)
    assert re.findall('href="([^"]*)"', page) == [leads] * bool(leads)
