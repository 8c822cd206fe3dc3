"""What the metadata of other libraries say about a table: SmartNoise's YAML, and margins as OpenDP has them.

They are somebody's word, and may have been taken from the data. So a draft repeats what they say beside its
placeholders, and confirms nothing: whoever fills it in says that it is publicly known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tetraodon.errors import PolicyError
from tetraodon.policy.source import SIZE_LIMIT, parse
from tetraodon.policy.starter import UNKNOWN, Kind
from tetraodon.wording import listing

KINDS: dict[str, Kind] = {
    **dict.fromkeys(("int", "integer", "i32", "i64", "u32", "u64"), "integer"),
    **dict.fromkeys(("float", "double", "f32", "f64"), "real"),
    **dict.fromkeys(("string", "str", "text"), "text"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("datetime", "date"), "date"),
}
"""The words of SmartNoise and of OpenDP for the types of columns, and ours."""
MOST_TABLES = 8


@dataclass(frozen=True, slots=True)
class Metadata:
    """A table as it is described: its columns with their kinds, what is said of each, and what is said of the table."""

    dataset: str
    columns: tuple[tuple[str, Kind], ...]
    told: Mapping[str, str] = field(default_factory=dict)
    key: str = ""
    rows: str = ""
    remarks: tuple[str, ...] = ()


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
        told={name: said for name, about in columns.items() if (said := "; ".join(_said(about)))},
        key=key,
        rows=str(table.get("max_ids") or ""),
        remarks=(*_of_the_table(table), *_of_margins(margins, path.name)),
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


def _true(word: Any) -> bool:
    return str(word).lower() in ("true", "yes", "1")


def _said(about: Mapping[str, Any]) -> Iterator[str]:
    """What is said of a column, in words."""
    lower, upper = (about.get(end) if isinstance(about.get(end), str) else None for end in ("lower", "upper"))
    if lower is not None or upper is not None:
        yield f"the metadata say from {lower or 'unknown'} to {upper or 'unknown'}"
    if isinstance(count := about.get("cardinality"), str):
        yield f"the metadata say {count} different values"
    if isinstance(stand_in := about.get("missing_value"), str):
        yield f"the metadata say that {stand_in} stands for a missing value"
    if about.get("nullable") is not None and not _true(about["nullable"]):
        yield "the metadata say that no value is missing"


def _of_the_table(table: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(rows := table.get("rows"), str):
        yield f"The metadata say that there are {rows} rows: `presence: public` only if everybody may know it."
    if _true(table.get("row_privacy")):
        yield "The metadata say that every row is a person of its own."
    if _true(table.get("censor_dims")):
        yield "The metadata say that groups nobody listed are left out; here every value is listed."


def _of_margins(margins: Any, name: str) -> Iterator[str]:
    """Margins of OpenDP: what is known of the groups by some columns."""
    if margins is None:
        return
    if not isinstance(margins, list) or not all(isinstance(margin, dict) for margin in margins):
        raise PolicyError("`margins` is not a list of margins", fix="write `- {by: [sex], max_groups: 2}`", where=name)
    for margin in margins:
        by = margin.get("by") or []
        whom = f"By {listing(map(str, by))}" if isinstance(by, list) and by else "Over all records"
        said = [f"at most {margin[word]} {what}" for word, what in _SIZES.items() if isinstance(margin.get(word), str)]
        if (known := _INVARIANT.get(str(margin.get("invariant")).lower())) is not None:
            said.append(known)
        if said:
            yield f"{whom} the margins say: {listing(said)}. Figures that are known belong under `known`."


_SIZES = {
    "max_length": "records in a group",
    "max_partition_length": "records in a group",
    "max_groups": "groups",
    "max_num_partitions": "groups",
}
_INVARIANT = {"keys": "which groups there are is known", "lengths": "how many records each group has is known"}
