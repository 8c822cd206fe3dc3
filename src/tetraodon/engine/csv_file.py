"""Reading the outside of a CSV file: its encoding, its separator and its header. Records are left to `csv_lines`.

The encoding is the one stated, or shown by a byte order mark at the very beginning, or UTF-8. The separator is found
from the header alone: it is the one that yields the columns the policy names. So no record decides how another is read.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import zlib
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from tetraodon.errors import TableError

SEPARATORS = (",", ";", "\t", "|")
NATIVE = {"utf-8": "utf-8", "iso8859-1": "latin-1"}
"""Encodings that DuckDB reads by itself, in its words."""
MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
WIDE = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
"""Encodings in which every character takes two bytes or four."""
LONGEST_LINE = 1 << 17
"""Bytes of a line; Python's CSV reader takes no longer field."""
CHUNK = LONGEST_LINE // 2
"""A line that is too long fills at least one chunk."""


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """How a CSV file is written; None stands for a rule that looks at no record.

    separator: one character; else the one of comma, semicolon, tab and bar that the header shows.
    decimal:   `.` or `,`; else a point, and in files not separated by commas, either, number by number.
    encoding:  any that Python knows and that writes commas and line feeds as ASCII does; else UTF-8, or UTF-16 if the
               file begins with its mark.
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
                known = codecs.lookup(self.encoding).name in WIDE or b'\n\r",;\t|'.decode(self.encoding) == '\n\r",;\t|'
            except (LookupError, UnicodeError):
                known = False
            if not known:
                raise TableError(
                    f"there is no encoding {self.encoding!r}", fix="use utf-8, latin-1, cp1252 or utf-16"
                ) from None


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A CSV file whose outside is known. `end` is how its first line ends: a line feed, or a carriage return too."""

    path: Path
    separator: str
    decimal: str
    encoding: str
    header: tuple[str, ...]
    end: bytes


def examine(path: Path, layout: CsvFormat, wanted: Collection[str]) -> CsvFile:
    """Find out what `layout` leaves open, from the first line alone. Raises TableError, which quotes nothing of it."""
    line = None
    with suppress(OSError, EOFError, zlib.error):
        encoding = _encoding(path, layout.encoding)
        line = _first_line(path, encoding)
    if line is None:
        raise TableError("the CSV file cannot be read", fix="check that it is whole", where=path.name)
    if len(line) > LONGEST_LINE:
        raise TableError(
            f"the first line of the CSV file is longer than {LONGEST_LINE:,} bytes",
            fix="write the columns' names in its first line, and end it with a line feed",
            where=path.name,
        )
    end = b"\r\n" if line.endswith(b"\r") else b"\n"
    header, separator = _header(line.removesuffix(b"\r"), path, encoding, layout.separator, wanted)
    if not any(header):
        raise TableError(
            "the CSV file has no header", fix="write the columns' names in its first line", where=path.name
        )
    for name in wanted:
        if header.count(name) > 1:
            raise TableError(f"two columns are named {name!r}", fix="give each its own name", where=path.name)
    decimal = layout.decimal or ("." if separator == "," else ".,")
    return CsvFile(path, separator, decimal, encoding, header, end)


def chunks(path: Path, encoding: str) -> Iterator[bytes]:
    """The bytes of a file, unpacked; of wide encodings those in UTF-8, with U+FFFD for what is no character."""
    decoder = codecs.getincrementaldecoder(encoding)("replace") if encoding in WIDE else None
    with _open(path) as file:
        while chunk := file.read(CHUNK):
            yield decoder.decode(chunk).encode() if decoder else chunk


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path)) if path.suffix.lower() == ".gz" else path.open("rb")


def _encoding(path: Path, stated: str | None) -> str:
    if stated:
        name = codecs.lookup(stated).name
        return "utf-8" if name == "utf-8-sig" else name
    with _open(path) as file:
        return MARKS.get(file.read(2), "utf-8")


def _first_line(path: Path, encoding: str) -> bytes:
    """The first line without its line feed and its mark; of one that is too long, more than is allowed."""
    line = b""
    for chunk in chunks(path, encoding):
        before, mark, _ = chunk.partition(b"\n")
        line += before
        if mark or len(line) > LONGEST_LINE:
            break
    return line.removeprefix(codecs.BOM_UTF8)


def _header(
    line: bytes, path: Path, encoding: str, separator: str | None, wanted: Collection[str]
) -> tuple[tuple[str, ...], str]:
    """The header under the separator that finds the most columns wanted, then the most columns."""
    found: list[tuple[int, int, tuple[str, ...], str]] = []
    with suppress(UnicodeError):
        text = line.decode("utf-8" if encoding in WIDE else encoding)
        for candidate in (separator,) if separator else SEPARATORS:
            with suppress(csv.Error):
                names = tuple(next(csv.reader([text], delimiter=candidate, strict=True), ()))
                found.append((len(set(wanted) & set(names)), len(names), names, candidate))
    if not found:
        raise TableError(
            "the first line of the CSV file cannot be read",
            fix="save it as UTF-8 or state its encoding under `table`, close its quotation marks, and end it with a "
            "line feed",
            where=path.name,
        )
    _, _, names, best = max(found, key=lambda entry: entry[:2])
    return names, best
