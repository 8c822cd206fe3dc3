"""Queries about people with several rows: `people`, `total per person`, `mean per person`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tetraodon.domain import Domain
from tetraodon.errors import QueryError
from tetraodon.exact.rational import rational
from tetraodon.query.linear import LinearQuery, Split
from tetraodon.query.moments import Between, FromSums, averages
from tetraodon.query.number import EachPerson
from tetraodon.query.query import (
    WHOLE,
    Answered,
    Columns,
    Declared,
    Drawing,
    Json,
    Key,
    Places,
    Query,
    ends_of_counts,
    numeric,
    plain,
    possible_ends,
    with_interval,
)

# -- people -----------------------------------------------------------------------------------------

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

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing:  # noqa: ARG002
        side = Places("rows of a person", tuple(f"{number}" for number in range(1, self.rows + 1)))
        return Drawing((side,) if self.rows else (), "people", "Number of people", names_sides=bool(self.rows))

    def phrases(self, domain: Domain | None) -> dict[str, Any]:
        each = "How many people have each number of rows." if self.rows else "How many people there are."
        return Query.phrases(self, domain) | {"how_many": each, "rows_of": "rows" if self.rows else ""}


def people(*, by_rows: int = 0) -> PeopleCount:
    """How many people there are; with the most rows that a person may have, how many have 1, 2, ... of them."""
    return PeopleCount(by_rows)


def key_of(declared: Declared) -> int:
    """How many rows a person may have. Raises QueryError where no column says whose row it is."""
    if not declared.rows_each:
        raise QueryError("no column says whose row it is", fix="write `individuals: {key: person_id, at most: 3 rows}`")
    return declared.rows_each


# -- per person -------------------------------------------------------------------------------------
# `total per person` and `mean per person`: what people have, each person's rows added up and cut off at a cap.

CAP = Key("text", "")


@dataclass(frozen=True, slots=True)
class PerPerson(FromSums):
    """What people have of a numeric attribute: the sum of each person's rows, at most `cap`."""

    attribute: str
    cap: Fraction

    of_parts: ClassVar = False

    @classmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> PerPerson:
        key_of(declared)
        if not written["cap"]:
            raise QueryError(
                "it does not say what one person may add at most", fix="add `cap: 80`, from public knowledge"
            )
        return cls(written[cls.words[0]], rational(written["cap"], name="cap"))

    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]:
        """What people have together."""
        attribute = numeric(domain, self.attribute)
        if attribute.values.size < 2:
            raise QueryError(f"{attribute.name} has one value only", fix="ask about attributes that vary")
        units = self.cap / EachPerson(attribute, 1).unit
        if units.denominator != 1:
            raise QueryError("the cap is not on the grid of the attribute", fix="write a multiple of its step")
        return (LinearQuery(EachPerson(attribute, int(units))),)

    def phrases(self, domain: Domain | None) -> dict[str, Any]:
        return Query.phrases(self, domain) | {"most": plain(self.cap)}


@dataclass(frozen=True, slots=True)
class TotalPerPerson(PerPerson):
    """The sum over people of what each of them has."""

    words: ClassVar = ("total per person",)
    keys: ClassVar = {"total per person": Key("text", ""), "cap": CAP}
    column: ClassVar = "total"

    def found(self, answered: Answered) -> Between:
        (measured,) = answered.sums[:1]
        unit = float(measured.unit)
        number, reach = measured.numbers[..., 0].astype(np.float64) * unit, unit * measured.off(1)
        return Between(number, np.maximum(number - reach, 0), number + reach)

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing:  # noqa: ARG002
        title = self._said(self.wording.title, domain)
        return Drawing((), title, f"{title} over people".capitalize())


@dataclass(frozen=True, slots=True)
class MeanPerPerson(PerPerson):
    """The average over people of what each of them has."""

    words: ClassVar = ("mean per person",)
    keys: ClassVar = {"mean per person": Key("text", ""), "cap": CAP}
    column: ClassVar = "mean"

    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]:
        return *PerPerson.sums(self, domain), LinearQuery(EachPerson())

    def found(self, answered: Answered) -> Between:
        return averages(answered.sums, 0.0, float(self.cap))


def total_per_person(attribute: str, *, cap: Any) -> TotalPerPerson:
    """The sum over people of an attribute, each person's rows added up to at most `cap`."""
    return TotalPerPerson(attribute, rational(cap, name="cap"))


def mean_per_person(attribute: str, *, cap: Any) -> MeanPerPerson:
    """The average over people of an attribute, each person's rows added up to at most `cap`."""
    return MeanPerPerson(attribute, rational(cap, name="cap"))
