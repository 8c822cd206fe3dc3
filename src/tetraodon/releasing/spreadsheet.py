"""Cells of CSV files that a spreadsheet would run as formulas, made harmless.

A text that begins with one of = + - @, a tab or a line break, in their wide forms too, gets an apostrophe in front; so
does one that begins with apostrophes before such a character, so that taking one off always gives the text back.
Numbers stay numbers, and so do texts that consist of numbers, such as the bin `-5..0`.
"""

from __future__ import annotations

import re

RISKY = "'*[=+@\t\r\n＝＋－＠-].*"
NUMBERS = r"[+-]?[0-9]+([.,][0-9]+)?(\.\.[+-]?[0-9]+([.,][0-9]+)?)?"
"""The same patterns for Python and for DuckDB, of whole cells."""


def harmless_cell(text: str) -> str:
    """A text as a cell of a CSV file.

    >>> harmless_cell("=cmd|' /C calc'!A0"), harmless_cell("-5..0"), harmless_cell("plain")
    ("'=cmd|' /C calc'!A0", '-5..0', 'plain')
    """
    risky = re.fullmatch(RISKY, text, re.DOTALL) and not re.fullmatch(NUMBERS, text, re.ASCII)
    return f"'{text}" if risky else text


def cell_text(cell: str) -> str:
    """The text that a cell of a CSV file stands for: the inverse of `harmless_cell`.

    >>> cell_text("'=1+1"), cell_text("'tis")
    ('=1+1', "'tis")
    """
    return cell[1:] if cell.startswith("'") and re.fullmatch(RISKY, cell[1:], re.DOTALL) else cell


def harmless_sql(column: str) -> str:
    """The same rule as an expression of DuckDB over a column of text."""
    risky, numbers = (pattern.replace("'", "''") for pattern in (RISKY, NUMBERS))
    return (
        f"CASE WHEN regexp_full_match({column}, '{risky}', 's') AND NOT regexp_full_match({column}, '{numbers}') "
        f"THEN chr(39) || {column} ELSE {column} END"
    )
