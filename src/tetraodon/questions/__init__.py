"""Questions as a curator writes them, in the policy file or in Python, with the same words: one file for each kind."""

from tetraodon.domain import Domain
from tetraodon.errors import QueryError
from tetraodon.questions.cdf import Cdf, cdf
from tetraodon.questions.correlation import Correlation, correlation
from tetraodon.questions.count import Count, count
from tetraodon.questions.covariance import Covariance, covariance
from tetraodon.questions.histogram import Histogram, histogram
from tetraodon.questions.kmeans import KMeans, kmeans
from tetraodon.questions.mean import Mean, mean
from tetraodon.questions.people import PeopleCount, people
from tetraodon.questions.per_person import MeanPerPerson, TotalPerPerson, mean_per_person, total_per_person
from tetraodon.questions.proportion import Proportion, proportion
from tetraodon.questions.quantiles import Quantiles, median, quantiles
from tetraodon.questions.query import Query
from tetraodon.questions.ranges import Ranges, ranges
from tetraodon.questions.ratio import RatioOfTotals, ratio
from tetraodon.questions.rectangles import Rectangles, rectangles
from tetraodon.questions.regression import Regression, regression
from tetraodon.questions.standard_deviation import StandardDeviation, standard_deviation
from tetraodon.questions.synthetic_records import SyntheticRecords, synthetic
from tetraodon.questions.total import Total, total
from tetraodon.questions.variance import Variance, variance
from tetraodon.workload.linear import LinearQuery

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
"""Every kind of question there is, in the order in which a mistaken item is told of them."""


def linear(query: Query, domain: Domain) -> LinearQuery:
    """The linear query over the domain that a question asks for.

    A mean is the sum it divides, a variance the sum of squares, a covariance that of products; quantiles are the
    running counts they are read from; rectangles and clusters are the table of the values they are about.
    """
    if not isinstance(query, Query):
        raise QueryError(
            "this is no question",
            fix="write td.histogram('age') or the like; td.certify takes a matrix",
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
