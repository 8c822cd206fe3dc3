"""The first draft of a policy file, from names and types of columns or from metadata of other libraries.

A CSV file has names and no types, so the kind of its columns is unknown: a guess from values would be a guess from
somebody's values.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from tetraodon.database_url import may_hold_password, table_of
from tetraodon.display import Sentences
from tetraodon.engine.column import Column, Kind
from tetraodon.engine.csv_table import CsvFormat, examine
from tetraodon.engine.open_table import ADDRESSES, CSV, Source, is_query, local_path, opened, read_query
from tetraodon.errors import PolicyError
from tetraodon.exact.rational import READABLE
from tetraodon.policy.document import NONE_BUT_PRESENCE
from tetraodon.policy.load import PLACEHOLDER
from tetraodon.policy.source import SIZE_LIMIT, parse
from tetraodon.wording import listing, number_of

# -- starter ----------------------------------------------------------------------------------------
# The first draft of a policy file, from the names and types of columns and never from their values.

GuessedKind: TypeAlias = Literal["integer", "real", "text", "date", "boolean", "unknown"]
UNKNOWN: Literal["unknown"] = "unknown"
"""What the columns of a CSV file are, which has no types."""

Promise: TypeAlias = Literal["everything", "presence"]
"""What a draft promises until it is edited: that any two records are a secret, or presence alone."""
_INTEGER = "{integer: [?, ?], missing: separate}"
_REAL = "{real: [?, ?], step: ?, missing: separate}"
_TEXT = "{categories: [?, ?], missing: separate, other: ?, trim: true}"
_NAMED: tuple[tuple[str, str, str], ...] = (
    ("age|years old", _INTEGER, "in full years; for example [0, 120]"),
    ("sex|gender", _TEXT, "the answers that could be given; for example [Female, Male, other]"),
    ("year", _INTEGER, "for example [1900, 2030]"),
    ("month", _INTEGER, "for example [1, 12]"),
    ("lat|latitude", _REAL, "in degrees; for example [-90, 90] in steps of 0.01"),
    ("lon|lng|longitude", _REAL, "in degrees; for example [-180, 180] in steps of 0.01"),
    ("zip|zipcode|postcode|postal", _TEXT, "the list of all postal areas, from the post office"),
)
_TYPED: dict[GuessedKind, tuple[str, str]] = {
    "integer": (_INTEGER, "the smallest and the largest value there can be"),
    "real": (_REAL, "the ends that are possible, and the step to round to"),
    "date": ("{date: [?, ?], missing: separate}", "the first and the last day there can be, such as 2026-01-01"),
    "boolean": ("{boolean: true, missing: separate}", ""),
    "text": (_TEXT, "every value there can be; other is among them"),
    "unknown": (
        "?",
        "{integer: [0, 9], missing: separate}, {real: [0, 9], step: 0.1, missing: separate}, "
        "{date: [2026-01-01, 2026-12-31], format: DD.MM.YYYY}, boolean or [a, b]",
    ),
}
_BELIEVED: dict[str, tuple[GuessedKind, ...]] = {
    _INTEGER: ("integer", "real", "unknown"),
    _REAL: ("integer", "real", "unknown"),
    _TEXT: ("integer", "text", "unknown"),
}
"""The types of columns with which a guess from the name agrees."""
_IDENTITY = re.compile(r"(^|_)(id|key|ssn|nr|no|number|uuid)$|^(id|key)_", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Metadata:
    """A table as it is described: its columns with their kinds, what is said of each, and what is said of the table."""

    dataset: str
    columns: tuple[tuple[str, GuessedKind], ...]
    said: Mapping[str, str] = field(default_factory=dict)
    key: str = ""
    rows: str = ""
    remarks: tuple[str, ...] = ()


def starter(found: Metadata, promise: Promise = "everything") -> str:
    """Text of a new policy file for a table with these columns; what metadata say of it stands in comments.

    Post  holds no value of the table: bounds and categories are placeholders that `check` refuses.

    >>> columns = (("age", "integer"), ("person_id", "text"))
    >>> print(starter(Metadata("people", columns)).splitlines()[8])
      age: {integer: [CONFIRM, CONFIRM], missing: separate}   # in full years; for example [0, 120]
    """
    kinds = dict(found.columns)
    keys = [found.key] if found.key else [name for name in kinds if _IDENTITY.search(name)]
    drafted = [_attribute(name, kind, found.said.get(name, "")) for name, kind in kinds.items() if name not in keys]
    return _said.raw("policy", found, keys, drafted, promise)


def _comment(text: str) -> str:
    """A text that stays on its line."""
    return " ".join(re.sub(r"[^\w\s.,:;()`'-]", "?", text).split())[:300]


def _attribute(name: str, kind: GuessedKind, said: str = "") -> str:
    form, hint = _TYPED[kind]
    if kind != "boolean":
        words = re.sub(r"[^a-z]+", " ", name.lower())
        for pattern, named, comment in _NAMED:
            if kind in _BELIEVED[named] and re.search(rf"\b({pattern})\b", words):
                form, hint = named, comment
                break
    comment = "; ".join(part for part in (hint, _comment(said)) if part)
    return f"{_quoted(name)}: {form.replace('?', PLACEHOLDER)}" + (f"   # {comment}" if comment else "")


def _true(word: Any) -> bool:
    return str(word).lower() in ("true", "yes", "1")


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[^\W\d][\w-]*", name) else json.dumps(name, ensure_ascii=False)


_said = Sentences(
    Path(__file__).parent / "templates" / "draft.txt",
    CONFIRM=PLACEHOLDER,
    NONE_BUT_PRESENCE=NONE_BUT_PRESENCE,
    comment=_comment,
    listing=listing,
    quoted=_quoted,
    affirmed=_true,
)


# -- metadata file ----------------------------------------------------------------------------------
# What the metadata of other libraries say about a table: SmartNoise's YAML, and margins as OpenDP has them.
#
# Metadata may have been taken from the data. So a draft repeats them in comments after its placeholders, and confirms
# nothing: the person who fills it in says that it is publicly known.

KINDS: dict[str, GuessedKind] = {
    **dict.fromkeys(("int", "integer", "i32", "i64", "u32", "u64"), "integer"),
    **dict.fromkeys(("float", "double", "f32", "f64"), "real"),
    **dict.fromkeys(("string", "str", "text"), "text"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("datetime", "date"), "date"),
}
"""The words of SmartNoise and of OpenDP for the types of columns, and ours."""
MOST_TABLES = 8


def read_metadata(path: Path) -> Metadata:
    """The one table that a file of metadata describes. Raises PolicyError for anything else."""
    try:
        with path.open("rb") as file:
            content = file.read(SIZE_LIMIT + 1)
    except OSError:
        raise PolicyError("the metadata cannot be read", fix="check the path", where=str(path)) from None
    data: Any = parse(content, path.name).data
    margins = data.pop("margins", None) if isinstance(data, dict) else None
    found = list(_tables(data, ()))
    if len(found) != 1:
        names = listing([".".join(place) or "the file itself" for place, _ in found[:MOST_TABLES]]) if found else ""
        what = f"the metadata describe several tables: {names}" if found else "the metadata describe no table"
        raise PolicyError(what, fix="keep the part of one table, with a `type` for every column", where=path.name)
    [(place, table)] = found
    columns = {name: about for name, about in table.items() if _is_column(about)}
    key = next((name for name, about in columns.items() if _true(about.get("private_id"))), "")
    return Metadata(
        dataset=next((part for part in reversed(place) if part), path.stem),
        columns=tuple((name, KINDS.get(str(about["type"]).lower(), UNKNOWN)) for name, about in columns.items()),
        said={name: "; ".join(_said("column", _texts(about))) for name, about in columns.items()},
        key=key,
        rows=str(table.get("max_ids") or ""),
        remarks=(*_said("table", _texts(table)), *_of_margins(margins, path.name)),
    )


def _tables(data: Any, place: tuple[str, ...], depth: int = 0) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every map that has columns in it, however deep it lies: collection, schema and table in SmartNoise."""
    if not isinstance(data, dict) or depth > 4:
        return
    if any(_is_column(part) for part in data.values()):
        yield place, data
        return
    for name, part in data.items():
        yield from _tables(part, (*place, name), depth + 1)


