"""Pages in a real browser: answers on the first screen, nobody shut out, nothing fetched, nothing cut."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.releases.conftest import POLICY
from tests.releases.made import release_with
from tests.report.test_odds_map import POLICIES
from tests.services import needs_browser
from tests.views.test_publish import POLICY as VIEW

import tetraodon as td
from tetraodon.releases.report import report_html
from tetraodon.report.odds import odds_strips
from tetraodon.report.page import page_script, script, templates
from tetraodon.views import report as view_report
from tetraodon.views.exposure import Exposure
from tetraodon.views.plan import plan_view

pytestmark = needs_browser
SCREEN = {"width": 1200, "height": 900}
PAPER = 718
"""The width of a page of A4 between margins of a centimetre, in the browser's pixels."""
OFFICE = {
    "name": "Statistics Office",
    "source": "A small survey, 2026",
    "contact": "press@office.example",
    "licence": "CC BY 4.0",
}
LONG = {"dataset": "long", "attributes": {"loss": {"integer": [0, 4356], "unit": "USD"}, "sex": ["Female", "Male"]}}


def noise(shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(5).integers(-4, 5, shape)


def small(**changes: Any) -> str:
    rows = range(400)
    table = pl.DataFrame(
        {
            "age": [20 + (i * 7 + i // 11) % 10 for i in rows],
            "sex": ["Female" if i % 3 else "Male" for i in rows],
            "income": [(i % 11) / 2 for i in rows],
            "region": [["north", "south", "east"][i % 3] for i in rows],
            "loss": [i * 10 for i in rows],
        }
    )
    return report_html(release_with(td.load_policy({**POLICY, **changes}), table, noise))


def long_page() -> str:
    """A long attribute whose secrets are near each other, so that the strip has a close-up."""
    secrets = {"secrets": {"loss": {"within": 20}, "sex": "public"}, "together": "one attribute at a time"}
    item = {"name": "n", "title": "Losses above 100", "count": "loss > 100", "notes": "Only of those who reported one."}
    return small(**LONG, **secrets, release=[item, {"name": "all", "cdf": "loss", "by": "sex"}])


def view_page() -> str:
    plan = plan_view(td.load_policy({**VIEW, "publisher": OFFICE}))
    found = Exposure(named=7, right=0.95, records=0.06, new=3, new_records=0.02)
    return view_report.report_html(plan, 334, "2.31", found)


MANY = [{"name": f"n{place}", "count": f"age > {20 + place % 8}"} for place in range(14)]
GERMAN = {"publisher": {**OFFICE, "language": "de", "words": {"The numbers": "Die Zahlen", "Source": "Quelle"}}}
PAGES = {
    "survey": lambda: small(publisher=OFFICE),
    "secret presence": lambda: small(presence="secret"),
    "another language": lambda: small(**GERMAN),
    "many items": lambda: small(release=MANY),
    "long attribute": long_page,
    "view": view_page,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pages")
    for name, page in PAGES.items():
        (made / f"{name}.html").write_text(page(), encoding="utf-8")
    return made


@pytest.fixture
def opened(browser: Any, folder: Path) -> Iterator[Any]:
    """Opens a page and waits until its charts are drawn; at the end nothing may have gone wrong or been asked for."""
    contexts, asked, wrong = [], [], []

    def open_page(name: str, **options: Any) -> Any:
        contexts.append(browser.new_context(**{"viewport": SCREEN, **options}))
        page = contexts[-1].new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.goto((folder / f"{name}.html").as_uri())
        page.wait_for_function("[...document.querySelectorAll('.chart')].every(c => c.dataset.drawn)")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []
    assert {url.partition(":")[0] for url in asked} <= {"file", "data"}
    assert len(asked) == len(contexts)


# -- for everybody -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (1200, "dark"), (360, "light"), (360, "dark")])
@pytest.mark.parametrize("name", PAGES)
def test_nobody_is_shut_out(opened: Any, name: str, width: int, scheme: str) -> None:
    """No violation of any rule of axe, and nothing wider than the screen, with everything unfolded."""
    page = opened(name, viewport={"width": width, "height": 900}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert violations(page) == {}
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def violations(page: Any) -> dict[str, list[str]]:
    """The rules of axe that a page breaks, and where."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return {rule["id"]: [node["html"][:200] for node in rule["nodes"]] for rule in found}


def test_what_would_shut_somebody_out_is_noticed(opened: Any) -> None:
    page = opened("view")
    page.add_style_tag(content=":root { --soft: #d8dde3; }")
    page.evaluate("document.documentElement.removeAttribute('lang')")
    assert {"color-contrast", "html-has-lang"} <= {*violations(page)}


@pytest.mark.parametrize("name", PAGES)
def test_a_number_is_on_the_first_screen(opened: Any, name: str) -> None:
    page = opened(name)
    first = page.locator(".number, .chart svg").first.bounding_box()
    assert first["y"] + min(first["height"], 360) <= SCREEN["height"]
    assert page.locator("h1").bounding_box()["y"] < 120


def test_details_are_folded_until_somebody_asks(opened: Any) -> None:
    page = opened("survey")
    assert page.locator("details[open]").count() == 0
    page.get_by_text("On this page").first.click()
    page.locator("nav a", has_text="How to read and check it").click()
    page.locator("details#reading[open]").wait_for()
    assert page.get_by_text("tetraodon verify FOLDER").is_visible()


def test_the_office_is_named(opened: Any) -> None:
    for name in ("survey", "view"):
        page = opened(name)
        assert page.locator(".over strong").inner_text() == OFFICE["name"]
        assert page.locator(".office dd").all_inner_texts() == [OFFICE[k] for k in ("source", "contact", "licence")]
        assert page.locator(".office a").get_attribute("href") == "mailto:press@office.example"


def test_a_page_can_be_read_without_scripts(browser: Any, folder: Path) -> None:
    context = browser.new_context(java_script_enabled=False, viewport=SCREEN)
    page = context.new_page()
    page.goto((folder / "survey.html").as_uri())
    assert page.locator("#answer-ages table").is_visible()
    assert page.locator(".strip input[type=range]").first.is_hidden()
    context.close()


# -- the picture of the promise ------------------------------------------------------------------------


def test_a_chosen_value_is_moved_by_the_keyboard(opened: Any) -> None:
    page = opened("survey")
    strip = page.locator(".strip").first
    slider, words = strip.locator("input"), strip.locator(".told")
    assert strip.locator("output").inner_text() == "24"
    before = words.inner_text()
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert strip.locator("output").inner_text() == slider.get_attribute("aria-valuetext") == "25"
    assert words.inner_text() != before
    page.keyboard.press("Home")
    assert words.inner_text() == (
        "20 or 22: one step, odds move at most 2.72 times. 20 or 24: 2 steps, odds move at most 7.39 times. "
        "20 or 29: 5 steps, odds move at most 149 times."
    )
    chips = page.locator(".strip", has=page.locator("fieldset"))
    chips.locator("input").first.focus()
    assert chips.locator(".told").inner_text() == (
        "north or south: one step, odds move at most 2.72 times. north or east: not protected."
    )
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    assert chips.locator("input:checked").get_attribute("value") == "2"
    assert "east or north: not protected." in chips.locator(".told").inner_text()


def test_everything_that_acts_is_reached_by_tab(opened: Any) -> None:
    page = opened("survey")
    wanted = page.evaluate("document.querySelectorAll('a[href], summary, input[type=range], fieldset').length")
    seen = set()
    for _ in range(4 * wanted):
        page.keyboard.press("Tab")
        seen.add(
            page.evaluate(
                "(e => e.closest('fieldset') ? 'fieldset' : e.outerHTML.slice(0, 300))(document.activeElement)"
            )
        )
    found = page.evaluate(
        "[...document.querySelectorAll('a[href], summary, input[type=range]')].filter(e => e.checkVisibility())"
        ".map(e => e.outerHTML.slice(0, 300))"
    )
    assert {*found, "fieldset"} <= seen


def test_a_long_attribute_has_a_close_up(opened: Any) -> None:
    page = opened("long attribute")
    assert page.locator(".strip svg.line").count() == 2
    assert "A close-up, from 2038 to 2318 USD:" in page.locator(".strip").inner_text()
    page.locator(".strip input").focus()
    page.keyboard.press("Home")
    assert "A close-up, from 0 to 140 USD:" in page.locator(".strip").inner_text()
    assert "0 or 4356 USD: 218 steps, no protection worth the name." in page.locator(".told").inner_text()


@pytest.mark.parametrize("name", POLICIES)
def test_the_browser_counts_the_same_steps(browser: Any, name: str) -> None:
    strips = odds_strips(POLICIES[name])
    source = (
        '{% import "parts.html.j2" as parts with context %}<!doctype html><html lang="en"><title>t</title>'
        "{% for strip in strips %}{{ parts.strip(strip, loop.index) }}{% endfor %}<script>{{ code }}</script></html>"
    )
    page = browser.new_page()
    words = {"publisher": td.load_policy(POLICY).publisher, "words": {}}
    page.set_content(templates().from_string(source).render(strips=strips, code=script(page_script()), **words))
    for place, strip in enumerate(strips):
        codes = np.arange(strip.attribute.size) if strip.ruler else strip.codes
        counted = page.evaluate(
            "([place, size]) => { const strip = document.querySelectorAll('.strip')[place];"
            "const all = [...Array(size).keys()];"
            "const told = d => d === Infinity ? -1 : d;"
            "return all.map(x => all.map(y => told(strip.oddsSteps(x, y)))); }",
            [place, len(codes)],
        )
        for row, chosen in zip(counted, codes.tolist(), strict=True):
            wanted = [-1 if math.isinf(steps) else int(steps) for steps in strip.steps(chosen, codes).tolist()]
            assert row == wanted, (strip.attribute.name, chosen)
    page.close()


# -- on paper ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_cut_on_paper(opened: Any, name: str) -> None:
    """A page that was drawn for a wide screen, on the width of paper: no event tells it to draw anew."""
    page = opened(name)
    page.emulate_media(media="print")
    page.add_style_tag(content=f"body {{ width: {PAPER}px; }}")
    boxes = page.evaluate(
        "[...document.querySelectorAll('.chart svg, .strip svg, .figures, h1, .card > p')]"
        ".filter(e => e.checkVisibility()).map(e => { const b = e.getBoundingClientRect();"
        "return [b.left, b.right, b.height, e.matches('svg') && !e.hasAttribute('viewBox')]; })"
    )
    assert boxes
    for left, right, height, cut in boxes:
        assert 0 <= left < right <= PAPER
        assert height < 1000
        assert not cut
    whole = page.evaluate(
        "[...document.querySelectorAll('figure, .strip, .figures')].map(e => getComputedStyle(e).breakInside)"
    )
    assert {*whole} <= {"avoid"}
    assert page.locator("input[type=range]:visible, nav:visible").count() == 0
    assert page.pdf(format="A4", print_background=True).startswith(b"%PDF")
