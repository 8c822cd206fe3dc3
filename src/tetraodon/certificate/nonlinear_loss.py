"""Losses of the non-linear mechanisms: joint exponential, adaptive partitions and marginals, local noise.

Noise of scale b moves a record from its place on a scale (`query/local_log_noise.py`), and how many records are shown
at each place is told. Two values d places apart show anything with chances that differ by a factor of at most
e^(d/b), and by that for some places: beyond the farther one, discrete Laplace noise attains it. So what a step costs
is D/b at most, D the most places between two values that are a secret, and that of some step. A histogram of the
attribute stands in for it: a record that changes there moves two counts by one each, which costs D/b with noise of
scale 2b/D. How many records there are is told exactly. Between data sets that differ in several records, each that is
in one and not in the other may cost what the whole scale is long; so known counts and attackers to whom rows depend
on each other are priced by the same histogram, D being the length of the scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import isqrt

from tetraodon.errors import Refused
from tetraodon.noise.laws import LAPLACE, Currency
from tetraodon.policy.attribute_graph import Public, WithinShare
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.query.adaptive_partition import Divided
from tetraodon.query.aim import ChosenTables
from tetraodon.query.contribution import Among, One
from tetraodon.query.linear import LinearQuery, Measurement, Split
from tetraodon.query.local_log_noise import Disguised, disguised_of
from tetraodon.query.ranks import Ranks

# -- divided loss -----------------------------------------------------------------------------------
# What counts of parts lose that are divided where they are large: as much as the counts of all parts would.
#
# Parts are measured in D rounds (`query/adaptive_partition.py`), from the widest to single values. Round l tells the
# counts of those parts whose whole was divided, with noise of scale 1 / r(l), at the rate r(l). A part that it does
# not divide is told once more, at the rate r(l + 1) + ... + r(D - 1), and then no more. Which parts a round looks at
# follows from what earlier rounds told, so that they are the same for two data sets once that is given: the
# logarithms of the likelihood ratios of all rounds add up, each as if its parts had been fixed before. Of two data
# sets let d(P) be by how much the counts of a part P differ.
#
# Bound     Round l loses at most r(l) times the sum of |d(P)| over the parts that it looks at. A part Q that is told
#           once more loses its rate times |d(Q)|. As |d(Q)| is at most the sum of |d(P)| over the parts P of Q of any
#           one later round, that is no more than the later rounds would lose inside Q. So all that is told loses at
#           most
#
#               sum over rounds l and all parts P of round l of r(l) |d(P)|,
#
#           which is what Laplace noise on the counts of all parts of every round loses, at those rates. It holds for
#           any two data sets, so that several rows of a person, groups and attackers are priced as those counts are.
#
# Attained  Let the data sets differ in one record, which is u in the one and v in the other, and let round s be the
#           first that has u and v in different parts. Parts that hold both are told alike. Let each of them be told
#           as so large that it is divided, the parts of u as larger than any count and those of v as smaller than any.
#           Such outputs have a chance, and for them the two likelihoods differ by r(l) for every round l from s on,
#           twice: for the part of v is divided no further, and is told again at the rate of all rounds that are left.
#           That is the bound. It is the same with a record that comes or goes, where one of the two is missing, and
#           with several rows of a person that go the same way. Where known counts make several records differ at
#           once, it is a bound only.
#
# [QYL13] divide once by noisy counts, and [ZXX16] as often as they are large; here small parts get all that is left.


def divided_of(query: LinearQuery) -> Divided | None:
    """The parts that a query divides, if it does."""
    return query.contribution if isinstance(query.contribution, Divided) else None


def begun_with(query: LinearQuery) -> LinearQuery:
    """The exact counts that a query begins with: of all cells, where parts are divided; else itself."""
    divided = divided_of(query)
    return query if divided is None else LinearQuery(One(), (*query.by, *_parts(divided, 1)))


def counts_of_all_parts(measurement: Measurement) -> list[Measurement]:
    """The counts of all parts of every round, in place of those that are divided; others as they are.

    Post  of any two data sets the loss between them is not below that of the given measurement.
    """
    query, given = measurement.query, measurement.query.contribution
    if isinstance(given, Among) and isinstance(given.inner, Divided):
        raise Refused("divided parts are priced for all records only", fix="ask without `where`")
    if not isinstance(given, Divided):
        return [measurement]
    return [
        Measurement(LinearQuery(One(), (*query.by, *_parts(given, width))), given.scale_of(measurement.scale, place))
        for place, width in enumerate(given.widths)
    ]


def _parts(divided: Divided, width: int) -> list[Split]:
    """Splits by the parts of a width."""
    if width == 1:
        return [Split(name) for name in divided.names]
    sides = zip(divided.names, divided.sizes, strict=True)
    return [Split(name, tuple(code // width for code in range(size))) for name, size in sides]


def divided_among(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Those of the measurements that divide parts."""
    return [one for one in measurements if divided_of(one.query) is not None]


