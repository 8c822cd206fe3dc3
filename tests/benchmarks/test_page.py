"""Pages show what was measured, and nothing else: every block on them is the one that the results give."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import HERE, benchmarks
from benchmarks.page import BLOCK, BLOCKS, DOCS, tables, with_blocks
from benchmarks.peers.page import _short, sections
from benchmarks.picture import dots, growth

REPORT = json.loads((HERE / "results.json").read_text(encoding="utf-8"))
PAGES = sorted(path for path in DOCS.glob("*.md") if BLOCK.search(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_figures_on_other_pages_are_those_of_the_committed_results(page: Path):
    text = page.read_text(encoding="utf-8")
    assert with_blocks(text, REPORT) == text


def test_every_kind_of_block_is_on_a_page():
    found = [match["name"] for page in PAGES for match in BLOCK.finditer(page.read_text(encoding="utf-8"))]
    assert sorted(found) == sorted(BLOCKS)


def test_the_page_of_benchmarks_holds_the_committed_results():
    assert (DOCS / "benchmarks.md").read_text(encoding="utf-8").endswith(tables(REPORT))


def test_the_page_says_what_each_benchmark_measures():
    text = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    assert [name for name in benchmarks() if f"| `{name}` |" not in text] == []


def test_pictures_show_the_spread_and_the_target():
    drawn = dots([{"label": "a figure", "ratio": 2.0, "least": 1.0, "most": 4.0, "target": 3.0}])
    assert [text for text in ("<svg", "a figure", "#c0392b") if text not in drawn] == []
    row = {"name": "rows: 10 over 1", "ratio": 3.0, "detail": {"size_over_smallest": 10.0}}
    assert "rows" in growth([row, {**row, "ratio": 1.0, "detail": {"size_over_smallest": 1.0}}])


def test_the_page_of_peers_holds_the_committed_results():
    report = json.loads((HERE / "peers" / "results.json").read_text(encoding="utf-8"))
    assert (DOCS / "peers.md").read_text(encoding="utf-8").endswith(sections(report))


def test_short_comparisons_have_a_line_for_each_question_and_ours_over_the_best():
    rows = [
        {"what": "a: error, over ours", "who": who, "ratio": error / 2, "error": error, "sure": 0.1}
        for who, error in (("tetraodon", 2.0), ("ours, otherwise", 1.0), ("B", 4.0), ("C", 8.0))
    ]
    missing = {"what": "a: error, over ours", "who": "D", "ratio": None, "why": "no Java"}
    shown = "\n".join(_short("tables", [*rows, missing]))
    assert "| error | Tetraodon | ours, otherwise | B | C | D | ours / best peer |" in shown
    assert "| a | 2 ± 0.2 | 1 ± 0.2 | 4 ± 0.2 | 8 ± 0.2 | not run: no Java | 0.5 ± 0.056 |" in shown
