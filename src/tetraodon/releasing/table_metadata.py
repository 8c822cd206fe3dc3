"""What the columns of the answers are, in two open formats: a Frictionless data package, and CSV on the Web.

Both describe the CSV files as they are, the apostrophes of `column_files` included. Hashes of files are left to
release.json. Nothing is said here that the policy, the plan and the answers do not say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tetraodon.questions.answered import MEASURED, Columns, column_name
from tetraodon.releasing.column_files import harmless_cell
from tetraodon.releasing.release import Release

PACKAGE = "datapackage.json"
CSV_ON_THE_WEB = "answers/csv-metadata.json"
"""Where readers of CSV on the Web look for it, beside the files: section 5.3 of its model for tabular data."""
TYPES = {"i": ("integer", "integer"), "f": ("number", "double"), "b": ("boolean", "boolean"), "M": ("date", "date")}
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
    found = [
        TableFile(
            answer.name,
            answer.item.item.title or answer.name,
            " ".join((answer.sentence, *answer.item.item.notes)),
            tuple(fields_of(answer.columns, units)),
        )
        for answer in release
    ]
    told = release.names.values()
    return found + [
        TableFile(n.name, n.item.item.title or n.name, n.item.sentence, tuple(fields_of(n.columns, units)))
        for n in told
    ]


def fields_of(columns: Columns, units: Mapping[str, str]) -> Iterator[Field]:
    """The columns of an answer's CSV file, in order."""
    for name, column in columns.items():
        kind, web_kind = TYPES.get(column.dtype.kind, ("string", "string"))
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
