"""How days are written."""

from __future__ import annotations

import re

import pytest

from tetraodon.domain.values import written_days
from tetraodon.errors import DomainError


@pytest.mark.parametrize(
    ("form", "text", "parts"),
    [
        ("DD.MM.YYYY", "18.01.2026", ("2026", "01", "18")),
        ("D.M.YYYY", "8.1.2026", ("2026", "1", "8")),
        ("D.M.YYYY", "18.01.2026", ("2026", "01", "18")),
        ("MM/DD/YYYY", "01/18/2026", ("2026", "01", "18")),
        ("YYYYMMDD", "20260118", ("2026", "01", "18")),
        ("DD MM YYYY", "18 01 2026", ("2026", "01", "18")),
        ("D.M.YYYY", "2026-01-18", None),
        ("DD.MM.YYYY", "8.1.2026", None),
        ("DD.MM.YYYY", "18x01x2026", None),
    ],
)
def test_a_day_is_found_in_one_way_at_most(form: str, text: str, parts: tuple[str, ...] | None) -> None:
    ways = [way for way in written_days(form) if re.fullmatch(way.pattern, text)]
    found = [tuple(text[start - 1 : start - 1 + width] for start, width in (w.year, w.month, w.day)) for w in ways]
    assert found == ([] if parts is None else [parts])


@pytest.mark.parametrize("form", ["", "DD.MM.YY", "DD.MM", "DD.DD.YYYY", "DMYYYY", "%d.%m.%Y", "DD.MM.YYYY HH"])
def test_what_is_no_format_is_refused(form: str) -> None:
    with pytest.raises(DomainError, match="Fix:"):
        written_days(form)
