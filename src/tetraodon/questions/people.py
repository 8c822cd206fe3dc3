"""`people`: how many people there are, where several rows may be about one; or how many have each number of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tetraodon.domain import Domain
from tetraodon.errors import QueryError
from tetraodon.questions.answered import Answered, Columns, ends_of_counts, possible_ends, with_interval
from tetraodon.questions.query import WHOLE, Declared, Drawing, Json, Key, Places, Query
from tetraodon.workload.each_person import EachPerson
from tetraodon.workload.linear import LinearQuery, Split

EVERYBODY, BY_ROWS = "all", "by rows"


@dataclass(frozen=True, slots=True)
class PeopleCount(Query):
    """How many people have a row that counts; with `rows`, how many have 1, 2, ... up to so many."""

    rows: int = 0

    words: ClassVar = ("people",)
    keys: ClassVar = {"people": Key("text", ""), "whole": WHOLE}
    column: ClassVar = "people"
    more_columns: ClassVar = ("rows",)
    of_parts: ClassVar = False

    @classmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> PeopleCount:
        if written["people"] not in (EVERYBODY, BY_ROWS):
            raise QueryError(
                "people are counted all together, or by their rows", fix=f"write {EVERYBODY}, or {BY_ROWS}"
            )
        rows = key_of(declared)
        return people(by_rows=rows if written["people"] == BY_ROWS else 0)

    def document(self) -> Json:
        return {"people": BY_ROWS if self.rows else EVERYBODY}

    def linear(self, domain: Domain) -> LinearQuery:  # noqa: ARG002
        return LinearQuery(EachPerson(rows=self.rows or 1))

    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]:
        return (self.linear(domain),)

    def columns(self, answered: Answered) -> Columns:
        (measured,) = answered.sums[:1]
        number, reach = measured.numbers.astype(np.float64), measured.reach(1)
        told = measured.published
        told = np.maximum(np.round(told), 0) if answered.whole else told
        ends = possible_ends if answered.whole else ends_of_counts
        found = with_interval("people", told, *ends(number, reach, told))
        return {"rows": np.arange(1, self.rows + 1)} | found if self.rows else found

    def asked(self) -> str:
        return "people by their number of rows" if self.rows else "people"

    def sentence(self, domain: Domain) -> str:  # noqa: ARG002
        return "How many people have each number of rows." if self.rows else "How many people there are."

    def unit(self, domain: Domain) -> str:  # noqa: ARG002
        return "people"

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing:  # noqa: ARG002
        side = Places("rows of a person", tuple(f"{number}" for number in range(1, self.rows + 1)))
        return Drawing((side,) if self.rows else (), "people", "Number of people", names_sides=bool(self.rows))


def people(*, by_rows: int = 0) -> PeopleCount:
    """How many people there are; with the most rows that a person may have, how many have 1, 2, ... of them."""
    return PeopleCount(by_rows)


def key_of(declared: Declared) -> int:
    """How many rows a person may have. Raises QueryError where no column says whose row it is."""
    if not declared.rows_each:
        raise QueryError("no column says whose row it is", fix="write `individuals: {key: person_id, at most: 3 rows}`")
    return declared.rows_each
