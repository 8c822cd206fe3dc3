"""CSV files: encoding, separator, header and lines, read so that no record changes how another is read.

A line ends at a line feed; a carriage return before it belongs to the end. It is split as RFC 4180 says, with
quotation marks that must close on the same line. A line with fewer fields than the header lacks the last ones; empty
fields too many at its end are dropped. All cells are missing in a line that has other fields too many, a quotation mark
that is not closed or is followed by text, a carriage return inside, or more than `LONGEST_LINE` bytes, and in an empty
line. A cell whose bytes are no text in the file's encoding is missing. No line is lost, and none is added.

Two ways of reading give this. DuckDB's own reader is fast, and right where `clean` says so: there every line break ends
a record, and a line with another number of fields than the header makes it refuse the file. Whatever is not clean or is
refused is read through `mended`, which rewrites those lines, and only those, that DuckDB would read otherwise.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import os
import zlib
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from tetraodon.errors import TableError

# -- csv file ---------------------------------------------------------------------------------------
# Reading the outside of a CSV file: its encoding, its separator and its header. Records are left to `csv_lines`.
#
# The encoding is the one stated, or shown by a byte order mark at the very beginning, or UTF-8. The separator is
# found from the header alone: it is the one that yields the columns the policy names. So no record decides how
# another is read.

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
    """How a CSV file is written; None means a rule that looks at no record.

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


# -- csv lines --------------------------------------------------------------------------------------

BLANK = " "
"""DuckDB skips blanks next to quotation marks, and RFC 4180 does not."""
_NO_MARKS = bytes(byte for byte in range(256) if byte not in b'"\n')
"""What is left out of a block to see its quotation marks line by line."""


def clean(file: CsvFile) -> bool:
    """Whether DuckDB's own reader gives each line its due, or refuses the file. Reads all of it once, quickly."""
    if file.encoding not in NATIVE or file.separator == BLANK:
        return False
    return all(_is_clean(block, file) for block in _whole_lines(chunks(file.path, file.encoding)))


def mended(file: CsvFile) -> Iterator[bytes]:
    """All lines but the first, in UTF-8 and as DuckDB reads them rightly, separated by `separator_of`."""
    first = True
    for block in _whole_lines(chunks(file.path, file.encoding)):
        lines = block[:-1].split(b"\n")
        yield b"".join(_mended(lines[first:], file))
        first = False


def separator_of(file: CsvFile) -> str:
    """What separates the fields of mended lines."""
    return "," if file.separator == BLANK else file.separator


def _whole_lines(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in blocks that end with a line feed. A line that is too long is cut, and stays too long."""
    rest = b""
    for part in parts:
        cut = part.rfind(b"\n") + 1
        if cut:
            yield rest + part[:cut]
            rest = part[cut:]
        else:
            rest = (rest + part)[: LONGEST_LINE + 2]
    if rest:
        yield rest + b"\n"


def _is_clean(block: bytes, file: CsvFile) -> bool:
    if len(block) > LONGEST_LINE and max(map(len, block.split(b"\n"))) > LONGEST_LINE:
        return False
    returns, feeds = block.count(b"\r"), block.count(b"\n")
    if file.end == b"\n":
        ends = returns == 0
    else:
        ends = returns == feeds == block.count(b"\r\n")
    if not (ends and _decodes(block, file)):
        return False
    marks = block.translate(None, _NO_MARKS) if b'"' in block else b""
    # An empty line has no marks either, so they say quickly where there is none.
    if (not marks or b"\n\n" in marks or marks.startswith(b"\n")) and _has_empty_line(block, file):
        return False
    return not marks or _closes(block, marks)


def _decodes(block: bytes, file: CsvFile) -> bool:
    if file.encoding != "utf-8" or block.isascii():
        return True
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _has_empty_line(block: bytes, file: CsvFile) -> bool:
    return block.startswith(file.end) or b"\n" + file.end in block


def _closes(block: bytes, marks: bytes) -> bool:
    """Whether the quotation marks of every line come in pairs, none of them next to a blank or doubled inside quotes.

    Why  DuckDB ignores a field too many with a doubled mark in it where some columns are not asked for.
    """
    if b'"' in marks.replace(b'""', b""):
        return False
    letters = np.frombuffer(block, np.uint8)
    quotes, blanks = letters == ord('"'), letters == ord(BLANK)
    if bool((quotes[1:] & blanks[:-1]).any() or (blanks[1:] & quotes[:-1]).any()):
        return False
    doubled = quotes[:-1] & quotes[1:]
    return not (doubled.any() and bool((doubled & ~np.logical_xor.accumulate(quotes)[:-1]).any()))


def _mended(lines: list[bytes], file: CsvFile) -> Iterator[bytes]:
    separator, most = file.separator.encode(), len(file.header) - 1
    as_they_are = file.encoding == "utf-8" and separator_of(file) == file.separator
    for line in lines:
        if (
            as_they_are
            and line.count(separator) == most
            and b'"' not in line
            and b"\r" not in line
            and 0 < len(line) <= LONGEST_LINE
            and not line.startswith(codecs.BOM_UTF8)  # which DuckDB drops where it comes first
            and _decodes(line, file)
        ):
            yield line + b"\n"
        else:
            yield separator_of(file).encode().join(map(_quoted, _cells(line, file))) + b"\n"


def _cells(line: bytes, file: CsvFile) -> list[str]:
    """As many cells as the header has; an empty one is missing."""
    line, width = line.removesuffix(b"\r"), len(file.header)
    cells: list[str] = []
    if len(line) <= LONGEST_LINE and b"\r" not in line:
        with suppress(UnicodeError, csv.Error):
            text = line.decode("utf-8" if file.encoding in WIDE else file.encoding, "surrogateescape")
            cells = next(csv.reader([text], delimiter=file.separator, strict=True), [])
    while len(cells) > width and not cells[-1]:
        cells.pop()
    if len(cells) > width:
        cells = []
    return cells + [""] * (width - len(cells))


def _quoted(cell: str) -> bytes:
    try:
        return b'"' + cell.encode().replace(b'"', b'""') + b'"'
    except UnicodeEncodeError:  # half a character, or a byte that is none
        return b'""'


@contextmanager
def piped(parts: Iterable[bytes]) -> Iterator[str]:
    """A path under which DuckDB reads the parts, once and in order, while the block lasts. They never touch the disk.

    Raises at the end what making the parts has raised: the reader has then seen only some.

    >>> with piped([b"ab", b"c"]) as path, open(path, "rb") as file:
    ...     file.read()
    b'abc'
    """
    out, into = os.pipe()
    with ThreadPoolExecutor(max_workers=1) as pool:
        written = pool.submit(_write, into, parts)
        try:
            yield f"/dev/fd/{out}"
        finally:
            os.close(out)
            wait([written])
        written.result()


def _write(into: int, parts: Iterable[bytes]) -> None:
    with suppress(BrokenPipeError), open(into, "wb", buffering=0) as pipe:  # the reader may have stopped early
        for part in parts:
            left = memoryview(part)
            while left:
                left = left[pipe.write(left) or 0 :]
