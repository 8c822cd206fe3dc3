"""The server's pages in a real browser: a data set from its proposal to the audit, in light and dark, for everybody."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import yaml
from tests.report.test_in_browser import violations
from tests.services import needs_browser
from tests.web.conftest import POLICY, World

pytestmark = needs_browser
HOSTILE = "<img src=x onerror=alert(1)>\"'&{{ 7*7 }}"
PASSWORD = "correct horse battery"
PICTURES: Path | None = None
"""A folder for screenshots, if somebody wants to look at them."""


class Guest:
    """Somebody at a browser of their own, signed in on the page."""

    def __init__(self, browser: Any, world: World, name: str) -> None:
        self.wrong: list[str] = []
        self.name, self.origin = name, world.origin
        self.page = browser.new_context(viewport={"width": 1000, "height": 800}).new_page()
        self.page.on("dialog", lambda dialog: self.wrong.append(dialog.message))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda asked: asked.url.startswith(world.origin) or self.wrong.append(asked.url))
        self.go("/")
        self.filled(name=name, password=PASSWORD)
        self.pressed("Sign in")
        assert self.page.locator(".state").inner_text().startswith(f"{name}, ")

    def go(self, path: str) -> None:
        self.page.goto(f"{self.origin}{path}")

    def filled(self, **fields: str) -> None:
        for name, text in fields.items():
            self.page.locator(f"[name={name}]").fill(text)

    def pressed(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).press("Enter")
        self.page.wait_for_load_state()

    def read(self, *words: str) -> None:
        """The page says these words."""
        said = self.page.locator("main").inner_text()
        assert all(word in said for word in words), said

    def looked(self, name: str, *words: str) -> None:
        """And shuts nobody out: in light and dark, on a wide and on a narrow screen."""
        self.read(*words)
        for scheme, width in (("light", 1000), ("dark", 360)):
            self.page.emulate_media(color_scheme=scheme)
            self.page.set_viewport_size({"width": width, "height": 800})
            if PICTURES is not None:
                self.page.screenshot(path=PICTURES / f"{name}-{scheme}.png", full_page=True)
            assert violations(self.page) == {}, (name, scheme)
            assert self.page.evaluate("document.documentElement.scrollWidth") <= width, name


def test_a_data_set_from_its_proposal_to_the_audit(browser: Any, world: World) -> None:
    """On every page, names that would be code stay names."""
    for name in ("carl", "cora", "ann", "otto", "root"):
        world.context.accounts.change("test", name, password=PASSWORD)
    pl.read_csv(world.table).rename({"sex": HOSTILE}).write_csv(world.table)
    attributes = {"age": POLICY["attributes"]["age"], HOSTILE: ["Female", "Male"]}
    written = yaml.safe_dump(POLICY | {"attributes": attributes, "secrets": {"age": {"within": 5}}})
    carl, cora, ann, otto = (Guest(browser, world, name) for name in ("carl", "cora", "ann", "otto"))
    cora.pressed("Sign out")
    cora.looked("sign-in")
    cora = Guest(browser, world, "cora")
    carl.filled(policy=written, total=HOSTILE, rows="1000", curators="cora")
    carl.pressed("Propose")
    carl.looked("refused", "Not done.")
    assert carl.page.locator("[name=total]").input_value() == HOSTILE
    carl.filled(total="3")
    carl.pressed("Propose")
    carl.read("Proposed by carl", HOSTILE)
    cora.go("/datasets/people")
    cora.pressed("Open it")
    cora.filled(user="ann", amount="2", expires="2099-01-01")
    cora.pressed("Allot")
    cora.read("2099-01-01", "3 is left")

    ann.go("/datasets")
    ann.read("people")
    ann.page.get_by_role("link", name="people").click()
    ann.filled(items=f"- {{name: ages, histogram: age}}\n- {{name: others, histogram: {json.dumps(HOSTILE)}}}")
    ann.filled(epsilon="0.5", purpose=HOSTILE)
    ann.pressed("Plan")
    ann.looked("planned", HOSTILE, "charged epsilon 0.5, and fits")
    ann.pressed("Ask for the release")
    ann.read(HOSTILE, "waiting")
    carl.go("/requests")
    carl.looked("approving", HOSTILE, "Asked by ann")
    carl.pressed("Approve")
    assert world.worker().step()
    world.clock.ahead += 10
    ann.go("/requests")
    ann.read("done")
    ann.page.get_by_role("link", name="The report").click()
    ann.page.get_by_text("Random noise protects").wait_for()
    assert HOSTILE in ann.page.locator("body").inner_text()
    carl.go("/datasets/people")
    carl.looked("history", "2.5 left", "opened 20", "ann")
    line = carl.page.locator("polyline").bounding_box()
    assert line["width"] > 200
    ann.go("/account")
    ann.filled(label=HOSTILE)
    ann.pressed("Make a token")
    ann.looked("token", "Your new token", "td_", HOSTILE)
    root = Guest(browser, world, "root")
    root.looked("accounts", "Accounts", "otto")
    otto.go("/audit")
    otto.looked("audit", "proposed", "opened", "allotted", "requested", "approved", "released")
    assert [guest.wrong for guest in (carl, cora, ann, otto, root)] == [[]] * 5
