"""Pictures of the pages of the studio for the documentation: `python -m scripts.studio_pictures`."""

from __future__ import annotations

import shutil
import tempfile
from importlib.resources import files
from pathlib import Path

from scripts.services import BROWSER_FLAGS, chromium
from tetraodon.studio.server import Studio
from tetraodon.studio.workbench import Workbench

TAKEN = ("columns", "choose", "secrets", "known", "questions", "budget", "release")
PLACE = Path(__file__).parent.parent / "docs" / "img"


def main() -> None:
    """The demonstration's policy on every page, as a newcomer sees it."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        policy = Path(folder) / "people.policy.yaml"
        shutil.copy(str(files("tetraodon.demo") / "adult.policy.yaml"), policy)
        studio = Studio(Workbench(policy, "people.parquet", f"sqlite:///{folder}/ledger.db"))
        studio.start()
        browser = driver.chromium.launch(executable_path=chromium(), args=list(BROWSER_FLAGS))
        page = browser.new_page(viewport={"width": 1100, "height": 720})
        page.goto(studio.address)
        for name in TAKEN:
            page.goto(f"http://127.0.0.1:{studio.door.port}/{name}")
            if name == "questions":
                page.locator("#could-be svg").first.wait_for()
                page.locator("#could").scroll_into_view_if_needed()
                page.mouse.wheel(0, 500)
            page.wait_for_timeout(300)
            page.screenshot(path=PLACE / f"studio-{name}.png")
        browser.close()
        studio.close()


if __name__ == "__main__":
    main()
