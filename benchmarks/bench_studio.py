"""The studio in Chromium: from moving a slider to the certified figure, and how long a frame is drawn.

A move waits 40 ms for the next one, asks for a plan at the other epsilon, and ends when the page says that its figures
are certified; every epsilon is another one, so that no plan is kept from before. An empty request asks how a release is
getting on, when there is none. A frame is what the browser does for one move: the script, styles and layout.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml
from scripts.services import BROWSER_FLAGS, chromium

from benchmarks.edits import Document, demo, ten_attributes
from benchmarks.runs import row
from tetraodon.web.policy_editor import PolicyEditor
from tetraodon.web.studio import Studio

ALLOWED, FRAME = 0.5, 0.016
"""Seconds from a move to the certified figure, and for a frame: all but one in twenty."""
MOVES = """async moves => {
  const slider = document.getElementById("epsilon-slider"), told = document.getElementById("certified"), taken = [];
  for (let n = 0; n < moves; n += 1) {
    const start = performance.now();
    slider.value = -2 + 3 * ((n * 37) % 101 + 0.5) / 101;
    slider.dispatchEvent(new Event("input"));
    await new Promise(done => {
      const seen = () => { if (told.textContent === "Certified.") { watch.disconnect(); done(); } };
      const watch = new MutationObserver(seen);
      watch.observe(told, { childList: true });
      seen();
    });
    taken.push((performance.now() - start) / 1000);
  }
  return taken;
}"""
EMPTY = """async times => {
  const taken = [];
  for (let n = 0; n < times; n += 1) {
    const start = performance.now();
    await (await fetch("status")).json();
    taken.push((performance.now() - start) / 1000);
  }
  return taken;
}"""
FRAMES = """([inputs, frames]) => {
  const found = [...document.querySelectorAll(inputs)], taken = [];
  for (let n = 0; n < frames; n += 1) {
    const input = found[n % found.length], start = performance.now();
    input.value = +input.min + (input.max - input.min) * ((n * 37) % 101) / 100;
    input.dispatchEvent(new Event("input"));
    document.body.getBoundingClientRect();
    taken.push((performance.now() - start) / 1000);
  }
  return taken;
}"""


def long_columns() -> Document:
    """Ten columns of 10,000 values each."""
    names = [f"c{n}" for n in range(10)]
    return {
        "dataset": "long",
        "presence": "public",
        "attributes": {name: {"integer": [0, 9999]} for name in names},
        "secrets": {name: {"within": 10 * (n + 1) ** 2} for n, name in enumerate(names)},
        "budget": {"epsilon": 1},
    }


def wide_map() -> Document:
    """A map of 10,000 places."""
    return {
        "dataset": "map",
        "presence": "public",
        "attributes": {"x": {"integer": [0, 99]}, "y": {"integer": [0, 99]}},
        "together": {"metric": "l2", "over": ["x", "y"], "within": 7},
        "budget": {"epsilon": 1},
    }


def run(quick: bool) -> list[dict[str, Any]]:
    """Rows for the common report."""
    from playwright.sync_api import sync_playwright

    moves, frames = (20, 50) if quick else (100, 400)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        file = Path(folder) / "p.yaml"
        file.write_text(_text(demo()))
        studio = Studio(PolicyEditor(file, "", f"sqlite:///{folder}/ledger.db"))
        studio.start()
        browser = driver.chromium.launch(executable_path=chromium(), args=list(BROWSER_FLAGS))
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        page.goto(studio.address)

        def look(policy: Document, name: str) -> None:
            studio.editor.replace(_text(policy))
            page.goto(studio.auth.pages + name)

        for words, policy in (("the demonstration", demo()), ("ten attributes", ten_attributes())):
            look(policy, "budget")
            empty, before = page.evaluate(EMPTY, moves), time.process_time()
            taken = page.evaluate(MOVES, moves)
            slow, spent = _slow(taken), (time.process_time() - before) / moves
            detail = {"p95": slow, "median": statistics.median(taken), "empty request, p95": _slow(empty)}
            detail["processor time of a move, mean"] = spent
            name = f"slider to certified figure, {words}: 95% of {moves} within"
            rows.append(row(f"{name}, over {ALLOWED} s", slow / ALLOWED, 1.0, **detail))
            rows.append(row(f"{name}, over an empty request", slow / _slow(empty), None, **detail))
        for words, policy, name, inputs in (
            ("ten strips of 10,000 values", long_columns(), "secrets", ".strip input[type=range]"),
            ("a map of 10,000 places", wide_map(), "secrets", ".odds-map input"),
            ("curves of ten items", ten_attributes(), "budget", "#epsilon-slider"),
        ):
            look(policy, name)
            taken = page.evaluate(FRAMES, [inputs, frames])
            detail = {"p95": _slow(taken), "median": statistics.median(taken), "most": max(taken)}
            rows.append(
                row(f"a frame of {words}: 95% of {frames} within, over 16 ms", _slow(taken) / FRAME, 1.0, **detail)
            )
        browser.close()
        studio.close()
    return rows


def _text(policy: Document) -> str:
    return yaml.safe_dump(policy, sort_keys=False)


def _slow(taken: list[float]) -> float:
    return statistics.quantiles(taken, n=20)[-1]
