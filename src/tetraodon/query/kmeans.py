"""`kmeans`: centres of clusters of records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tetraodon.display import listing, number_of
from tetraodon.domain import Domain
from tetraodon.errors import QueryError
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, Split
from tetraodon.query.query import (
    Answered,
    Columns,
    Declared,
    Drawing,
    Json,
    Key,
    Query,
    column_name,
    splits_of,
    with_unit,
)


@dataclass(frozen=True, slots=True)
class KMeans(Query):
    """Centres of clusters of numeric attributes, and about how many records each has ([HMD14] section 6)."""

    attributes: tuple[str, ...]
    clusters: int

    words: ClassVar = ("kmeans",)
    keys: ClassVar = {"kmeans": Key("names", ()), "clusters": Key("whole number", None)}
    column: ClassVar = "records"
    more_columns: ClassVar = ("cluster",)
    numbers: ClassVar = False
    shaped_by_budget: ClassVar = True
    of_parts: ClassVar = False

    @classmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> KMeans:  # noqa: ARG003
        if written["clusters"] is None:
            raise QueryError("`kmeans` does not say how many clusters", fix="add `clusters: 4`")
        return kmeans(*written["kmeans"], clusters=written["clusters"])

    def document(self) -> Json:
        return {"kmeans": list(self.attributes), "clusters": self.clusters}

    def linear(self, domain: Domain) -> LinearQuery:
        for name in self.attributes:
            if not domain[name].numeric:
                raise QueryError(f"{name} is not a number", fix="cluster integer or real attributes")
        if self.clusters > domain.project(self.attributes).size:
            raise QueryError("there are more clusters than points in the domain", fix="ask for fewer clusters")
        return LinearQuery(One(), splits_of(self.attributes, domain))

    def columns(self, answered: Answered) -> Columns:
        """Centres, the largest cluster first, and about how many records each has."""
        centres, records = answered.clusters()
        places = {column_name(name): centres[:, number] for number, name in enumerate(self.attributes)}
        return {"cluster": np.arange(1, len(centres) + 1)} | places | {"records": records}

    def asked(self) -> str:
        return f"{self.clusters} clusters of {listing(self.attributes, most=len(self.attributes))}"

    def sentence(self, domain: Domain) -> str:
        about_what = listing(with_unit(domain[name]) for name in self.attributes)
        return f"The centres of {number_of(self.clusters, 'cluster')} of {about_what}, and the size of each."

    def unit(self, domain: Domain) -> str:  # noqa: ARG002
        return "records (cell)"

    def off_by(self, off: str, each: str, domain: Domain) -> str:  # noqa: ARG002
        return f"Each cell of the table that was clustered is typically off by {off} records."

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing | None:  # noqa: ARG002
        return None


def kmeans(*attributes: str, clusters: int) -> KMeans:
    """Centres of so many clusters of records."""
    if not attributes or len(set(attributes)) < len(attributes):
        raise QueryError("the attributes to cluster are not named once each", fix="name at least one, each once")
    if isinstance(clusters, bool) or not isinstance(clusters, int) or clusters < 1:
        raise QueryError("the number of clusters is not a whole number above zero", fix="write `clusters: 4`")
    return KMeans(attributes, clusters)
