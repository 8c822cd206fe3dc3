"""The names and kinds of a table's columns, for a first draft of a policy. No record is looked at.

A CSV file has names and no types, so the kind of its columns is unknown: a guess from values would be a guess from
somebody's values.
"""

from __future__ import annotations

from pathlib import Path

from tetraodon.engine.column import Column, Kind
from tetraodon.engine.csv_file import CsvFormat, examine
from tetraodon.engine.open_table import ADDRESSES, CSV, local_path, opened
from tetraodon.policy.starter import UNKNOWN
from tetraodon.policy.starter import Kind as Word

_WORDS: dict[Kind, Word] = {
    Kind.INTEGER: "integer",
    Kind.WIDE: "integer",
    Kind.SINGLE: "real",
    Kind.DOUBLE: "real",
    Kind.TEXT: "text",
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "date",
    Kind.ZONED: "date",
}


def table_columns(source: str) -> tuple[list[tuple[str, Word]], list[str], list[str]]:
    """Columns that can be attributes, each with its kind, the names of those that cannot, and all names in order."""
    if not source.startswith(ADDRESSES) and (path := local_path(source)).lower().endswith(CSV):
        header = examine(Path(path), CsvFormat(), ()).header
        found = [Column(name, name, Kind.TEXT, UNKNOWN) for name in header]
    else:
        table = opened(source)
        found = list(table.columns.values())
        table.close()
    able = [(each.name, word) for each in found if each.name and (word := _word(each)) is not None]
    left_out = [each.name for each in found if not each.name or _word(each) is None]
    return able, left_out, [each.name for each in found]


def _word(found: Column) -> Word | None:
    if found.shown == UNKNOWN:
        return UNKNOWN
    if found.kind is Kind.DECIMAL:
        return "integer" if found.scale == 0 else "real"
    return _WORDS.get(found.kind)
