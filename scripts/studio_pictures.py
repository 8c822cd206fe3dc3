"""Pictures of the pages of the studio for the documentation: `python -m scripts.studio_pictures`."""

from __future__ import annotations

import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

from scripts.services import BROWSER_FLAGS, chromium
from tetraodon.web.policy_editor import PolicyEditor
from tetraodon.web.studio import Studio

PLACE = Path(__file__).parent.parent / "docs" / "img"
DEMO = (files("tetraodon.demo") / "adult.policy.yaml").read_text(encoding="utf-8")
MAP = """\
dataset: sightings
presence: public
attributes:
  north: {integer: [0, 99], unit: km}
  east: {integer: [0, 99], unit: km}
together: {metric: l2, over: [north, east], within: 8}
budget: {epsilon: 1}
"""
ERRORS = DEMO.replace("histogram: [age, sex], share: 2", "histogram: [age, sex], share: 2, error: 25")
KNOWN = DEMO.replace("known: []", "known: [{marginal: [sex]}]")
TAKEN = (
    ("columns", "columns", DEMO, "h1"),
    ("choose", "choose", ERRORS, "#q6"),
    ("secrets", "secrets", DEMO, "h1"),
    ("map", "secrets", MAP, "#map"),
    ("known", "known", KNOWN, "#published"),
    ("questions", "questions", DEMO, "h1"),
    ("budget", "budget", DEMO, "h1"),
    ("release", "release", DEMO.replace("epsilon: 1}", "epsilon: 0.5}"), "h1"),
)
"""The name of each picture, its page, the file that is looked at, and what stands at the top."""


def main() -> None:
    """Every page as a newcomer sees it."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        policy = Path(folder) / "people.policy.yaml"
        policy.write_text(DEMO, encoding="utf-8")
        studio = Studio(PolicyEditor(policy, "people.parquet", f"sqlite:///{folder}/ledger.db"))
        studio.start()
        browser = driver.chromium.launch(executable_path=chromium(), args=list(BROWSER_FLAGS))
        page = browser.new_page(viewport={"width": 1100, "height": 720})
        page.goto(studio.address)
        for name, where, text, top in TAKEN:
            studio.editor.replace(text)
            page.goto(studio.auth.pages + where)
            _settle(page, where)
            page.evaluate("top => document.querySelector(top).scrollIntoView()", top)
            page.wait_for_timeout(300)
            page.screenshot(path=PLACE / f"studio-{name}.png")
        browser.close()
        studio.close()


def _settle(page: Any, where: str) -> None:
    """Wait for what is worked out behind a page."""
    if where == "questions":
        page.locator("#could-be svg").first.wait_for()
    if where == "choose":
        page.locator("#balance", has_text="need epsilon").wait_for()
    if where == "known":
        page.locator("[data-attack]").first.click()
        page.get_by_text("What defends").wait_for()


if __name__ == "__main__":
    main()
