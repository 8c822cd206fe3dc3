"""Tables in files of spreadsheets (Excel, OpenDocument) and of statistics packages (SPSS, Stata, SAS).

They are read into memory by libraries that the extra `files` brings. In a spreadsheet every cell has a type of its own,
so each column is text, as in a CSV file: no record decides how another is read. Columns of statistics packages have
types. Labels of values are left alone: what is stored is what the policy lists, 1 and 2, say, and not their labels.
"""

from __future__ import annotations

import codecs
import datetime as dt
import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tetraodon.engine.column import require
from tetraodon.engine.duckdb_source import DuckDBTable, use_frame
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
MOMENTS = re.compile(r"%-?tc|DATETIME|DTDATE|[EIB]S?8601D[TN]|YMDHMS|DATEAMPM|MDYAMPM", re.IGNORECASE)
DAYS = re.compile(r"%-?td|%-?d|[AEJS]?DATE|WEEKDAT|MMDDYY|DDMMYY|YYMMDD|[EIB]S?8601DA", re.IGNORECASE)
TIMES = re.compile(r"TIME|DTIME|TOD|HHMM|[EIB]S?8601TM", re.IGNORECASE)
"""How formats begin that show moments, days and times of day in these packages."""
FROM_1582, FROM_1960 = (-141_428, 86_400, 1), (-3_653, 1, 1)
COUNTED = {".sav": FROM_1582, ".zsav": FROM_1582, ".por": FROM_1582, ".dta": (-3_653, 1, 1_000)}
"""The day from which a package counts, as days since 1970, and how much it counts for a day and for a second."""
LAST_DAY, LAST_MOMENT = 2 * 10**9, 9 * 10**18
"""In days and in microseconds, a little less than DuckDB holds."""
BYTES = "iso-8859-1"
"""An encoding with a letter for every byte."""


def use_sheet(table: DuckDBTable, path: Path, sheet: str, wanted: Collection[str]) -> None:
    """A sheet of a spreadsheet, its first row the header; the sheet may be left out where there is one only."""
    calamine = _library("python_calamine")
    names: list[str] | None = None
    rows: list[list[str | None]] | None = None
    place = str(_existing(path))
    with suppress(calamine.CalamineError, OSError, ValueError):  # ours are raised outside: theirs may quote the file
        names = list(calamine.CalamineWorkbook.from_path(place).sheet_names)
    if names is not None:
        chosen = _sheet(names, sheet, path)
        with suppress(calamine.CalamineError, OSError, ValueError):
            rows = list(_rows(calamine.CalamineWorkbook.from_path(place).get_sheet_by_name(chosen).iter_rows()))
    if rows is None:
        fix = "check that it opens without a password"
        raise DataRefusal("the spreadsheet cannot be read", fix=fix, where=path.name)
    header = [title or "" for title in rows[0]] if rows else []
    _use(table, header, [row or [None] * len(header) for row in rows[1:]], wanted, path)


def _rows(sheet: Iterator[list[Any]]) -> Iterator[list[str | None]]:
    """The rows that hold a value, as texts; of one with a duration that Python cannot hold, no cell.

    Why   a file ends with its last value, so blank rows above it would count or not as a record below them has it.
    """
    while True:
        try:
            row = [_text(cell) for cell in next(sheet)]
        except StopIteration:
            return
        except OverflowError:
            yield []
        else:
            if any(row):
                yield row


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
        if title not in header:  # its own names are not printed: the first row may be a record
            fix = "write the columns' names in its first row, spelt as in the policy"
            raise TableError(f"the sheet has no column {title!r}", fix=fix, where=path.name)
    columns: dict[str, Any] = {}
    for place, title in enumerate(header):
        if title and title in columns:
            raise TableError("two columns of the sheet have the same name", fix="give each its own", where=path.name)
        if title:
            columns[title] = pyarrow.array([row[place] for row in rows], pyarrow.string())
    use_frame(table, pyarrow.table(columns), wanted)


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
        chosen = list(dict.fromkeys(wanted)) or names
        with suppress(pyreadstat.ReadstatError, OSError, ValueError, LookupError):
            texts = {title for title, kind in about.readstat_variable_types.items() if kind == "string"}
            formats, package = about.original_variable_types, path.suffix.lower()
            found = {
                title: pyarrow.array([value or None for value in values], pyarrow.string())
                if title in texts
                else _numbers(values, formats[title] or "", package)
                for title, values in zip(chosen, _values(partial(read, place), names, chosen, package), strict=True)
            }
    if found is None:
        raise DataRefusal("the file cannot be read", fix="check that it is whole, or save it again", where=path.name)
    use_frame(table, pyarrow.table(found), wanted)


def _values(read: Callable[..., Any], names: Sequence[str], chosen: Sequence[str], package: str) -> list[list[Any]]:
    """The values of some columns, days and moments as numbers.

    Where one text is not in the file's encoding, the library reads none of them. Then all are read byte by byte, and
    decoded one by one.
    """
    pyreadstat = _library("pyreadstat")
    raw = {"output_format": "dict", "disable_datetime_conversion": True}
    try:
        data, _ = read(usecols=list(chosen), **raw)
        return [list(data[title]) for title in chosen]
    except UnicodeDecodeError:  # texts that the library does not convert
        encoding = "utf-8"
    except pyreadstat.ReadstatError:  # texts that it does, of Stata before version 14 from this encoding
        encoding = "cp1252" if package == ".dta" else ""
    _, about = read(metadataonly=True, output_format="dict")
    encoding = codecs.lookup(about.file_encoding or encoding).name
    _, about = read(metadataonly=True, encoding=BYTES, **raw)
    spelt = [about.column_names[names.index(title)] for title in chosen]
    data, _ = read(usecols=spelt, encoding=BYTES, **raw)
    return [[_decoded(value, encoding) for value in data[title]] for title in spelt]


def _decoded(value: Any, encoding: str) -> Any:
    """A value, a text of which was read byte by byte; None if it is not in the encoding."""
    if not isinstance(value, str):
        return value
    with suppress(UnicodeError):
        return value.encode(BYTES).decode(encoding)
    return None


def _numbers(values: list[Any], written: str, package: str) -> Any:
    """A column of the type that its format says: no record decides it. A day beyond the last that is held is the last.

    Why   the library makes dates of Python, which end with the year 9999, and fails on one beyond.
    """
    import pyarrow

    numbers = np.array([math.nan if value is None else value for value in values], np.float64)
    missing = np.isnan(numbers)
    numbers = np.where(missing, 0, numbers)
    epoch, by_day, by_second = COUNTED.get(package, FROM_1960)
    if MOMENTS.match(written):
        with np.errstate(over="ignore"):
            ticks = np.clip(np.floor(numbers * (10**6 // by_second)), -LAST_MOMENT, LAST_MOMENT).astype(np.int64)
        return pyarrow.array(ticks + epoch * 86_400 * 10**6, mask=missing).cast(pyarrow.timestamp("us"))
    if DAYS.match(written):
        days = np.clip(np.floor(numbers / by_day), -LAST_DAY, LAST_DAY).astype(np.int32)
        return pyarrow.array(days + epoch, pyarrow.int32(), mask=missing).cast(pyarrow.date32())
    if TIMES.match(written):
        return pyarrow.nulls(len(values), pyarrow.time64("us"))
    return pyarrow.array(numbers, mask=missing)


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
