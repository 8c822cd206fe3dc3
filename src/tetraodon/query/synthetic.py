"""`synthetic`: made-up records that have about the counts of the real ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tetraodon.domain import Domain
from tetraodon.errors import QueryError
from tetraodon.query.counts import Histogram, histogram
from tetraodon.query.linear import LinearQuery
from tetraodon.query.query import (
    Answered,
    Columns,
    Declared,
    Json,
    Key,
    Query,
    attribute_values,
    column_name,
    names_of,
)
from tetraodon.wording import listing

MOST_VALUES = 20_000_000
"""Records times attributes."""
WRITE = "write `synthetic: {records: 1000}`, and `attributes` and `tables` beside `records` if you like"


def _asked(value: object) -> dict[str, Any]:
    """How many records, of which attributes, from how many tables."""
    if not isinstance(value, dict):
        raise QueryError("something else stands where `synthetic` says how many records", fix=WRITE)
    if "records" not in value or value.keys() - {"records", "attributes", "tables"}:
        raise QueryError("`synthetic` has other keys than `records`, `attributes` and `tables`", fix=WRITE)
    names = value.get("attributes", [])
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise QueryError("`attributes` is not a list of names", fix=WRITE)
    found: dict[str, Any] = {"attributes": tuple(names)}
    for key in ("records", "tables"):
        text = str(value.get(key, 0)).replace("_", "")
        if not text.isdecimal() or len(text) > 9:
            raise QueryError(f"`{key}` is not a whole number above zero", fix=WRITE)
        found[key] = int(text)
    return found


_SCHEMA: Json = {
    "type": "object",
    "properties": {
        "records": {"type": "integer", "minimum": 1},
        "attributes": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        "tables": {"type": "integer", "minimum": 1},
    },
    "required": ["records"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class SyntheticRecords(Query):
    """Made-up records, from counts by each attribute and by tables of two or three that are chosen."""

    records: int
    counts: Histogram
    tables: int = field(default=0)
    """How many tables are chosen; 0 for three for every two attributes."""

    words: ClassVar = ("synthetic",)
    keys: ClassVar = {"synthetic": Key(_asked, None, _SCHEMA), "bins": Histogram.keys["bins"]}
    column: ClassVar = "record"
    numbers: ClassVar = False
    of_parts: ClassVar = False
    if_too_long: ClassVar = "give `bins` for attributes of many values, or name fewer `attributes`"

    def __post_init__(self) -> None:
        names = self.counts.attributes
        if not names or len(set(names)) < len(names):
            raise QueryError("the attributes of made-up records are not named once each", fix="name each once")
        most = MOST_VALUES // len(names)
        if type(self.records) is not int or not 1 <= self.records <= most:
            raise QueryError("so many records cannot be made up", fix=f"ask for 1 to {most:,} of them")
        if type(self.tables) is not int or self.tables < 0:
            raise QueryError("the number of tables is not a whole number", fix="write `tables: 20`, or leave it out")

    @classmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> SyntheticRecords:
        asked = written["synthetic"]
        names = asked["attributes"] or declared.domain.names
        counts = Histogram.read({"histogram": names, "bins": written["bins"], "weight": "", "by": ()}, declared)
        return cls(asked["records"], counts, asked["tables"])

    def document(self) -> Json:
        counts = self.counts.document()
        asked = {"records": self.records, "attributes": counts.pop("histogram")}
        return {"synthetic": asked | ({"tables": self.tables} if self.tables else {}), **counts}

    def linear(self, domain: Domain) -> LinearQuery:
        return self.counts.linear(domain)

    def columns(self, answered: Answered) -> Columns:
        """A number for every record, then its values."""
        codes, domain = answered.made_up(self.records), answered.domain
        values = {column_name(name, "record"): attribute_values(domain[name])[of] for name, of in codes.items()}
        return {"record": np.arange(1, self.records + 1)} | values

    def phrases(self, domain: Domain | None) -> dict[str, Any]:
        names = listing(self.counts.attributes, most=len(self.counts.attributes))
        return Query.phrases(self, domain) | {"names": names, "how_many": f"{self.records:,}"}


def synthetic(
    records: int,
    *attributes: str,
    tables: int = 0,
    bins: Mapping[str, Sequence[Sequence[object]] | Mapping[str, Sequence[object]]] | None = None,
) -> SyntheticRecords:
    """So many made-up records of some attributes, from counts by `tables` twos and threes of them that are chosen.

    `bins` are groups of values that are counted as one, as in a histogram; made-up values are spread evenly in them.
    """
    return SyntheticRecords(records, histogram(*names_of(attributes), bins=bins), tables)
