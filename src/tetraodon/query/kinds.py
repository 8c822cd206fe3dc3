"""Every kind of query."""

from tetraodon.domain import Domain
from tetraodon.errors import QueryError
from tetraodon.query.association import Correlation, Covariance, RatioOfTotals, Regression
from tetraodon.query.counts import Count, Histogram
from tetraodon.query.kmeans import KMeans
from tetraodon.query.linear import LinearQuery
from tetraodon.query.moments import Mean, Proportion, StandardDeviation, Total, Variance
from tetraodon.query.people import MeanPerPerson, PeopleCount, TotalPerPerson
from tetraodon.query.query import Query
from tetraodon.query.ranges import Cdf, Quantiles, Ranges, Rectangles
from tetraodon.query.synthetic import SyntheticRecords

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
