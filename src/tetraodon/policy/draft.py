"""The first draft of a policy file for a table, from the names and kinds of its columns. No record is looked at.

A CSV file has names and no types, so the kind of its columns is unknown: a guess from values would be a guess from
somebody's values.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from tetraodon.engine.column import Column, Kind
from tetraodon.engine.csv_file import CsvFormat, examine
from tetraodon.engine.open_table import ADDRESSES, CSV, Source, local_path, opened
from tetraodon.engine.row_query import is_query, read_query
from tetraodon.errors import PolicyError
from tetraodon.policy.load import PLACEHOLDER
from tetraodon.policy.metadata_file import Metadata, read_metadata
from tetraodon.policy.starter import UNKNOWN, Promise, starter
from tetraodon.policy.starter import Kind as Word
from tetraodon.rational import READABLE
from tetraodon.server_address import may_hold_password, table_of
from tetraodon.wording import listing, number_of

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


@dataclass(frozen=True, slots=True)
class Draft:
    """The text of a policy file that `check` refuses until every CONFIRM in it is replaced. `print` it, or `write` it.

    `columns` are those that can be attributes, each with its kind; `left_out` those that cannot; `header` all names.
    """

    dataset: str
    columns: tuple[tuple[str, Word], ...]
    left_out: tuple[str, ...]
    header: tuple[str, ...]
    text: str

    @property
    def placeholders(self) -> int:
        """How many places only public knowledge can fill."""
        return sum(line.partition("#")[0].count(PLACEHOLDER) for line in self.text.splitlines())

    @property
    def notes(self) -> tuple[str, ...]:
        """What is strange about the columns, by their names alone."""
        return tuple(_odd(self.header, self.left_out))

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the file, all of it or nothing; a file that exists stays, unless `force` is given."""
        write_file(Path(path), self.text, force=force)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        found = number_of(len(dict(self.columns)), "column")
        return f"<Draft {self.dataset}: {found}, {PLACEHOLDER} in {number_of(self.placeholders, 'place')}>"


def init(
    table: Source | None = None,
    *,
    metadata: str | os.PathLike[str] | None = None,
    dataset: str = "",
    promise: Promise = "everything",
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> Draft:
    """The first draft of a policy for a table, or for one that `metadata` of SmartNoise or OpenDP describe; with `out`,
    written there. It begins with the promise that any two records are a secret, or that `presence` alone is.

    Post  it holds no bound and no category of the table: each is a placeholder that `check` refuses until what is
          publicly known stands in its place. What metadata say stands beside it in a comment.
    """
    if promise not in get_args(Promise):
        raise PolicyError("there is no such promise to begin with", fix=f"use {' or '.join(get_args(Promise))}")
    if table is not None and metadata is None:
        made = _drafted(table, dataset, promise)
    elif metadata is not None and table is None:
        made = _described(read_metadata(Path(metadata)), dataset, promise)
    else:
        raise PolicyError("there is not one source of a draft", fix="give a table, or a file of metadata")
    if out is not None:
        made.write(out, force=force)
    return made


def _drafted(table: Source, dataset: str, promise: Promise) -> Draft:
    columns, left_out, header = table_columns(table)
    name = dataset or dataset_of(table)
    return Draft(name, tuple(columns), tuple(left_out), tuple(header), starter(columns, name, promise=promise))


def _described(found: Metadata, dataset: str, promise: Promise) -> Draft:
    name = dataset or plain_name(found.dataset)
    header = tuple(column for column, _ in found.columns)
    text = starter(
        found.columns, name, told=found.told, key=found.key, rows=found.rows, remarks=found.remarks, promise=promise
    )
    return Draft(name, found.columns, (), header, text)


def table_columns(source: Source) -> tuple[list[tuple[str, Word]], list[str], list[str]]:
    """Columns that can be attributes, each with its kind, the names of those that cannot, and all names in order."""
    query = read_query(str(source)) if is_query(source) else None
    source = source if query is None else query.origin
    address = os.fspath(source) if isinstance(source, str | os.PathLike) else ""
    if address and not address.startswith(ADDRESSES) and (path := local_path(address)).lower().endswith(CSV):
        header = examine(Path(path), CsvFormat(), ()).header
        found = [Column(name, name, Kind.TEXT, UNKNOWN) for name in header]
    else:
        table = opened(source)
        found = list(table.columns.values())
        table.close()
    if query is not None and query.columns is not None:
        found = [each for each in found if each.name in query.columns]
    able = [(each.name, word) for each in found if each.name and (word := _word(each)) is not None]
    left_out = [each.name for each in found if not each.name or _word(each) is None]
    return able, left_out, [each.name for each in found]


def _word(found: Column) -> Word | None:
    if found.shown == UNKNOWN:
        return UNKNOWN
    if found.kind is Kind.DECIMAL:
        return "integer" if found.scale == 0 else "real"
    return _WORDS.get(found.kind)


def dataset_of(table: Source) -> str:
    """A name for the data: that of the table in a database, else that of the file; `data` for a frame."""
    if not isinstance(table, str | os.PathLike):
        return "data"
    address = read_query(str(table)).origin if is_query(table) else os.fspath(table)
    if may_hold_password(address):
        file, inner = "", table_of(address)[1]
    else:
        file, _, inner = address.partition("#")
    return plain_name(inner or re.sub(r"(\.(csv|tsv|txt))?\.\w+$", "", Path(file).name))


def plain_name(name: str) -> str:
    """A name that a data set can have."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "data"


def _odd(header: Sequence[str], left_out: Sequence[str]) -> Iterator[str]:
    named = [name for name in header if name]
    for name in sorted({name for name in named if named.count(name) > 1}):
        places = listing(str(place) for place, other in enumerate(header, 1) if other == name)
        yield f"Columns {places} have the same name, {name}. Rename them, or the table will be refused."
    if nameless := [str(place) for place, name in enumerate(header, 1) if not name]:
        which = f"column {nameless[0]} has" if len(nameless) == 1 else f"columns {listing(nameless)} have"
        yield f"Left out: {which} no name. Write one into the first line of the table to use what is there."
    if blank := [name for name in dict.fromkeys(named) if name != name.strip()]:
        yield f"Blanks at an end are part of a name: {listing(map(repr, blank))}. The policy file must have them too."
    if named and all(READABLE.fullmatch(name) for name in named):
        yield (
            "All names are numbers. If the first line is somebody's record and not a header, write a header above it "
            "and delete this draft, which has the record in it."
        )
    if others := [name for name in left_out if name]:
        yield f"Left out, for their type cannot be released: {', '.join(map(repr, others))}."


def write_file(target: Path, text: str, *, force: bool) -> None:
    """All of it or nothing; without `force` never over a file that came to be meanwhile. Who may read it stays."""
    try:
        handle, draft = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
        try:
            with open(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(draft, target.stat().st_mode & 0o777 if force and target.exists() else 0o644)
            if force:
                os.replace(draft, target)
            else:
                os.link(draft, target)
        finally:
            if os.path.exists(draft):
                os.unlink(draft)
    except FileExistsError:
        raise PolicyError(
            "the policy file exists", fix="pass --force to replace it, or --out", where=str(target)
        ) from None
    except OSError as error:
        raise PolicyError(
            f"the policy file cannot be written ({error.strerror})",
            fix="name a file in a folder that exists, is writable and has room",
            where=str(target),
        ) from None
