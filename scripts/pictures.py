"""The pictures of the documentation that show pages: the demonstration's report, as a browser draws it.

python -m scripts.pictures      makes docs/img/report.png and docs/img/promise.png again
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from typer.testing import CliRunner

from scripts.services import BROWSER_FLAGS, chromium
from tetraodon.cli.main import app

IMAGES = Path(__file__).parent.parent / "docs" / "img"
SCREEN = {"width": 1200, "height": 900}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        made = CliRunner().invoke(app, ["demo", "--out", f"{folder}/demo"])
        if made.exit_code:
            raise SystemExit(made.output)
        browser = driver.chromium.launch(executable_path=chromium(), args=list(BROWSER_FLAGS))
        page = browser.new_page(viewport=SCREEN, device_scale_factor=1.5, color_scheme="light")
        page.goto(Path(folder, "demo", "release", "report.html").as_uri())
        page.wait_for_function("[...document.querySelectorAll('.chart')].every(c => c.dataset.drawn)")
        page.screenshot(path=IMAGES / "report.png")
        page.locator(".strip").first.screenshot(path=IMAGES / "promise.png")
        browser.close()


if __name__ == "__main__":
    main()