# -- rank loss --------------------------------------------------------------------------------------
# What values chosen by their ranks lose: never more than two linear queries with Laplace noise.
#
# Cuts c of an attribute's values are drawn with weights e^(-U(c)/b), where U(c) is the sum over the gaps j between
# neighbouring cuts of |n_j - g_j n|: n records of which n_j lie in the gap, and a part g_j should
# (`noise/joint_exponential.py`). Of two data sets, let H be the distance of their histograms, in L1, and N that of
# their numbers of records, each added up over the cells of `by`. Then no U(c) differs by more than D = H + (1 - 2g)
# N, g the least g_j:
#
# - a record that moves from one gap to another changes two n_j by one each: 2, which is H;
# - one that comes or goes changes its own n_j - g_j n by 1 - g_j, and the others by what the others' parts add up to:
#   2 - 2 g_j in all, at most H + (1 - 2g) N;
# - any change is made of such changes, of as many that come or go as N says.
#
# So every weight, and the sum of all, changes by a factor of e^(D/b) at most, and a chance by e^(2D/b): the loss of
# noise of scale b/2 on the histogram, and of scale b / (2 - 4g) on the number of records ([GJK21] for one step of
# either kind). That holds between any two data sets, so that known counts, several rows of a person and attackers are
# priced as those two queries are. It is a bound: the sum of all weights and the weight of one output hardly ever
# change by so much, in opposite directions, at once.


def ranks_of(query: LinearQuery) -> Ranks | None:
    """What is chosen by rank, if anything is."""
    given = query.contribution
    inner = given.inner if isinstance(given, Among) else given
    return inner if isinstance(inner, Ranks) else None


def dominated(measurements: Sequence[Measurement]) -> list[Measurement]:
    """The same measurements, with linear queries that lose as much or more in place of whatever is not linear.

    Post  of any two data sets the loss between them is not below that of the given measurements.
    """
    return [other for one in measurements for found in _dominating_ranks(one) for other in counts_of_all_parts(found)]


def _dominating_ranks(measurement: Measurement) -> tuple[Measurement, ...]:
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


# -- choice loss ------------------------------------------------------------------------------------
# What tables lose that are chosen one after the other: never more than a few linear queries with the same noise.
#
# Of two data sets that differ in one record, let H_q be the L1 distance of their tables q, and H that of the table of
# all attributes that are not free. No H_q is larger than H. A table q is chosen with a chance proportional to e^(w
# S_q / b), where S_q is the L1 distance of its counts from numbers that follow from what was told before, less a
# constant, and w is its number of attributes over the most that a table has, at most 1:
#
# - w S_q differs by at most H_q, by the triangle inequality. So every weight, and the sum of all, changes by a factor
#   of e^(H / b) at most, and a chance by e^(2H / b): the loss of Laplace noise of scale b / 2 on the table of
#   everything. The log of the ratio lies in an interval of length 2H / b, so that by Hoeffding's lemma the choice is
#   (H / b)^2 / 2-zCDP ([CR21]). Where a record is replaced H^2 is at most twice the squared L2 distance: the loss of
#   Gaussian noise of scale b / sqrt(2). Where one comes or goes both are 1: that of scale b. So if presence alone is a
#   secret, choices cost half as much.
# - The table chosen then gets noise of scale s. It moves only where one of its attributes does, and by as much as one
#   attribute by itself. So `rounds` of them lose no more than that many tables of everything; and if at most d of them
#   share an attribute, no more than d tables of each attribute by itself.
#
# What comes later depends on what was told before and on nothing else, so that on every way the losses add up; for zCDP
# that is [FZ21]. One row changes at a time: several rows of a person are several such steps. Where counts are known,
# neighbours differ in several records whose single tables may cancel while larger ones do not, and this is refused.


