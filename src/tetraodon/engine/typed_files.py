"""Tables in files of spreadsheets (Excel, OpenDocument) and of statistics packages (SPSS, Stata, SAS).

They are read into memory by libraries that the extra `files` brings. In a spreadsheet every cell has a type of its own,
so each column is text, as in a CSV file: no record decides how another is read. Columns of statistics packages have
types. Labels of values are left alone: what is stored is what the policy lists, 1 and 2, say, and not their labels.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from tetraodon.engine.column import require
from tetraodon.engine.duckdb_source import use_frame
from tetraodon.engine.duckdb_table import DuckDBTable
from tetraodon.errors import DataRefusal, TableError, did_you_mean

SHEET = re.compile(r"(?P<file>.+?\.(?:xlsx|xlsm|xlsb|xls|ods))(?:#(?P<sheet>.*))?", re.IGNORECASE | re.DOTALL)
READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
"""How the names of files of SPSS, Stata and SAS end, and what of pyreadstat reads them."""
MOMENTS = re.compile(r"%-?tc|DATETIME|E8601DT|IS8601DT|B8601DT|YMDHMS|MDYAMPM", re.IGNORECASE)
DAYS = re.compile(r"%-?td|%-?d|[AEJS]?DATE|MMDDYY|DDMMYY|YYMMDD|E8601DA|B8601DA|IS8601DA", re.IGNORECASE)
TIMES = re.compile(r"TIME|DTIME|HHMM|E8601TM", re.IGNORECASE)
"""How formats begin that show moments, days and times of day in these packages."""


def use_sheet(table: DuckDBTable, path: Path, sheet: str, wanted: Collection[str]) -> None:
    """A sheet of a spreadsheet, its first row the header; the sheet may be left out where there is one only."""
    calamine = _library("python_calamine")
    names: list[str] | None = None
    rows: list[list[Any]] | None = None
    place = str(_existing(path))
    with suppress(calamine.CalamineError, OSError, ValueError):  # ours are raised outside: theirs may quote the file
        names = list(calamine.CalamineWorkbook.from_path(place).sheet_names)
    if names is not None:
        chosen = _sheet(names, sheet, path)
        with suppress(calamine.CalamineError, OSError, ValueError):
            rows = calamine.CalamineWorkbook.from_path(place).get_sheet_by_name(chosen).to_python()
    if rows is None:
        fix = "check that it opens without a password"
        raise DataRefusal("the spreadsheet cannot be read", fix=fix, where=path.name)
    header = [_text(cell) or "" for cell in rows[0]] if rows else []
    _use(table, header, [[_text(cell) for cell in row] for row in rows[1:]], wanted, path)


def _sheet(names: Sequence[str], asked: str, path: Path) -> str:
    """The sheet that is meant."""
    if asked in names or (not asked and len(names) == 1):
        return asked or names[0]
    what = f"there is no sheet {asked!r}" if asked else "the file has several sheets"
    fix = did_you_mean(asked, names) if asked else f"add #sheet to the path; {did_you_mean('', names)}"
    raise TableError(what, fix=fix, where=path.name)


def _use(
    table: DuckDBTable, header: Sequence[str], rows: Sequence[Sequence[str | None]], wanted: Collection[str], path: Path
) -> None:
    import pyarrow

    if not any(header):
        raise TableError("the sheet has no header", fix="write the columns' names in its first row", where=path.name)
    for title in wanted:
        if title not in header:  # its own names are not told: the first row may be a record
            fix = "write the columns' names in its first row, spelt as in the policy"
            raise TableError(f"the sheet has no column {title!r}", fix=fix, where=path.name)
    columns: dict[str, Any] = {}
    for place, title in enumerate(header):
        if title and title in columns:
            raise TableError("two columns of the sheet have the same name", fix="give each its own", where=path.name)
        if title:
            columns[title] = pyarrow.array([row[place] for row in rows], pyarrow.string())
    use_frame(table, pyarrow.table(columns))


def _text(cell: Any) -> str | None:
    """A cell as the text that a CSV file would have.

    >>> [_text(cell) for cell in (3.0, 0.1, True, "", " a", dt.datetime(2026, 1, 31), dt.date(2026, 1, 31))]
    ['3', '0.1', 'true', None, ' a', '2026-01-31', '2026-01-31']
    """
    match cell:
        case "" | None:
            return None
        case bool():
            return "true" if cell else "false"
        case float() if cell.is_integer() and abs(cell) < 2**53:
            return str(int(cell))
        case dt.datetime() if cell.time() == dt.time():
            return cell.date().isoformat()
        case _:
            return str(cell)


def use_package_file(table: DuckDBTable, path: Path, wanted: Collection[str]) -> None:
    """A file of SPSS, Stata or SAS. Values that its owner calls missing are missing."""
    import pyarrow

    pyreadstat = _library("pyreadstat")
    place, read = str(_existing(path)), getattr(pyreadstat, READERS[path.suffix.lower()])
    found: dict[str, Any] | None = None
    names: list[str] | None = None
    with suppress(pyreadstat.ReadstatError, OSError, ValueError):  # ours are raised outside: theirs may quote the file
        _, about = read(place, metadataonly=True, output_format="dict")
        names = list(about.column_names)
    if names is not None:
        require(names, wanted)
        with suppress(pyreadstat.ReadstatError, OSError, ValueError, pyarrow.ArrowException):
            data, about = read(place, usecols=list(wanted) or None, output_format="dict")
            texts = {title for title, kind in about.readstat_variable_types.items() if kind == "string"}
            formats = about.original_variable_types
            found = {
                title: _column(list(values), "text" if title in texts else formats[title] or "")
                for title, values in data.items()
            }
    if found is None:
        raise DataRefusal("the file cannot be read", fix="check that it is whole, or save it again", where=path.name)
    use_frame(table, pyarrow.table(found))


def _column(values: list[Any], written: str) -> Any:
    """A column of the type that its format says: no record decides it. What is not as its format says is refused."""
    import pyarrow

    if written == "text":
        return pyarrow.array([value or None for value in values], pyarrow.string())
    if MOMENTS.match(written):
        return pyarrow.array(values, pyarrow.timestamp("us"))
    if DAYS.match(written):
        return pyarrow.array(values, pyarrow.date32())
    if TIMES.match(written):
        return pyarrow.array(values, pyarrow.time64("us"))
    return pyarrow.array(values, pyarrow.float64(), from_pandas=True)


def _library(title: str) -> Any:
    try:
        return import_module(title)
    except ImportError:
        raise TableError(
            "a library that reads such files is not installed", fix="install it with `pip install 'tetraodon[files]'`"
        ) from None


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise TableError("there is no such file", fix="check the path", where=str(path))
    return path
