"""Clusters as an item of a release: a table of soft bins is measured like any other, and clustered afterwards."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tetraodon.domain import Domain
from tetraodon.errors import Refused
from tetraodon.exact.arrays import Floats, Ints
from tetraodon.mechanism.kmeans.plan import plan_kmeans
from tetraodon.mechanism.kmeans.synopsis import SoftAxis, Synopsis, cluster, nearest, weighted_points
from tetraodon.mechanism.one_scale import Direct
from tetraodon.mechanism.strategy import Strategy
from tetraodon.policy.policy import Policy
from tetraodon.query.contribution import One
from tetraodon.query.kmeans import KMeans
from tetraodon.query.linear import LinearQuery
from tetraodon.query.query import Query
from tetraodon.query.soft_bins import Product, Soft

STARTS, ROUNDS = 10, 25


@dataclass(frozen=True)
class SynopsisTable(Direct):
    """Noise on a table of soft bins, to be clustered."""

    name = "synopsis"
    answers = (KMeans,)
    words = "noise on soft bins, then clustered"

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        """The table to cluster: exact where the policy lets it be, else the soft bins that are best at the budget.

        Why   Lloyd's steps with noise would need the data again after every step; a table is measured once.
        """
        assert isinstance(query, KMeans)
        found = plan_kmeans(policy, policy.epsilon, query.clusters, names=query.attributes, method="table")
        if found.synopsis is None:
            raise Refused("the budget is too small to learn any clusters", fix="give it more budget, or a larger share")
        table, total = found.synopsis.query, found.totals.query if found.totals else LinearQuery(One())
        yield Strategy(self, (table,), (total,) if policy.size_is_public and total != table else ())


SYNOPSIS = SynopsisTable()


def synopsis_of(measured: LinearQuery, query: KMeans, domain: Domain) -> Synopsis:
    """The table that a measurement describes, one axis for each attribute."""
    kind = measured.contribution
    parts = kind.parts if isinstance(kind, Product) else (kind,) if isinstance(kind, Soft) else ()
    soft = {part.name: part for part in parts}
    bins = {split.name: np.asarray(split.of(np.arange(domain[split.name].size))) for split in measured.by}
    axes = []
    for name in query.attributes:
        nothing = np.zeros(domain[name].size, np.int64)
        if name in soft:
            places = soft[name].places(np.arange(domain[name].size))
            axes.append(SoftAxis(name, soft[name].rows, soft[name].units, *places, soft[name]))
        elif name in bins:
            axes.append(SoftAxis(name, int(bins[name].max()) + 1, 1, bins[name], nothing))
        else:
            axes.append(SoftAxis(name, 1, 1, nothing, nothing))
    return Synopsis(tuple(axes))


def centres_of(
    query: KMeans,
    domain: Domain,
    measured: LinearQuery,
    answers: Ints,
    variance: float,
    known: tuple[LinearQuery, Ints] | None,
) -> tuple[Floats, Floats]:
    """Centres, one row each, the largest cluster first, and about how many records each has.

    Pre   `variance` is that of the noise on `answers`, in parts of a record. `known` are exact totals of the table.
    Post  the same numbers for the same measurement: nothing here is random, or looks at the data.
    """
    synopsis = synopsis_of(measured, query, domain)
    attributes = [domain[name] for name in query.attributes]
    noise = math.sqrt(variance / 2) / synopsis.units
    told = None
    if known is not None:
        coarse = synopsis_of(known[0], query, domain)
        told = coarse, coarse.table(known[1])
    points, weight = weighted_points(synopsis, attributes, synopsis.table(answers), noise, told)
    centres, _ = cluster(points, weight, query.clusters, starts=STARTS, rounds=ROUNDS)
    size = np.bincount(nearest(points, centres), weight, len(centres)).astype(np.float64)
    order = np.argsort(-size, kind="stable")
    return centres[order], size[order]
