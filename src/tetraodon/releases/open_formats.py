"""Answers in open formats: Parquet and CSV, JSON-stat, Frictionless data packages, CSV on the Web.

Both describe the CSV files as they are, the apostrophes of `column_files` included. Hashes of files are left to
release.json. Nothing is said here that the policy, the plan and the answers do not say.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Domain
from tetraodon.query.query import MEASURED, Columns, Drawing, column_name
from tetraodon.releases.answer import Answer
from tetraodon.releases.plan import PlannedItem
from tetraodon.releases.release import Release
from tetraodon.releases.report import axis_of, value_column
from tetraodon.report.picture import DrawnAxis

if TYPE_CHECKING:
    import pyarrow

# -- column files -----------------------------------------------------------------------------------
# Columns to Parquet and CSV files, whose cells no spreadsheet runs as formulas.
#
# A text that begins with one of = + - @, a tab or a line break, in their wide forms too, gets an apostrophe in front;
# so does one that begins with apostrophes before such a character, so that taking one off always gives the text back.
# Numbers stay numbers, and so do texts that consist of numbers, such as the bin `-5..0`.

RISKY = "'*[=+@\t\r\n＝＋－＠-].*"
NUMBERS = r"[+-]?[0-9]+([.,][0-9]+)?(\.\.[+-]?[0-9]+([.,][0-9]+)?)?"
"""The same patterns for Python and for DuckDB, of whole cells."""

PARQUET: Mapping[str, Any] = {
    "compression": "gzip",
    "compression_level": 1,
    "use_dictionary": False,
    "data_page_version": "1.0",
}
"""Files that a verifier without libraries can read: what zlib unpacks, in the plain encoding."""


def write_columns(stem: Path, columns: dict[str, NDArray[Any]], *, csv: bool = True) -> None:
    """Write `stem.parquet`, and `stem.csv` beside it. Raises OSError when the disk does not take them."""
    import pyarrow
    from pyarrow import csv as csv_files
    from pyarrow import parquet

    def table(columns: Mapping[str, NDArray[Any]]) -> pyarrow.Table:
        made = [_arrow(one) for one in columns.values()]
        fields = [pyarrow.field(name, one.type, nullable=False) for name, one in zip(columns, made, strict=True)]
        return pyarrow.table(made, pyarrow.schema(fields))

    parquet.write_table(table(columns), stem.with_name(f"{stem.name}.parquet"), **PARQUET)
    if csv:
        spelt = {harmless_cell(name): _spelt(column) for name, column in columns.items()}
        csv_files.write_csv(table(spelt), stem.with_name(f"{stem.name}.csv"))


def _arrow(column: NDArray[Any]) -> pyarrow.Array:
    """A column from its buffers: `pyarrow.array` would import pandas, which takes as long as the rest of a release."""
    import pyarrow

    match column.dtype.kind:
        case "O":
            texts = [str(text).encode() for text in column.tolist()]
            ends = np.cumsum([0, *map(len, texts)], dtype=np.int64)
            parts = pyarrow.py_buffer(ends), pyarrow.py_buffer(b"".join(texts))
            return pyarrow.LargeStringArray.from_buffers(len(texts), *parts).cast(pyarrow.string())
        case "b":
            return _arrow(column.astype(np.int64)).cast(pyarrow.bool_())
        case "M":
            days = column.astype("datetime64[D]").astype(np.int32)
            return pyarrow.Array.from_buffers(pyarrow.date32(), len(days), [None, pyarrow.py_buffer(days)])
        case kind:
            numbers, of = (
                (column.astype(np.float64), pyarrow.float64())
                if kind == "f"
                else (column.astype(np.int64), pyarrow.int64())
            )
            return pyarrow.Array.from_buffers(of, len(numbers), [None, pyarrow.py_buffer(numbers)])


def _spelt(column: NDArray[Any]) -> NDArray[Any]:
    """Values whose text reads back as the same."""
    match column.dtype.kind:
        case "i" | "f":
            return column
        case "b":
            return np.where(column, "true", "false").astype(object)
        case "O":
            return np.array([harmless_cell(value) for value in column.tolist()], object)
        case _:
            return column.astype(str).astype(object)


def harmless_cell(text: str) -> str:
    """A text as a cell of a CSV file.

    >>> harmless_cell("=cmd|' /C calc'!A0"), harmless_cell("-5..0"), harmless_cell("plain")
    ("'=cmd|' /C calc'!A0", '-5..0', 'plain')
    """
    risky = re.fullmatch(RISKY, text, re.DOTALL) and not re.fullmatch(NUMBERS, text, re.ASCII)
    return f"'{text}" if risky else text


def harmless_sql(column: str) -> str:
    """The same rule as an expression of DuckDB over a column of text."""
    risky, numbers = (pattern.replace("'", "''") for pattern in (RISKY, NUMBERS))
    return (
        f"CASE WHEN regexp_full_match({column}, '{risky}', 's') AND NOT regexp_full_match({column}, '{numbers}') "
        f"THEN chr(39) || {column} ELSE {column} END"
    )


# -- json stat --------------------------------------------------------------------------------------
# Tables of answers as JSON-stat 2.0 datasets, which statistics offices and their tools read.
#
# The last dimension, `measure`, has the answer and both ends of its 95% interval.

MOST_CELLS = 50_000
"""Longer tables are in Parquet and CSV only: JSON would take many times their size."""


def is_json_table(item: PlannedItem, domain: Domain) -> bool:
    """Whether an answer is a table of numbers of a size that JSON is good for; the plan alone decides."""
    drawing = _drawing(item, domain)
    if drawing is None or (drawing.of is not None and not drawing.of.numeric):
        return False
    return math.prod(axis_of(side, domain).size for side in drawing.sides) <= MOST_CELLS


def json_stat_text(answer: Answer, title: str, when: str) -> str:
    """An answer as a dataset.

    Pre   `is_json_table` of its item.
    """
    drawing, columns = _drawing(answer.item, answer.domain), answer.columns
    assert drawing is not None, "it is a table"
    axes = [axis_of(side, answer.domain) for side in drawing.sides]
    word = value_column(columns)
    measures = {word: drawing.title, "lower": "lower end (95%)", "upper": "upper end (95%)"}
    measures |= {MEASURED: "as measured, not rounded"} if MEASURED in columns else {}
    dimensions = {_free(axis.title, axes[:place]): _dimension(axis) for place, axis in enumerate(axes)}
    metric = _free("measure", axes)
    dimensions[metric] = {"label": "measure", "category": {"index": list(measures), "label": measures}}
    roles = {"metric": [metric]}
    if times := [name for name, axis in zip(dimensions, axes, strict=False) if axis.kind == "date"]:
        roles["time"] = times
    values = np.stack([columns[name].astype(float) for name in measures], axis=-1).ravel().tolist()
    document = {
        "version": "2.0",
        "class": "dataset",
        "label": answer.sentence,
        "source": title,
        "updated": when,
        "id": list(dimensions),
        "size": [len(dimension["category"]["index"]) for dimension in dimensions.values()],
        "role": roles,
        "dimension": dimensions,
        "value": [value if math.isfinite(value) else None for value in values],
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n"


def _drawing(item: PlannedItem, domain: Domain) -> Drawing | None:
    return item.item.query.drawing(domain, item.strategy.table)


def _free(title: str, others: list[DrawnAxis]) -> str:
    """A name of a dimension that no other has."""
    taken = {axis.title for axis in others}
    while title in taken:
        title += "_"
    return title


def _dimension(axis: DrawnAxis) -> dict[str, Any]:
    texts = [axis.text(place) for place in range(axis.size)]
    if len(set(texts)) == len(texts):
        return {"label": axis.title, "category": {"index": texts}}
    numbered = [str(place) for place in range(axis.size)]
    return {"label": axis.title, "category": {"index": numbered, "label": dict(zip(numbered, texts, strict=True))}}


# -- table metadata ---------------------------------------------------------------------------------

PACKAGE = "datapackage.json"
CSV_ON_THE_WEB = "answers/csv-metadata.json"
"""Where readers of CSV on the Web look for it, beside the files: section 5.3 of its model for tabular data."""
METADATA_TYPES = {
    "i": ("integer", "integer"),
    "f": ("number", "double"),
    "b": ("boolean", "boolean"),
    "M": ("date", "date"),
}
"""By the kind of an array: the word of Frictionless, and that of CSV on the Web; all else is text."""
MEANING = {
    "lower": "The lower end of an interval that holds the true number with a probability of at least 95%.",
    "upper": "The upper end of an interval that holds the true number with a probability of at least 95%.",
    MEASURED: "The number as all measurements together tell it: not rounded, below zero where noise took it there.",
}


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a CSV file: its heading there, what it is, and what kind of values it has."""

    heading: str
    meaning: str
    kind: str
    web_kind: str


