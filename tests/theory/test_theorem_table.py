"""The table of theorems in the documentation is the one that is computed."""

from __future__ import annotations

from pathlib import Path

from tests.theory.theorem_table import table

PAGE = Path(__file__).parents[2] / "docs" / "known-counts.md"


def test_the_page_shows_what_is_computed() -> None:
    assert table() in PAGE.read_text(encoding="utf-8")