def _is_column(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("type"), str)


def _texts(about: Mapping[str, Any]) -> dict[str, str]:
    """What metadata may say of a column or a table, as texts; empty where they say nothing that is one."""
    words = ["lower", "upper", "cardinality", "missing_value", "nullable", "rows", "row_privacy", "censor_dims"]
    return {word: about[word] if isinstance(about.get(word), str) else "" for word in words}


def _of_margins(margins: Any, name: str) -> Iterator[str]:
    """Margins of OpenDP: what is known of the groups by some columns."""
    if margins is None:
        return
    if not isinstance(margins, list) or not all(isinstance(margin, dict) for margin in margins):
        raise PolicyError("`margins` is not a list of margins", fix="write `- {by: [sex], max_groups: 2}`", where=name)
    for margin in margins:
        by = margin.get("by") or []
        known = [f"at most {margin[word]} {what}" for word, what in _SIZES.items() if isinstance(margin.get(word), str)]
        known += filter(None, [_INVARIANT.get(str(margin.get("invariant")).lower())])
        yield from _said("margin", [str(one) for one in by] if isinstance(by, list) else [], known)


_SIZES = {
    "max_length": "records in a group",
    "max_partition_length": "records in a group",
    "max_groups": "groups",
    "max_num_partitions": "groups",
}
_INVARIANT = {"keys": "which groups there are is known", "lengths": "how many records each group has is known"}


# -- draft ------------------------------------------------------------------------------------------

_WORDS: dict[Kind, GuessedKind] = {
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
    columns: tuple[tuple[str, GuessedKind], ...]
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
        named = [name for name in self.header if name]
        repeated = sorted({name for name in named if named.count(name) > 1})
        return _said(
            "odd",
            [(name, _places(self.header, name)) for name in repeated],
            _places(self.header, ""),
            [repr(name) for name in dict.fromkeys(named) if name != name.strip()],
            bool(named) and all(READABLE.fullmatch(name) for name in named),
            [repr(name) for name in self.left_out if name],
        )

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
          publicly known replaces it. What metadata say is in a comment after it.
    """
    if promise not in get_args(Promise):
        raise PolicyError("there is no such promise to begin with", fix=f"use {' or '.join(get_args(Promise))}")
    if (table is None) == (metadata is None):
        raise PolicyError("there is not one source of a draft", fix="give a table, or a file of metadata")
    if table is not None:
        columns, left_out, header = table_columns(table)
        found = Metadata(dataset_of(table), tuple(columns))
    else:
        found, left_out = read_metadata(Path(metadata or "")), []
        header = [column for column, _ in found.columns]
    name = dataset or plain_name(found.dataset)
    made = Draft(name, found.columns, tuple(left_out), tuple(header), starter(replace(found, dataset=name), promise))
    if out is not None:
        made.write(out, force=force)
    return made


def table_columns(source: Source) -> tuple[list[tuple[str, GuessedKind]], list[str], list[str]]:
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


def _word(found: Column) -> GuessedKind | None:
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


def _places(header: Sequence[str], name: str) -> list[str]:
    return [str(place) for place, other in enumerate(header, 1) if other == name]


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