def choices_of(query: LinearQuery) -> ChosenTables | None:
    """The tables that are chosen, if any are."""
    return query.contribution if isinstance(query.contribution, ChosenTables) else None


def with_choices(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Those of the measurements that choose tables."""
    return [one for one in measurements if choices_of(one.query) is not None]


def without_choices(measurements: Sequence[Measurement], *, alone: bool = False) -> list[Measurement]:
    """The same measurements, with linear queries that lose as much or more in place of tables that are chosen.

    Pre   `alone` only if records come or go, and are never replaced.
    Post  of any two data sets that differ in one record the loss is not below that of the given measurements.
    """
    found: list[Measurement] = []
    for one in measurements:
        tables = choices_of(one.query)
        found += [one] if tables is None else _dominating_choice(tables, one, replaced=not alone)
    return found


def presence_alone(graph: SecretGraph) -> bool:
    """Whether records come or go in this graph, and are never replaced."""
    return graph.absent and graph.groups is None and not replace(graph, absent=False).has_edges


def _dominating_choice(tables: ChosenTables, one: Measurement, *, replaced: bool) -> Iterator[Measurement]:
    pure, secret = one.noise.currency is Currency.PURE, [tables.splits[place] for place in tables.secret]
    alone, choice = (one.scale * wider for wider in tables.wider(one.noise))

    def copies(query: LinearQuery, scale: Fraction, times: int) -> Iterator[Measurement]:
        """What loses as much as so many measurements of a query, exactly: losses add up, or their squares do."""
        for part in (times,) if pure else four_squares(times):
            yield Measurement(query, scale / part, one.noise)

    for split in secret:
        single = LinearQuery(One(), (split,))
        yield Measurement(single, alone, one.noise)
        yield from copies(single, one.scale, tables.most) if tables.most else ()
    if tables.rounds:
        everything, times = LinearQuery(One(), tuple(secret)), 2 if pure or replaced else 1
        yield from copies(everything, choice, times * tables.rounds)
        yield from () if tables.most else copies(everything, one.scale, tables.rounds)
    if tables.total:
        yield Measurement(LinearQuery(One(), tuple(tables.splits[place] for place in tables.free)), Fraction(0))


@lru_cache(maxsize=1024)
def four_squares(number: int, parts: int = 4) -> tuple[int, ...]:
    """Whole numbers, four at most, whose squares add up to a number, as there always are (Lagrange); else none.

    >>> four_squares(19), four_squares(7), four_squares(7, parts=3)
    ((4, 1, 1, 1), (2, 1, 1, 1), ())
    """
    for first in range(isqrt(number), 0, -1):
        rest = number - first**2
        if not rest:
            return (first,)
        if parts > 1 and (found := four_squares(rest, parts - 1)):
            return (first, *found)
    return ()


# -- shown loss -------------------------------------------------------------------------------------


def counts_of_shown(measurements: Sequence[Measurement], graph: SecretGraph | None = None) -> list[Measurement]:
    """The measurements, with histograms in place of values that are shown with noise; without a graph, of any change.

    Post  for any two data sets that the graph joins, what these lose is not below what the given ones do.
    """
    return [found for one in measurements for found in _counted(one, graph)]


def _counted(measurement: Measurement, graph: SecretGraph | None) -> Iterator[Measurement]:
    given, query = measurement.query.contribution, measurement.query
    if isinstance(given, Among) and isinstance(given.inner, Disguised):
        raise Refused(
            "noise on each record is priced for all records only", fix="ask without `where`, or `by` the attribute"
        )
    if not isinstance(given, Disguised):
        yield measurement
        return
    yield Measurement(LinearQuery(One(), query.by), Fraction(0))
    if apart := places_apart(given, graph):
        counts = LinearQuery(One(), (*query.by, Split(given.attribute.name)))
        yield Measurement(counts, measurement.scale * 2 / apart, measurement.noise)


def places_apart(shown: Disguised, graph: SecretGraph | None) -> int:
    """The most places by which a step moves a record; the length of the scale where nobody looks closer."""
    if graph is None or graph.known:
        return shown.length
    graphs = [graph] if graph.groups is None else [one for one, _ in graph.by_graph]
    return max(_along(shown, one) for one in graphs)


def _along(shown: Disguised, graph: SecretGraph) -> int:
    match graph.factor_of(shown.attribute.name).graph:
        case Public():
            return 0
        case WithinShare(share=share):
            return shown.farthest(share)[0]
        case _:
            return shown.length
