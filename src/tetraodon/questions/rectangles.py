"""`rectangles`: how many records lie in any rectangle of a map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tetraodon.domain import Domain
from tetraodon.errors import QueryError
from tetraodon.questions.answered import Answered, Columns, counted
from tetraodon.questions.data_shape import SHAPE, shape_of
from tetraodon.questions.query import (
    Declared,
    Drawing,
    EveryRectangle,
    Json,
    Key,
    Query,
    Reading,
    ordered,
    splits_of,
)
from tetraodon.wording import listing
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import LinearQuery, Split


@dataclass(frozen=True, slots=True)
class Rectangles(Query):
    """How many records lie in any rectangle of two ordered attributes."""

    attributes: tuple[str, str]
    shape: str = ""

    words: ClassVar = ("rectangles",)
    keys: ClassVar = {"rectangles": Key("names", ()), "shape": SHAPE}
    column: ClassVar = "count"

    @classmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> Rectangles:  # noqa: ARG003
        if len(written["rectangles"]) != 2:
            raise QueryError("rectangles need two attributes", fix="write `rectangles: [x, y]`")
        return rectangles(*written["rectangles"], shape=written["shape"])

    def document(self) -> Json:
        return {"rectangles": list(self.attributes)} | ({"shape": self.shape} if self.shape else {})

    def needs(self) -> tuple[str, ...]:
        return self.attributes

    def linear(self, domain: Domain) -> LinearQuery:
        return LinearQuery(One(), splits_of([ordered(domain, name).name for name in self.attributes], domain))

    def table(self, domain: Domain) -> tuple[Split, ...]:
        return self.linear(domain).by

    def reading(self, domain: Domain) -> Reading:  # noqa: ARG002
        return EveryRectangle()

    def columns(self, answered: Answered) -> Columns:
        assert answered.table is not None, "a map is a table"
        return counted(answered.table, answered)

    def asked(self) -> str:
        return f"all rectangles of {listing(self.attributes)}"

    def sentence(self, domain: Domain) -> str:  # noqa: ARG002
        told = f"How many records lie in any rectangle of {listing(self.attributes)}."
        return f"{told} The table holds every cell; a rectangle is the sum of its cells."

    def off_by(self, off: str, each: str, domain: Domain) -> str:  # noqa: ARG002
        return f"A rectangle picked at random is typically off by {off} records."

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing:  # noqa: ARG002
        return Drawing(table, "records", "Map", names_sides=True, adds_up=True)


def rectangles(x: str, y: str, *, shape: str = "") -> Rectangles:
    """Counts in every rectangle of two ordered attributes, such as longitude and latitude.

    With `shape="sparse"` where most records are known to be in few places.
    """
    if x == y:
        raise QueryError("a rectangle has one attribute for both sides", fix="name two different attributes")
    return Rectangles((x, y), shape_of(shape))