@dataclass(frozen=True, slots=True)
class TableFile:
    """A CSV file of the folder `answers`, as others are told of it."""

    name: str
    title: str
    meaning: str
    fields: tuple[Field, ...]


def table_files(release: Release) -> list[TableFile]:
    """Every answer, those that tell names too."""
    domain = release.plan.policy.domain
    units = {column_name(attribute.name): attribute.unit for attribute in domain}
    return [
        TableFile(
            answer.name,
            answer.item.item.title or answer.name,
            " ".join((answer.sentence, *answer.item.item.notes)),
            tuple(fields_of(answer.columns, units)),
        )
        for answer in (*release.values(), *release.names.values())
    ]


def fields_of(columns: Columns, units: Mapping[str, str]) -> Iterator[Field]:
    """The columns of an answer's CSV file, in order."""
    for name, column in columns.items():
        kind, web_kind = METADATA_TYPES.get(column.dtype.kind, ("string", "string"))
        meaning = f"{name}, in {units[name]}" if units.get(name) else MEANING.get(name, "")
        yield Field(harmless_cell(name), meaning, kind, web_kind)


def package_text(release: Release) -> str:
    """datapackage.json: a tabular data package, with a resource for every answer."""
    policy, files = release.plan.policy, table_files(release)
    office = policy.publisher
    resources = [
        {
            "name": slug,
            "path": f"answers/{file.name}.csv",
            "profile": "tabular-data-resource",
            "title": file.title,
            "description": file.meaning,
            "format": "csv",
            "mediatype": "text/csv",
            "encoding": "utf-8",
            "schema": {"fields": [_named(field) for field in file.fields], "missingValues": []},
        }
        for slug, file in zip(slugs(file.name for file in files), files, strict=True)
    ]
    package = {
        "profile": "tabular-data-package",
        "name": slugs([policy.dataset])[0],
        "title": policy.title or policy.dataset,
        "created": f"{release.when}T00:00:00Z",
        "resources": resources,
    }
    package |= {"sources": [{"title": office.source}]} if office.source else {}
    if office.licence:
        package["licenses"] = [
            {"name": re.sub(r"[^-\w.]+", "-", office.licence, flags=re.ASCII), "title": office.licence}
        ]
    package |= {"contributors": [{"title": office.name, "role": "publisher"}]} if office.name else {}
    return _text(package)


