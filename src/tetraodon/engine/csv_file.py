"""Reading the outside of a CSV file: its encoding, its separator and its header. Records are left to the engine.

The separator is found from the header alone: it is the one that yields the columns the policy names. So
no record decides how another is read. The encoding is looked for in the whole file, because a file that is
not UTF-8 shows it anywhere; state it in `CsvFormat` if records of several encodings may meet in one file.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import shutil
import zlib
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast

from tetraodon.engine.refusal import DataRefusal
from tetraodon.errors import TableError

SEPARATORS = (",", ";", "\t", "|")
NATIVE = {"utf-8-sig": "utf-8", "iso8859-1": "latin-1"}
"""Encodings that DuckDB reads by itself, in its words."""
CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """How a CSV file is written; None finds out.

    separator: one character; else the one of comma, semicolon, tab and bar that the header shows.
    decimal:   `.` or `,`; else a point, and in files not separated by commas, either, number by number.
    encoding:  any that Python knows; else UTF-8, UTF-16 with its mark, or Latin-1 when it is not UTF-8.
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.separator is not None and (len(self.separator) != 1 or self.separator in '"\r\n\0'):
            raise TableError("the CSV separator is not one character", fix="use one of , ; | or a tab")
        if self.decimal not in (None, ".", ","):
            raise TableError("the decimal mark is neither point nor comma", fix="use '.' or ','")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise TableError(
                    f"there is no encoding {self.encoding!r}", fix="use utf-8, latin-1, cp1252 or utf-16"
                ) from None


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A CSV file whose outside is known. `quotes` says whether there is a quotation mark anywhere in it."""

    path: Path
    separator: str
    decimal: str
    encoding: str
    header: tuple[str, ...]
    quotes: bool


def examine(path: Path, layout: CsvFormat, wanted: Collection[str]) -> CsvFile:
    """Find out what `layout` leaves open. Raises TableError, which quotes nothing of the file."""
    header, separator, encoding, quotes = None, "", "", True
    with suppress(OSError, EOFError, zlib.error, UnicodeError, csv.Error):
        encoding, quotes = _scan(path)
        encoding = codecs.lookup(layout.encoding).name if layout.encoding else encoding
        encoding = "utf-8-sig" if encoding == "utf-8" else encoding
        header, separator = _header(path, encoding, layout.separator, wanted)
    if header is None:
        raise DataRefusal("the CSV file cannot be read", fix="check it and its encoding", where=path.name)
    if not any(header):
        raise TableError(
            "the CSV file has no header", fix="write the columns' names in its first line", where=path.name
        )
    for name in wanted:
        if header.count(name) > 1:
            raise TableError(f"two columns are named {name!r}", fix="give each its own name", where=path.name)
    decimal = layout.decimal or ("." if separator == "," else ".,")
    return CsvFile(path, separator, decimal, encoding, header, quotes)


def transcoded(file: CsvFile, folder: Path) -> CsvFile:
    """The same file in an encoding that DuckDB reads without an extension, in `folder` if need be."""
    if file.encoding in NATIVE:
        return file
    copy = folder / "table.csv"
    with (
        suppress(OSError, EOFError, zlib.error, UnicodeError),
        _text(file.path, file.encoding) as source,
        copy.open("w", encoding="utf-8", newline="") as target,
    ):
        shutil.copyfileobj(source, target, CHUNK)
        return replace(file, path=copy, encoding="utf-8-sig")
    raise DataRefusal("the CSV file cannot be decoded", fix="state its encoding", where=file.path.name)


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path)) if path.suffix.lower() == ".gz" else path.open("rb")


def _text(path: Path, encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(_open(path), encoding=encoding, newline="")


def _scan(path: Path) -> tuple[str, bool]:
    """The encoding that the bytes allow, and whether any of them is a quotation mark."""
    decoder, encoding, quotes = codecs.getincrementaldecoder("utf-8")(), "utf-8", False
    with _open(path) as file:
        chunk = file.read(CHUNK)
        if chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            encoding = "utf-16"
        while chunk:
            quotes = quotes or b'"' in chunk
            if encoding == "utf-8":
                try:
                    decoder.decode(chunk, final=False)
                except UnicodeDecodeError:
                    encoding = "iso8859-1"
            chunk = file.read(CHUNK)
    if encoding == "utf-8" and decoder.getstate()[0]:  # the last character is cut off
        encoding = "iso8859-1"
    return encoding, quotes


def _header(path: Path, encoding: str, separator: str | None, wanted: Collection[str]) -> tuple[tuple[str, ...], str]:
    """The header under the separator that finds the most columns wanted, then the most columns."""
    found: list[tuple[int, int, tuple[str, ...], str]] = []
    for candidate in (separator,) if separator else SEPARATORS:
        with _text(path, encoding) as file:
            names = tuple(next(csv.reader(file, delimiter=candidate), ()))
        found.append((len(set(wanted) & set(names)), len(names), names, candidate))
    _, _, names, best = max(found, key=lambda entry: entry[:2])
    return names, best
