"""The lines of a CSV file: each is a record, and is read the same whatever the others hold.

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
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress

import numpy as np

from tetraodon.engine.csv_file import LONGEST_LINE, NATIVE, WIDE, CsvFile, chunks

BLANK = " "
"""DuckDB skips blanks beside quotation marks, and RFC 4180 does not."""
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
    """Whether the quotation marks of every line come in pairs, none of them beside a blank or doubled inside of quotes.

    Why  of a field too many with a doubled mark in it DuckDB takes no notice, beside columns that are not asked for.
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

    Raises at the end what making the parts has raised: whoever read them has then seen only some.

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
    with suppress(BrokenPipeError), open(into, "wb", buffering=0) as pipe:  # nobody may want the rest
        for part in parts:
            left = memoryview(part)
            while left:
                left = left[pipe.write(left) or 0 :]
