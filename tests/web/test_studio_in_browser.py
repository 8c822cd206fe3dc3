"""The studio in a real browser: by keyboard alone, for everybody, and asking nothing of any other machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.report.test_in_browser import violations
from tests.services import needs_browser
from tests.web.studio_fixtures import MAPPED, POLICY

import tetraodon as td
from tetraodon.policy.draft import init
from tetraodon.web.policy_editor import PolicyEditor
from tetraodon.web.studio import PAGES, Studio
from tetraodon.web.studio_figures import BeliefAllowed

pytestmark = needs_browser


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    """Opens a studio; at the end nothing may have gone wrong, and nobody else been asked for anything."""
    contexts, asked, wrong = [], [], []

    def enter(studio: Studio, **options: Any) -> Any:
        contexts.append(browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options}))
        page = contexts[-1].new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.goto(studio.address)
        return page

    yield enter
    for context in contexts:
        context.close()
    assert wrong == []
    assert all(url.startswith(("http://127.0.0.1:", "data:")) for url in asked)


def go(page: Any, name: str) -> None:
    page.goto(page.url.rpartition("/")[0] + f"/{name}")


@pytest.mark.parametrize(("width", "scheme"), [(1800, "light"), (360, "dark")])
def test_nobody_is_shut_out(studio: Studio, visit: Any, width: int, scheme: str) -> None:
    page = visit(studio, viewport={"width": width, "height": 900}, color_scheme=scheme)
    for name in PAGES:
        go(page, name)
        if name == "questions":
            page.locator("#could-be figure").first.wait_for()
        assert violations(page) == {}, name
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name


def test_the_file_is_shown_next_to_the_page_and_can_be_edited(studio: Studio, visit: Any) -> None:
    page = visit(studio, viewport={"width": 1800, "height": 900})
    go(page, "budget")
    beside = page.locator("#beside")
    assert beside.input_value() == POLICY
    beside.fill(POLICY.replace("epsilon: 1}", "epsilon: 2}  # so agreed"))
    page.locator("aside").get_by_role("button", name="Save the file").press("Enter")
    page.locator("#epsilon").and_(page.locator("[value='2']")).wait_for()
    assert studio.editor.path.read_text() == POLICY.replace("epsilon: 1}", "epsilon: 2}  # so agreed")


def test_the_picture_follows_the_slider_and_nothing_is_saved_until_asked(studio: Studio, visit: Any) -> None:
    page = visit(studio)
    before = studio.editor.text
    go(page, "secrets")
    section = page.locator("section.secret").first
    section.locator("input[name=within]").focus()
    page.keyboard.press("ArrowRight")
    section.locator(".told", has_text="39 or 33 years: one step").wait_for()
    assert section.locator("form output").inner_text() == "6"
    assert studio.editor.text == before
    go(page, "budget")
    page.locator("#epsilon-slider").focus()
    for _ in range(30):
        page.keyboard.press("ArrowLeft")
    page.locator("#guess", has_text="at most 63").wait_for()
    page.locator("#certified", has_text="Certified.").wait_for()
    found = td.plan(before, epsilon=page.locator("#epsilon").input_value())
    told = page.locator("[data-item=ages] td").first.inner_text()
    assert told.startswith(f"±{found['ages'].expected_error:.3g}")
    assert studio.editor.text == before


# -- maps, blocks and arcs, by dragging and by keys ------------------------------------------------------------


def test_the_map_counts_steps_as_the_promise_does(studio: Studio, visit: Any) -> None:
    page = visit(studio)
    for metric, within in (("l2", "3"), ("l1", "2.5"), ("linf", "1"), ("l1", "0.5"), ("great circle km", "150")):
        text = MAPPED.replace("metric: l2", f"metric: {metric}").replace("within: 3}", f"within: {within}}}")
        studio.editor.replace(text)
        go(page, "secrets")
        drawn = td.editor.picture(text, "north", "east")
        rows, columns = (codes.ravel() for codes in np.meshgrid(np.arange(40), np.arange(21), indexing="ij"))
        for chosen in ((0, 0), (17, 9)):
            found = page.evaluate(
                "([at, rows, columns]) => { const map = document.querySelector('.odds-map');"
                " return rows.map((row, n) => { const s = map.oddsSteps(at, row, columns[n]);"
                " return s === Infinity ? -1 : s; }); }",
                [chosen, rows.tolist(), columns.tolist()],
            )
            meant = drawn.steps(chosen, rows, columns)
            assert found == [-1 if away == np.inf else away for away in meant.tolist()]


def test_places_are_chosen_and_secrets_stretched_on_a_map(studio: Studio, visit: Any) -> None:
    studio.editor.replace(MAPPED)
    page = visit(studio)
    go(page, "secrets")
    canvas, told = page.locator(".odds-map canvas"), page.locator(".odds-map .told")
    canvas.scroll_into_view_if_needed()
    page.locator("[data-axis='0']").focus()
    page.keyboard.press("ArrowRight")
    assert told.inner_text().startswith("north 20, east")
    box = canvas.bounding_box()

    def at(east: float, north: float) -> tuple[float, float]:
        return box["x"] + (east + 0.5) / 21 * box["width"], box["y"] + box["height"] - (north + 0.5) / 40 * box[
            "height"
        ]

    page.mouse.move(*at(4, 10))
    page.mouse.down()
    page.mouse.move(*at(6, 12))
    page.mouse.up()
    assert told.inner_text().startswith("north 12, east 6.0: one step")  # 3.0 is chosen, and 3 to the right of it
    page.mouse.move(*at(6 + 6, 12))
    page.mouse.down()
    page.mouse.move(*at(6 + 8, 12))
    page.mouse.up()
    assert page.locator(".joint [name=within]").input_value() == "4"
    page.locator(".odds-map .told", has_text="north 12, east 7.0: one step").wait_for()
    page.locator(".joint form button").click()
    assert studio.editor.text == MAPPED.replace("within: 3}", "within: 4}")


def test_blocks_are_made_by_dragging_and_by_keys(studio: Studio, visit: Any) -> None:
    studio.editor.replace(MAPPED)
    page = visit(studio)
    go(page, "secrets")
    words = page.locator("section.secret", has=page.locator("h2", has_text="area"))
    words.get_by_role("button", name="s", exact=True).focus()
    page.keyboard.press("ArrowRight")
    assert words.locator("textarea").input_value() == 'n\n"e, far", w, s'
    assert page.evaluate("document.activeElement.textContent") == "s"
    words.locator("[aria-live]", has_text="s is in block 2 of 2.").first.wait_for(state="attached")
    words.get_by_role("button", name="e, far").drag_to(words.locator(".block.new"))
    assert words.locator("textarea").input_value() == 'n\nw, s\n"e, far"'
    words.locator(".told", has_text="n or w: not protected").wait_for()
    words.get_by_role("button", name="Save area").click()
    assert studio.editor.text == MAPPED.replace('[[n, s], ["e, far", w]]', "[[n], [w, s], ['e, far']]")
    numbers = page.locator("section.secret", has=page.locator("h2", has_text="age"))
    border = numbers.get_by_role("slider", name="The end of block 1")
    border.focus()
    page.keyboard.press("ArrowRight")
    assert numbers.locator("textarea").input_value() == "20, 30\n31, 59"
    box, ruler = border.bounding_box(), numbers.locator(".ruler").bounding_box()
    page.mouse.move(box["x"] + 4, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(ruler["x"] + ruler["width"] / 2, box["y"] + 20)
    page.mouse.up()
    assert numbers.locator("textarea").input_value() == "20, 39\n40, 59"
    numbers.get_by_role("button", name="One block more").click()
    assert numbers.locator("textarea").input_value() == "20, 29\n30, 39\n40, 59"
    border.focus()
    page.keyboard.press("Delete")
    assert numbers.locator("textarea").input_value() == "20, 39\n40, 59"
    assert violations(page) == {}


def test_arcs_are_stretched_and_values_chosen_by_dragging(studio: Studio, visit: Any) -> None:
    page = visit(studio)
    go(page, "secrets")
    section = page.locator("section.secret").first
    line, end = section.locator(".drawn"), section.locator(".end").last
    box = line.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 12 + (box["width"] - 24) * 10.5 / 40, box["y"] + 60)
    page.mouse.up()
    assert section.locator(".strip output").inner_text() == "30 years"
    box = end.bounding_box()
    page.mouse.move(box["x"] + 6, box["y"] + 6)
    page.mouse.down()
    page.mouse.move(box["x"] + 6 + 3 * (line.bounding_box()["width"] - 24) / 40, box["y"] + 6)
    assert section.locator("form output").inner_text() == "8"  # at once
    page.mouse.up()
    section.locator(".told", has_text="30 or 22 years: one step").wait_for()
    assert section.locator(".strip output").inner_text() == "30 years"
    section.get_by_role("button", name="Save age").click()
    assert studio.editor.text == POLICY.replace("within: 5", "within: 8")


# -- errors, releases that could be, and others who write the file -----------------------------------------------


def test_an_error_is_dragged_and_epsilon_follows(studio: Studio, visit: Any) -> None:
    page = visit(studio)
    go(page, "budget")
    assert page.locator("#hundred .right").count() == 74
    before = td.plan(POLICY)["ages"].expected_error
    page.locator("[data-item=ages] .off").focus()
    for _ in range(3):
        page.keyboard.press("PageUp")
    page.locator("#certified", has_text="Being certified.").wait_for(state="detached")
    epsilon = page.locator("#epsilon").input_value()
    after = td.plan(POLICY, epsilon=epsilon)["ages"].expected_error
    assert float(epsilon) < 1
    assert after > before
    page.locator("[data-item=ages] td", has_text=f"±{after:.3g} records").wait_for()
    assert page.locator("#hundred .right").count() < 74
    handle = page.locator("[data-handle=ages]").bounding_box()
    page.mouse.move(handle["x"] + 7, handle["y"] + 7)
    page.mouse.down()
    page.mouse.move(handle["x"] + 7, handle["y"] + 67)
    page.mouse.up()
    assert float(page.locator("#epsilon").input_value()) > float(epsilon)
    assert page.locator("[data-item=sexes] .off").count() == 0  # it is exact
    page.get_by_role("button", name="Save epsilon").click()
    assert float(td.load_policy(studio.editor.path).epsilon) > float(epsilon)


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_releases_that_could_be_are_drawn_anew_until_paused(studio: Studio, visit: Any, motion: str) -> None:
    page = visit(studio, reduced_motion=motion)
    go(page, "questions")
    caption = page.locator("#could-be figcaption").first
    caption.wait_for()
    first, pause = caption.inner_text(), page.locator("#pause")
    assert pause.get_attribute("aria-pressed") == str(motion == "reduce").lower()
    if motion == "reduce":
        page.locator("#could-be summary").first.click()
        assert page.locator("#could-be tbody").first.locator("tr").count() == 40
        assert violations(page) == {}
        return
    page.wait_for_function(  # forty noisy numbers are never twice the same
        "first => document.querySelector('#could-be path').getAttribute('d') !== first",
        arg=page.locator("#could-be path").first.get_attribute("d"),
    )
    pause.press("Enter")
    assert pause.get_attribute("aria-pressed") == "true"
    assert first.startswith("ages: the dashes are the made-up truth.")


def test_a_change_by_another_program_is_shown_on_an_open_page(studio: Studio, visit: Any) -> None:
    page = visit(studio)
    go(page, "choose")
    studio.editor.path.write_text(POLICY.replace("epsilon: 1", "epsilon: 2"))
    page.get_by_role("link", name="See what is different.").click()
    page.locator("pre", has_text="+budget: {epsilon: 2}").wait_for()
    page.get_by_role("button", name="Take the file's text").press("Enter")
    page.locator("#balance", has_text="The file allows epsilon 2.").wait_for()


def test_beliefs_say_what_they_allow_and_attacks_are_played(studio: Studio, visit: Any) -> None:
    page = visit(studio)
    go(page, "choose")
    page.locator("#belief [name=after]").focus()
    page.keyboard.press("ArrowRight")
    allowed = BeliefAllowed.read("10", "26", "1", "1").allowed_text
    page.locator("#follows", has_text=f"allows epsilon {allowed} for each").wait_for()
    page.locator("#belief [name=before]").focus()
    for _ in range(3):
        page.keyboard.press("PageUp")  # it pushes the other one on
    assert int(page.locator("#belief [name=after]").input_value()) > int(
        page.locator("#belief [name=before]").input_value()
    )
    go(page, "known")
    page.get_by_role("button", name="Play: Restricted").press("Enter")
    page.get_by_text("What defends").wait_for()
    assert violations(page) == {}


# -- from a draft to a release, by keyboard alone ----------------------------------------------------------


def reach(page: Any, selector: str) -> None:
    """Press Tab until something has the focus."""
    for _ in range(300):
        page.keyboard.press("Tab")
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
    raise AssertionError(f"nobody gets to {selector} by Tab")


def type_into(page: Any, selector: str, text: str) -> None:
    reach(page, selector)
    page.keyboard.press("Control+A")
    page.keyboard.type(text)


def follow(page: Any, name: str) -> None:
    with page.expect_navigation():
        reach(page, f"a[href='{name}']")
        page.keyboard.press("Enter")


def press_enter(page: Any) -> None:
    with page.expect_navigation():
        page.keyboard.press("Enter")


def test_from_a_draft_to_a_release_that_verifies(tmp_path: Path, visit: Any) -> None:
    table, policy = tmp_path / "people.csv", tmp_path / "people.policy.yaml"
    pl.DataFrame({"age": [20 + i % 40 for i in range(200)], "sex": ["Female", "Male"] * 100}).write_csv(table)
    init(str(table)).write(policy)
    studio = Studio(PolicyEditor(policy, str(table), f"sqlite:///{tmp_path / 'ledger.db'}"))
    studio.start()
    try:
        page = visit(studio)
        form = "section:nth-of-type(1) form"
        reach(page, f"{form} select")
        page.keyboard.type("integer")
        type_into(page, f"{form} [name=low]", "0")
        type_into(page, f"{form} [name=high]", "99")
        press_enter(page)
        form = "section:nth-of-type(2) form"
        reach(page, f"{form} select")
        page.keyboard.type("categories")
        type_into(page, f"{form} [name=values]", "Female, Male")
        reach(page, f"{form} [name=other]")
        page.keyboard.press("Control+A")
        page.keyboard.press("Delete")
        press_enter(page)
        follow(page, "secrets")
        reach(page, "section:nth-of-type(1) [type=radio]")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        type_into(page, "section:nth-of-type(1) [name=reason]", "neighbours know about how old people are")
        press_enter(page)
        follow(page, "questions")
        type_into(page, "[action='question'] [name=name]", "ages")
        reach(page, "[name=about][value=age]")
        page.keyboard.press("Space")
        reach(page, "[action='question'] button")
        press_enter(page)
        follow(page, "release")
        assert td.load_policy(policy).items[-1].name == "ages"
        name = td.load_policy(policy).dataset
        type_into(page, "[name=total]", "2")
        type_into(page, "[name=confirm]", name)
        press_enter(page)
        type_into(page, "[name=out]", "from-the-studio")
        type_into(page, "[name=confirm]", name)
        press_enter(page)
        page.get_by_text("Released.").wait_for(timeout=120_000)
        reach(page, "a[href='report']")
        page.goto("about:blank")
    finally:
        studio.close()
    text = policy.read_text()
    assert "# neighbours know about how old people are" in text
    assert "in full years; for example [0, 120]" in text  # the draft's own comment
    td.verify(tmp_path / "from-the-studio")
