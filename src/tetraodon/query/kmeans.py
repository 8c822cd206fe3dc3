"""`kmeans`: centres of clusters of records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tetraodon.domain import Domain
from tetraodon.errors import QueryError
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery
from tetraodon.query.query import Answered, Columns, Key, Query, column_name, splits_of
from tetraodon.wording import number_of


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

    def __post_init__(self) -> None:
        if self.clusters is None:
            raise QueryError("`kmeans` does not say how many clusters", fix="add `clusters: 4`")
        if not self.attributes or len(set(self.attributes)) < len(self.attributes):
            raise QueryError("the attributes to cluster are not named once each", fix="name at least one, each once")
        if isinstance(self.clusters, bool) or not isinstance(self.clusters, int) or self.clusters < 1:
            raise QueryError("the number of clusters is not a whole number above zero", fix="write `clusters: 4`")

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

    def phrases(self, domain: Domain | None) -> dict[str, Any]:
        return Query.phrases(self, domain) | {"how_many": number_of(self.clusters, "cluster")}


def kmeans(*attributes: str, clusters: int) -> KMeans:
    """Centres of so many clusters of records."""
    return KMeans(attributes, clusters)
