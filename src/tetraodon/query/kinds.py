"""Every kind of query, and the functions that make them."""

from tetraodon.domain import Domain
from tetraodon.errors import QueryError
from tetraodon.query.association import (
    Correlation,
    Covariance,
    RatioOfTotals,
    Regression,
    correlation,
    covariance,
    ratio,
    regression,
)
from tetraodon.query.counts import Count, Histogram, count, histogram
from tetraodon.query.kmeans import KMeans, kmeans
from tetraodon.query.linear import LinearQuery
from tetraodon.query.moments import (
    Mean,
    Proportion,
    StandardDeviation,
    Total,
    Variance,
    mean,
    proportion,
    standard_deviation,
    total,
    variance,
)
from tetraodon.query.people import MeanPerPerson, PeopleCount, TotalPerPerson, mean_per_person, people, total_per_person
from tetraodon.query.query import Query
from tetraodon.query.ranges import Cdf, Quantiles, Ranges, Rectangles, cdf, median, quantiles, ranges, rectangles
from tetraodon.query.synthetic import SyntheticRecords, synthetic

KINDS: tuple[type[Query], ...] = (
    Count,
    Histogram,
    Cdf,
    Ranges,
    Total,
    Mean,
    Proportion,
    RatioOfTotals,
    Variance,
    StandardDeviation,
    Covariance,
    Correlation,
    Regression,
    Quantiles,
    Rectangles,
    KMeans,
    SyntheticRecords,
    PeopleCount,
    TotalPerPerson,
    MeanPerPerson,
)
"""Every kind of question there is, in the order in which errors name them."""


def linear(query: Query, domain: Domain) -> LinearQuery:
    """The linear query over the domain that a question asks for.

    A mean is the sum it divides, a variance the sum of squares, a covariance that of products; quantiles are the
    running counts they are read from; rectangles and clusters are the table of the values they are about.
    """
    if not isinstance(query, Query):
        raise QueryError(
            "this is not a query",
            fix="write td.queries.histogram('age') or the like; td.certify takes a matrix",
        )
    return query.linear(domain)


__all__ = [
    "KINDS",
    "Cdf",
    "Correlation",
    "Count",
    "Covariance",
    "Histogram",
    "KMeans",
    "Mean",
    "MeanPerPerson",
    "PeopleCount",
    "Proportion",
    "Quantiles",
    "Query",
    "Ranges",
    "RatioOfTotals",
    "Rectangles",
    "Regression",
    "StandardDeviation",
    "SyntheticRecords",
    "Total",
    "TotalPerPerson",
    "Variance",
    "cdf",
    "correlation",
    "count",
    "covariance",
    "histogram",
    "kmeans",
    "linear",
    "mean",
    "mean_per_person",
    "median",
    "people",
    "proportion",
    "quantiles",
    "ranges",
    "ratio",
    "rectangles",
    "regression",
    "standard_deviation",
    "synthetic",
    "total",
    "total_per_person",
    "variance",
]
