"""The queries that a release answers, one function for each kind, with the words of the policy file.

>>> histogram("age", "sex")
Histogram(attributes=('age', 'sex'), bins=(), weight='', called=())
"""

from tetraodon.query.association import correlation, covariance, ratio, regression
from tetraodon.query.counts import count, histogram
from tetraodon.query.kmeans import kmeans
from tetraodon.query.moments import mean, proportion, standard_deviation, total, variance
from tetraodon.query.people import mean_per_person, people, total_per_person
from tetraodon.query.ranges import cdf, median, quantiles, ranges, rectangles
from tetraodon.query.synthetic import synthetic

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
