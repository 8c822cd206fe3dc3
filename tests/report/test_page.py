"""Pages: text stays text, a value that is missing is an error, scripts and data cannot end early."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import vl_convert
from jinja2 import UndefinedError

from tetraodon.errors import ReleaseError
from tetraodon.policy.publication import NOBODY, PHRASES, Publisher
from tetraodon.report import page as home
from tetraodon.report.page import (
    FOLDER,
    PageTable,
    cache_folder,
    page_html,
    page_script,
    script,
    templates,
    vega_bundle,
)

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


# -- vega bundle -------------------------------------------------------------------------------------
# The script that draws the charts: made once, kept for its owner, and never believed when it could be another's.


@pytest.fixture
def small_bundle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """A cache of the test's own, and a bundle that costs nothing to make; how often it was made is returned."""
    made: list[str] = []

    def bundle() -> str:
        made.append("made")
        return "window.vegaEmbed = null;"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    return made


def paths() -> tuple[Path, Path]:
    (kept,) = cache_folder().glob("vega-*.js")
    return kept, kept.with_suffix(".sha256")


def test_the_bundle_is_made_once_and_kept_for_its_owner(small_bundle: list[str]) -> None:
    first = vega_bundle()
    assert vega_bundle() == first
    assert small_bundle == ["made"]
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in paths())
    assert sorted(path.name for path in cache_folder().iterdir()) == sorted(path.name for path in paths())


@pytest.mark.usefixtures("small_bundle")
def test_a_warm_cache_does_not_need_vl_convert(monkeypatch: pytest.MonkeyPatch) -> None:
    first = vega_bundle()
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert vega_bundle() == first


@pytest.mark.parametrize("damage", ["content", "digest", "no digest", "not text", "anybody may write"])
def test_a_damaged_copy_is_made_anew(damage: str, small_bundle: list[str]) -> None:
    good = vega_bundle()
    content, digest = paths()
    match damage:
        case "content":
            content.write_text("alert(1)")
        case "digest":
            digest.write_text("0" * 64)
        case "no digest":
            digest.unlink()
        case "not text":
            content.write_bytes(b"\xff\xfe")
            digest.write_text(hashlib.sha256(b"\xff\xfe").hexdigest())
        case _:
            content.chmod(0o666)
    assert vega_bundle() == good
    assert vega_bundle() == good
    assert len(small_bundle) == 2


def test_a_cache_that_cannot_be_written_costs_only_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, small_bundle: list[str]
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert vega_bundle() == vega_bundle()
    assert len(small_bundle) == 2


def test_a_full_disk_leaves_no_draft_behind(monkeypatch: pytest.MonkeyPatch, small_bundle: list[str]) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(home.os, "replace", full)
    vega_bundle()
    assert list(cache_folder().iterdir()) == []
    assert small_bundle == ["made"]


def test_a_relative_cache_folder_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/nobody")
    assert cache_folder() == Path("/nobody/.cache/tetraodon")
