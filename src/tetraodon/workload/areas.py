"""Questions about several attributes at once that have an order: rectangles of a map, and clusters."""

from __future__ import annotations

from dataclasses import dataclass

from tetraodon.domain import Domain
from tetraodon.errors import QueryError


@dataclass(frozen=True, slots=True)
class Rectangles:
    """How many records lie in any rectangle of two ordered attributes."""

    attributes: tuple[str, str]


@dataclass(frozen=True, slots=True)
class KMeans:
    """Centres of clusters of numeric attributes, and about how many records each has ([HMD14] section 6)."""

    attributes: tuple[str, ...]
    clusters: int


def rectangles(x: str, y: str) -> Rectangles:
    """Counts in every rectangle of two ordered attributes, such as longitude and latitude."""
    if x == y:
        raise QueryError("a rectangle has one attribute for both sides", fix="name two different attributes")
    return Rectangles((x, y))


def kmeans(*attributes: str, clusters: int) -> KMeans:
    """Centres of so many clusters of records."""
    if not attributes or len(set(attributes)) < len(attributes):
        raise QueryError("the attributes to cluster are not named once each", fix="name at least one, each once")
    if isinstance(clusters, bool) or not isinstance(clusters, int) or clusters < 1:
        raise QueryError("the number of clusters is not a whole number above zero", fix="write `clusters: 4`")
    return KMeans(attributes, clusters)


def check_kmeans(query: KMeans, domain: Domain) -> None:
    """Refuse attributes that are not numbers, and more clusters than points."""
    for name in query.attributes:
        if not domain[name].numeric:
            raise QueryError(f"{name} is not a number", fix="cluster integer or real attributes")
    if query.clusters > domain.project(query.attributes).size:
        raise QueryError("there are more clusters than points in the domain", fix="ask for fewer clusters")
