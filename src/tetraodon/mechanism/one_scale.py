"""Noise of one scale on answers, cells or running counts; no noise where sensitivity is zero; totals that are free."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias, assert_never

import numpy as np

from tetraodon.certificate.kernel import certify_measurements, sensitivity_of
from tetraodon.domain import Attribute, Domain
from tetraodon.errors import Refused
from tetraodon.exact.arrays import Bools, Floats, Ints
from tetraodon.inference.consistency import Margin, common_coarsening
from tetraodon.mechanism.strategy import (
    AskedPairs,
    Ends,
    Measured,
    Mechanism,
    Scaled,
    Strategy,
    asked_along,
    lengths,
    reading_of,
)
from tetraodon.policy.attribute_graph import Everything, Public, Within
from tetraodon.policy.joint_graph import JointMetric, Regions
from tetraodon.policy.known import Marginal, known_query
from tetraodon.policy.policy import Policy
from tetraodon.query.contribution import Answerers, One, Prefix
from tetraodon.query.linear import LinearQuery, Measurement, Split
from tetraodon.query.number import EachPerson, Number
from tetraodon.query.query import Cells, EveryRange, EveryRectangle, ListedRanges, Query, RunningCounts

# -- one scale --------------------------------------------------------------------------------------
# Mechanisms whose noisy numbers all have one scale: how far a sum can be off follows from how many it adds up.


@dataclass(frozen=True)
class OneScale(Mechanism):
    """`v` is the variance of one noisy number; terms are noisy numbers that are added up, or subtracted."""

    @abstractmethod
    def variance_factor(self, query: Query, strategy: Strategy, domain: Domain) -> float:
        """Mean over the answers of their variance, in multiples of v."""

    @abstractmethod
    def most_terms(self, query: Query, at: Scaled) -> int:
        """The most terms that one answer adds up, for a bound that holds for each answer."""

    def terms(self, at: Scaled, mask: Bools) -> int:
        """The terms that the sum over a mask needs: each is in it once, or taken away once."""
        parts = self.parts(at, mask.reshape(1, -1).astype(np.float64))
        if parts is None:
            raise self.no_table()
        return round(sum(float(np.abs(part).sum()) for part in parts))

    def box_terms(self, at: Scaled, low: Ends, high: Ends) -> Ints:
        """The terms that sums over boxes need: here one by one."""
        return self.over_boxes(at, low, high, lambda mask: self.terms(at, mask)).astype(np.int64)

    def expected_error(self, query: Query, at: Scaled) -> float:
        unit, factor = _unit(at), self.variance_factor(query, at.strategy, at.domain)
        return math.sqrt(at.strategy.noise.variance(at.scale) * factor) * unit

    def largest_error(self, query: Query, at: Scaled, confidence: Fraction) -> float:
        return at.strategy.noise.sum_quantile(at.scale, self.most_terms(query, at), confidence) * _unit(at)

    def reach(self, at: Scaled, mask: Bools, confidence: Fraction) -> float:
        return at.strategy.noise.sum_quantile(at.scale, self.terms(at, mask), confidence)

    def is_certain(self, at: Scaled, mask: Bools) -> bool:
        return self.terms(at, mask) == 0

    def box_reach(self, at: Scaled, low: Ends, high: Ends, confidence: Fraction) -> Floats:
        terms = self.box_terms(at, low, high)
        kinds, which = np.unique(terms, return_inverse=True)
        reaches = [at.strategy.noise.sum_quantile(at.scale, int(kind), confidence) for kind in kinds]
        return np.array(reaches, np.float64)[which].reshape(terms.shape)


def _unit(at: Scaled) -> float:
    return float(at.strategy.noisy[0].contribution.unit)


# -- direct -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Direct(OneScale):
    """Counts, sums and named ranges; a mean is a sum and a count."""

    name = "direct"
    words = "noise on the answer"
    tells_answers = True

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        """Of several sums those that no secret changes are told exactly, unless none would be left."""
        sums = query.sums(policy.domain)
        if sums:
            able = len(sums) > 1 and policy.size_is_public
            exact = tuple(one for one in sums if able and sensitivity_of(policy.graph, one).value == 0)
            noisy = tuple(one for one in sums if one not in exact)
            if not noisy:
                noisy, exact = sums, ()
            yield Strategy(self, noisy, exact, weights=_equal_costs(noisy, policy))

    def variance_factor(self, query: Query, strategy: Strategy, domain: Domain) -> float:
        return 1.0

    def most_terms(self, query: Query, at: Scaled) -> int:
        return 1

    @staticmethod
    def measured(at: Scaled) -> list[str]:
        """What gets noise, in words."""
        return [_called(query) for query in at.strategy.noisy]


DIRECT = Direct()


def _called(query: LinearQuery) -> str:
    match query.contribution:
        case One():
            return "the number of records"
        case Answerers((name,)):
            return f"the number of those whose {name} is not missing"
        case Number(attribute=attribute, times=Attribute() as times):
            return f"the sum of products of {attribute.name} and {times.name}"
        case Number(attribute=attribute, squared=squared):
            return f"the sum of {'squares of ' if squared else ''}{attribute.name}"
        case EachPerson(attribute=None):
            return "the number of people"
        case EachPerson(attribute=Attribute() as attribute):
            return f"the sum of what people have of {attribute.name}"
        case _:
            return "the answer itself"


def _equal_costs(sums: Sequence[LinearQuery], policy: Policy) -> tuple[Fraction, ...]:
    """How much less noise the other sums need than the first: each is to cost as much as the first.

    Why   the error of S / C is about (error of S - mean * error of C) / C, and the mean is as large as what one
          record moves the sum by.
    """
    if len(sums) == 1:
        return ()
    each = policy.rows_per_person
    first, *others = (
        Fraction(certify_measurements(policy.graph, [Measurement(query, Fraction(1))], rows_per_person=each).epsilon)
        for query in sums
    )
    return (Fraction(1), *(cost / first if first and cost else Fraction(1) for cost in others))


# -- exact ------------------------------------------------------------------------------------------
# No noise: the policy lets the answer be told as it is, since its sensitivity is zero ([HMD14] section 5).


@dataclass(frozen=True)
class Exact(Mechanism):
    """What the kernel finds that nothing moves; nobody proposes it."""

    name = "exact"
    words = "exact, no noise"
    tells_answers = True

    def of(self, strategy: Strategy) -> Strategy:
        """A strategy without its noise."""
        return Strategy(self, (), (*strategy.noisy, *strategy.exact), strategy.table, among=strategy.among)

    def expected_error(self, query: Query, at: Scaled) -> float:
        return 0.0

    def largest_error(self, query: Query, at: Scaled, confidence: Fraction) -> float:
        return 0.0

    def fit(self, at: Scaled, measured: Measured) -> Floats:
        if at.strategy.exact[0] != LinearQuery(One(), at.strategy.table):
            raise self.no_table()
        return measured[0][..., 0].astype(np.float64)

    def reach(self, at: Scaled, mask: Bools, confidence: Fraction) -> float:
        return 0.0

    def box_reach(self, at: Scaled, low: Ends, high: Ends, confidence: Fraction) -> Floats:
        return np.zeros(np.broadcast_shapes(*(ends.shape for ends in (*low, *high))))


EXACT = Exact()


# -- free totals ------------------------------------------------------------------------------------
# Totals of a table that everybody knows already, or that no secret changes: they cost nothing.

COMPONENT_LIMIT = 5_000_000


def free_totals(table: tuple[Split, ...], policy: Policy) -> tuple[LinearQuery, ...]:
    """Totals over these attributes that may be told exactly: no secret changes them, or everybody knows them.

    Why   once a count is known, neighbours differ in several records, and a total that no single secret changes may
          move after all. So with known counts each of them is certified anew.
    """
    free = _totals_of_parts(table, policy)
    if not policy.known:
        return free
    every = dict.fromkeys((*free, *known_totals(table, policy)))
    return tuple(query for query in every if _is_still(query, policy))


def exact_totals(
    by: tuple[Split, ...], table: tuple[Split, ...], policy: Policy
) -> tuple[LinearQuery, tuple[LinearQuery, ...], bool]:
    """The totals by some attributes, all totals that may be told exactly, and whether the former are among these."""
    totals, free = LinearQuery(One(), by), free_totals(table, policy)
    known = policy.size_is_public and sensitivity_of(policy.graph, totals).value == 0
    return totals, (totals, *(query for query in free if query != totals)) if known else free, known


def _is_still(query: LinearQuery, policy: Policy) -> bool:
    """Whether an answer is the same for all neighbours; what cannot be priced is taken to move."""
    try:
        return sensitivity_of(policy.graph, query).value == 0
    except Refused:
        return False


def _totals_of_parts(table: tuple[Split, ...], policy: Policy) -> tuple[LinearQuery, ...]:
    """The finest table of totals over these attributes that no secret changes: it is exact, and costs nothing.

    Why   a step never leaves a connected part of the graph, so counts of connected parts do not move. With one
          part, that is the number of records. Nothing is free where somebody may be absent.
    """
    if not policy.size_is_public:
        return ()
    by = []
    for split in table:
        graph = policy.graph.factor_of(split.name).graph
        match graph:
            case Everything() | Within() | JointMetric() | Regions():
                continue
            case Public():
                by.append(Split(split.name, split.bins, split.labels))
            case _ if graph.size <= COMPONENT_LIMIT:
                parts = np.unique(graph.components(), return_inverse=True)[1]
                merged = common_coarsening(parts.tolist(), split.bins)
                if max(merged) > 0:
                    by.append(Split(split.name, tuple(merged)))
            case _:
                continue
    return (LinearQuery(One(), tuple(by)),)


def known_totals(table: Sequence[Split], policy: Policy) -> tuple[LinearQuery, ...]:
    """What the known tables say about a table: each added up over its other attributes, and to groups of its bins.

    Post  every one is a margin of the table: known bins that cross those of the table are joined.
    Why   neighbours agree on everything that is known, so the certificate finds that these do not move.
    """
    whole = Margin.of(table)
    found = [known_query(entry, policy.domain).by for entry in policy.known if isinstance(entry.fact, Marginal)]
    queries = []
    for groups in dict.fromkeys(whole.meet(Margin.of(by)).groups for by in found):
        kept = [(split, dict(groups)[split.name]) for split in table if split.name in dict(groups)]
        by = (split if bins in (None, split.bins) else Split(split.name, bins) for split, bins in kept)
        queries.append(LinearQuery(One(), tuple(by)))
    return tuple(queries)


# -- known share ------------------------------------------------------------------------------------
# How much of the noise on single cells falls away because totals of some cells are known exactly.
#
# Least squares takes from the noise what shows in the known totals: its projection onto their margins. For questions
# that are products of one question for each attribute, every projection is a product too.

Groups: TypeAlias = Ints
"""For every value of an attribute of a table, the group of values that it is known together with."""


def known_share(
    table: Sequence[Split], exact: Iterable[LinearQuery], asked: Sequence[AskedPairs], domain: Domain
) -> float:
    """The mean variance that known totals take from the answers, in multiples of the variance of one cell.

    Pre   `exact` are tables of counts, coarser than `table`; `asked` has one entry for each split of it.
    Post  exact where the projections onto the margins commute; else less, and the error told is too large.
    Why   projections that commute take together 1 - (1 - P)(1 - Q)... = P + Q - PQ ..., and PQ is the projection onto
          what both margins have in common.
    """
    signed: dict[Margin, int] = {}
    for margin in _commuting([Margin.of(query.by) for query in exact], table, domain):
        change = {margin: 1}
        for before, times in signed.items():
            both = before.meet(margin)
            change[both] = change.get(both, 0) - times
        signed = {one: signed.get(one, 0) + change.get(one, 0) for one in signed | change}
    taken = 0.0
    for margin, times in signed.items():
        if times:
            taken += times * math.prod(a.mean(margin.labels(s, domain)) for a, s in zip(asked, table, strict=True))
    return taken


def _commuting(margins: Sequence[Margin], table: Sequence[Split], domain: Domain) -> list[Margin]:
    """The finest margins, each only if its projection commutes with those before it."""
    kept: list[tuple[Margin, list[Groups]]] = []
    for margin in sorted(dict.fromkeys(margins), key=lambda one: -one.cells(domain)):
        here = [margin.labels(split, domain) for split in table]
        if not any(one.meet(margin) == margin for one, _ in kept) and all(
            _independent(a, b) for _, other in kept for a, b in zip(here, other, strict=True)
        ):
            kept.append((margin, here))
    return [margin for margin, _ in kept]


def _independent(a: Groups, b: Groups) -> bool:
    """Whether averaging over groups of a, and then over those of b, is averaging over what they have in common.

    Why   the mean over b of a mean over a weighs value y with |A of y and B of x| / (|A| |B|); it is 1 / |C| on the
          common group C for all y exactly if |A and B| |C| = |A| |B| for all A and B inside C. If that holds wherever
          A meets B, then A meets every B inside C, since the parts of A add up to A.
    """
    if a.max() == 0 or b.max() == 0 or a.max() == len(a) - 1 or b.max() == len(b) - 1:
        return True  # one group, or every value by itself
    c = np.array(common_coarsening(a.tolist(), b.tolist()))
    sizes = [np.bincount(groups)[groups] for groups in (a, b, c)]
    _, place, both = np.unique(a * (int(b.max()) + 1) + b, return_inverse=True, return_counts=True)
    return np.array_equal(both[place] * sizes[2], sizes[0] * sizes[1])


# -- identity ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Identity(OneScale):
    """Noise on every cell of a table ([HMD14] Thm 5.1). Sums add up cells. Where a group's total is known, the noise of
    the cells outside a sum may be used instead of that inside, whichever is less.
    """

    name = "identity"
    words = "noise on each count"
    each_cell = True

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        table = query.table(policy.domain)
        if table:
            yield Strategy(self, (LinearQuery(One(), table),), free_totals(table, policy), table)

    def variance_factor(self, query: Query, strategy: Strategy, domain: Domain) -> float:
        """Answers add up cells, less what totals that are known exactly take from the noise in them."""
        asked = asked_along(reading_of(query, domain), [split.size(domain) for split in strategy.table])
        whole = math.prod(one.whole for one in asked)
        return max(whole - known_share(strategy.table, strategy.exact, asked, domain), 0.0)

    def most_terms(self, query: Query, at: Scaled) -> int:
        whole = any(not one.by for one in at.strategy.exact)
        match query.reading(at.domain):
            case EveryRectangle():
                cells = math.prod(at.shape)
                return max(1, cells // 2 if whole else cells)
            case RunningCounts() | EveryRange() | ListedRanges():
                size = at.shape[-1]
                return max(1, size // 2 if whole and len(at.shape) == 1 else size)
            case _:
                return 1

    def fit(self, at: Scaled, measured: Measured) -> Floats:
        return measured[0][..., 0].astype(np.float64)

    def parts(self, at: Scaled, weights: Floats) -> tuple[Floats, ...]:
        return (weights,)

    def terms(self, at: Scaled, mask: Bools) -> int:
        known = _known_groups(at)
        if known is None:
            return int(mask.sum())
        taken = known.taken(mask)
        return int(np.minimum(taken, known.members - taken).sum())

    def sum_over(self, at: Scaled, measured: Measured, table: Floats, mask: Bools) -> float:
        known = _known_groups(at)
        if known is None:
            return super().sum_over(at, measured, table, mask)
        inside, cells, groups = mask.ravel(), table.ravel(), len(known.members)
        direct = np.bincount(known.places[inside], weights=cells[inside], minlength=groups)
        whole = np.bincount(known.places, weights=cells, minlength=groups)
        taken = known.taken(mask)
        by_rest = known.totals(measured) - (whole - direct)
        return float(np.where(taken > known.members - taken, by_rest, direct).sum())

    def box_terms(self, at: Scaled, low: Ends, high: Ends) -> Ints:
        known, cells = _known_groups(at), np.asarray(math.prod(lengths(low, high)))
        if known is not None and len(known.members) == 1:
            return np.asarray(np.minimum(cells, known.members[0] - cells))
        if known is not None and (cells == 1).all():
            return np.where(known.is_alone(at, low), 0, 1)
        return cells

    def box_sums(self, at: Scaled, measured: Measured, low: Ends, high: Ends, sums: Floats) -> Floats:
        known, cells = _known_groups(at), math.prod(lengths(low, high))
        if known is not None and len(known.members) == 1:
            missing = float(known.totals(measured)[0]) - float(measured[0].sum())
            return np.where(known.members[0] - cells < cells, sums + missing, sums)
        if known is not None and np.all(cells == 1):
            total = known.totals(measured)[known.places[_numbers(at, low)]]
            return np.where(known.is_alone(at, low), total, sums)
        return sums


IDENTITY = Identity()


@dataclass(frozen=True, eq=False)
class _KnownGroups:
    """For every cell the group whose total is known exactly, and how many cells each has."""

    place: int
    """Which measurement tells the totals."""
    places: Ints
    members: Ints
    order: Ints

    def taken(self, mask: Bools) -> Ints:
        """How many cells of every group are in a mask."""
        return np.bincount(self.places[mask.ravel()], minlength=len(self.members))

    def totals(self, measured: Measured) -> Floats:
        totals = np.zeros(len(self.members))
        totals[self.order] = measured[self.place][..., 0].ravel()
        return totals

    def is_alone(self, at: Scaled, codes: Ends) -> Bools:
        """Whether cells are the only ones of their groups, so that they are known."""
        return np.asarray((self.members[self.places] == 1)[_numbers(at, codes)])


def _numbers(at: Scaled, codes: Ends) -> Ints:
    return np.ravel_multi_index(np.broadcast_arrays(*codes), at.shape)


@lru_cache(maxsize=8)
def _known_groups(at: Scaled) -> _KnownGroups | None:
    strategy = at.strategy
    for place, query in enumerate(strategy.exact, start=len(strategy.noisy)):
        if isinstance(query.contribution, One):
            margin = Margin.of(query.by)
            places = margin.places(strategy.table, at.domain)
            order = margin.places(query.by, at.domain)
            return _KnownGroups(place, places, np.bincount(places, minlength=order.size), order)
    return None


# -- ordered: noise on running counts ----------------------------------------------------------------
# Noise on the running counts of the table's last attribute ([HMD14] section 7.1).


@dataclass(frozen=True)
class Ordered(OneScale):
    """A secret moves few running counts, and a range needs only two of them: the first is 0, the last may be known."""

    name = "ordered"
    words = "noise on running counts"
    about_order = True

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        table = query.table(policy.domain)
        # the order of what a histogram names means nothing; `by` comes before what is asked
        anywhere = isinstance(query.reading(policy.domain), Cells | EveryRectangle) and not query.by
        for position, split in enumerate(table):
            attribute = policy.domain[split.name]
            wanted = anywhere or position == len(table) - 1
            if not wanted or split.bins is not None or not attribute.ordered or attribute.size < 2:
                continue
            by = (*table[:position], *table[position + 1 :])
            totals, exact, known = exact_totals(by, table, policy)
            running = LinearQuery(Prefix(attribute.name, attribute.size, attribute.size - 1), by)
            yield Strategy(self, (running,) if known else (running, totals), exact, (*by, split))

    def variance_factor(self, query: Query, strategy: Strategy, domain: Domain) -> float:
        attribute = domain[strategy.table[-1].name]
        size, last = attribute.size, float(not _total_is_known(strategy))
        every = size * (size + 1) / 2
        match reading_of(query, domain):
            case RunningCounts():
                return (size - 1 + last) / size
            case Cells():
                return (2 * (size - 1) + last) / size
            case ListedRanges(ends):
                return sum((low > 0) + (last if high == size - 1 else 1.0) for low, high in ends) / len(ends)
            case EveryRange():
                return ((every - size) + (every - size) + last * size) / every
            case EveryRectangle():
                rows = domain[strategy.table[0].name].size
                return (rows + 2) / 3 * ((every - size) + (every - size) + last * size) / every
            case _ as never:
                assert_never(never)

    def most_terms(self, query: Query, at: Scaled) -> int:
        match query.reading(at.domain):
            case RunningCounts():
                return 1
            case EveryRectangle():
                return 2 * at.shape[0]
            case _:
                return 2

    def fit(self, at: Scaled, measured: Measured) -> Floats:
        running = np.concatenate(measured[:2], axis=-1)  # the totals come next, noisy or exact
        return np.diff(running, axis=-1, prepend=0).astype(np.float64)

    def cell_variance(self, at: Scaled) -> float:
        return 2 * super().cell_variance(at)

    def covariance_times(self, at: Scaled, weights: Floats) -> Floats:
        used = self._used(at, weights)
        if _total_is_known(at.strategy):
            used[..., -1] = 0.0
        moved = np.diff(used, axis=-1, prepend=0.0) * at.strategy.noise.variance(at.scale)
        return np.asarray(moved.reshape(weights.shape))

    def parts(self, at: Scaled, weights: Floats) -> tuple[Floats, ...]:
        used = self._used(at, weights)
        running, totals = (part.reshape(len(weights), -1) for part in (used[..., :-1], used[..., -1]))
        return (running,) if _total_is_known(at.strategy) else (running, totals)

    @staticmethod
    def _used(at: Scaled, weights: Floats) -> Floats:
        """How much of each running count is in a weighted sum of cells, the totals last."""
        lines = weights.reshape(len(weights), -1, at.shape[-1])
        return np.asarray(lines - np.append(lines[..., 1:], np.zeros_like(lines[..., :1]), axis=-1))

    def box_terms(self, at: Scaled, low: Ends, high: Ends) -> Ints:
        open_end = (high[-1] < at.shape[-1] - 1) | (not _total_is_known(at.strategy))
        lines = math.prod(lengths(low[:-1], high[:-1]), start=np.ones((), np.int64))
        return np.asarray(lines * ((low[-1] > 0).astype(np.int64) + open_end))


ORDERED = Ordered()


def _total_is_known(strategy: Strategy) -> bool:
    """Whether the last running counts are exact, rather than the second noisy query."""
    return len(strategy.noisy) == 1