def _named(field: Field) -> dict[str, str]:
    return {"name": field.heading, "type": field.kind} | ({"description": field.meaning} if field.meaning else {})


def web_text(release: Release) -> str:
    """csv-metadata.json: the metadata of CSV on the Web, with a table for every answer."""
    policy = release.plan.policy
    tables = [
        {
            "url": f"{file.name}.csv",  # names of items are letters, digits, . - and _
            "dc:title": file.title,
            "dc:description": file.meaning,
            "tableSchema": {"columns": [_column(place, field) for place, field in enumerate(file.fields, 1)]},
        }
        for file in table_files(release)
    ]
    group = {
        "@context": "http://www.w3.org/ns/csvw",
        "dc:title": policy.title or policy.dataset,
        "dc:issued": {"@value": release.when, "@type": "xsd:date"},
        "tables": tables,
    }
    words = {"dc:publisher": policy.publisher.name, "dc:license": policy.publisher.licence}
    return _text(group | {word: text for word, text in words.items() if text})


def _column(place: int, field: Field) -> dict[str, Any]:
    """Names of columns become parts of addresses there, so those that are not plain ASCII words are numbered."""
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", field.heading)
    column = {
        "name": field.heading if plain else f"column_{place}",
        "titles": field.heading,
        "datatype": field.web_kind,
    }
    return column | ({"dc:description": field.meaning} if field.meaning else {})


def slugs(names: Iterable[str]) -> list[str]:
    """Names of small ASCII letters, digits, `.`, `-` and `_`, as data packages have them; each once.

    >>> slugs(["Ages", "ages", "größe"])
    ['ages', 'ages-2', 'gr-e']
    """
    found: list[str] = []
    for name in names:
        plain = re.sub(r"[^a-z0-9._]+", "-", name.lower()).strip("-.") or "answer"
        free = (plain if number == 1 else f"{plain}-{number}" for number in range(1, len(found) + 2))
        found.append(next(slug for slug in free if slug not in found))
    return found


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
