"""What values chosen by their ranks lose: never more than two linear queries with Laplace noise.

Cuts c of an attribute's values are drawn with weights e^(-U(c)/b), where U(c) is the sum over the gaps j between
neighbouring cuts of |n_j - g_j n|: n records of which n_j lie in the gap, and a part g_j should
(`noise/rank_cuts.py`). Of two data sets, let H be the distance of their histograms, in L1, and N that of their numbers
of records, each added up over the cells of `by`. Then no U(c) differs by more than D = H + (1 - 2g) N, g the least g_j:

- a record that moves from one gap to another changes two n_j by one each: 2, which is H;
- one that comes or goes changes its own n_j - g_j n by 1 - g_j, and the others by what the others' parts add up to:
  2 - 2 g_j in all, at most H + (1 - 2g) N;
- any change is made of such changes, of as many that come or go as N says.

So every weight, and the sum of all, changes by a factor of e^(D/b) at most, and a chance by e^(2D/b): the loss of noise
of scale b/2 on the histogram, and of scale b / (2 - 4g) on the number of records ([GJK21] for one step of either kind).
That holds between any two data sets, so that known counts, several rows of a person and attackers are priced as those
two queries are. It is a bound: the sum of all weights and the weight of one output hardly ever change by so much, in
opposite directions, at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tetraodon.certificate.divided_loss import counts_of_all_parts, divided_of
from tetraodon.errors import Refused
from tetraodon.noise.laws import LAPLACE, Currency
from tetraodon.workload.among import Among
from tetraodon.workload.contribution import One
from tetraodon.workload.disguised import disguised_of
from tetraodon.workload.linear import LinearQuery, Measurement, Split
from tetraodon.workload.ranks import Ranks


def ranks_of(query: LinearQuery) -> Ranks | None:
    """What is chosen by rank, if anything is."""
    given = query.contribution
    inner = given.inner if isinstance(given, Among) else given
    return inner if isinstance(inner, Ranks) else None


def dominated(measurements: Sequence[Measurement]) -> list[Measurement]:
    """The same measurements, with linear queries that lose as much or more in place of whatever is not linear.

    Post  of any two data sets the loss between them is not below that of the given measurements.
    """
    return [other for one in measurements for found in _dominating(one) for other in counts_of_all_parts(found)]


def _dominating(measurement: Measurement) -> tuple[Measurement, ...]:
    query, ranks = measurement.query, ranks_of(measurement.query)
    if ranks is None:
        return (measurement,)
    given, split = query.contribution, Split(ranks.name)
    counted: One | Among = One()
    if isinstance(given, Among):
        place = given.names.index(ranks.name)
        sizes = tuple(given.sizes[given.names.index(name)] for name in given.held)
        counted = Among(One(), given.held, sizes, given.held, given.truth, (), ())
        first, size = given.first[place], given.within[place]
        if size < given.sizes[place]:
            split = Split(ranks.name, ends=(first, first + size - 1))
    half, least = measurement.scale / 2, min(ranks.gaps)
    found = [Measurement(LinearQuery(counted, (*query.by, split)), half)]
    if least < Fraction(1, 2):
        found.append(Measurement(LinearQuery(counted, query.by), half / (1 - 2 * least)))
    return tuple(found)


def chosen_by_rank(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Those of the measurements that are chosen by rank."""
    return [one for one in measurements if ranks_of(one.query) is not None]


def priced_in(currency: Currency, measurements: Sequence[Measurement]) -> bool:
    """Whether all that is not linear is drawn by laws that are priced. Refused beside noise that is counted in zCDP.

    Why   what dominates it does so for likelihood ratios, and squares of losses add up otherwise.
    """
    found = [one for one in measurements if ranks_of(one.query) or divided_of(one.query) or disguised_of(one.query)]
    if any(one.noise is not LAPLACE or not one.scale for one in found):
        return False
    if found and currency is not Currency.PURE:
        raise Refused(
            "values chosen by rank, divided parts and noise on each record are not priced beside Gaussian noise",
            fix="plan with Laplace noise, or release them by themselves",
            where="release",
        )
    return True
