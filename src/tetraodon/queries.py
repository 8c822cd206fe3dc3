"""The queries that a release answers, one function for each kind, with the words of the policy file.

>>> histogram("age", "sex")
Histogram(attributes=('age', 'sex'), bins=(), weight='', called=())
"""

from tetraodon.query.kinds import (
    cdf,
    correlation,
    count,
    covariance,
    histogram,
    kmeans,
    mean,
    mean_per_person,
    median,
    people,
    proportion,
    quantiles,
    ranges,
    ratio,
    rectangles,
    regression,
    standard_deviation,
    synthetic,
    total,
    total_per_person,
    variance,
)

__all__ = [
    "cdf",
    "correlation",
    "count",
    "covariance",
    "histogram",
    "kmeans",
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


def __dir__() -> list[str]:
    return __all__
