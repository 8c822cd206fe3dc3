"""What a mechanism is: it proposes measurements, and turns noisy numbers into answers with intervals.

A mechanism proposes strategies; only the certifying kernel decides what they cost. A new one is a class of its own and
a row of `MECHANISMS` in `mechanism/registry.py`. Nothing else in the package knows any mechanism by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tetraodon.certificate.kernel import sensitivity_of
from tetraodon.display import Sentences
from tetraodon.domain import Domain
from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Bools, Floats, Ints
from tetraodon.inference.estimate import CONFIDENCE
from tetraodon.noise.laws import LAPLACE, NoiseLaw
from tetraodon.policy.attribute_graph import Everything, induced
from tetraodon.policy.joint_graph import JointGraph
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.query.contribution import Among, One
from tetraodon.query.linear import LinearQuery, Measurement, Split
from tetraodon.query.query import (
    Cells,
    EveryRange,
    EveryRectangle,
    ListedRanges,
    MeasuredSum,
    Query,
    Reading,
    RunningCounts,
)
from tetraodon.query.records_where import RecordsWhere
from tetraodon.wording import listing

if TYPE_CHECKING:
    from tetraodon.gate import Permit

# -- policy among -----------------------------------------------------------------------------------
# The policy that mechanisms are asked under where a question is about some of the records.


def policy_among(those: RecordsWhere, policy: Policy) -> Policy:
    """A policy over what these records can be like, which says about what is measured there.

    Post  their number is public if no secret changes it. It is a hint: the kernel certifies what is measured over all
          records, under the policy itself, and refuses what this one got wrong.
    """
    graph = policy.graph
    number = those.lifted(LinearQuery(One()))
    still = policy.presence == "public" and sensitivity_of(graph, number).value == 0
    if those.kept:
        factors = tuple(left for factor in graph.factors for left in _left(factor, those))
        inside = SecretGraph(those.inside, factors, graph.at_most, graph.absent or not still)
    else:
        inside = replace(graph, absent=graph.absent or not still, known=())
    return replace(policy, domain=those.inside, graph=inside, presence="public" if still else "secret")


def _left(factor: Factor, those: RecordsWhere) -> list[Factor]:
    """The secrets of some attributes among values that are kept."""
    if not those.kept.keys() & set(factor.names):
        return [factor]
    if isinstance(factor.graph, JointGraph):
        return [Factor((name,), Everything(those.inside[name].size)) for name in factor.names]
    [name] = factor.names
    kept = those.kept[name]
    return [Factor((name,), induced(factor.graph, np.array(kept.listed or range(kept.first, kept.last + 1))))]


# -- strategy ---------------------------------------------------------------------------------------

Kind = TypeVar("Kind")
Measured: TypeAlias = tuple[Ints, ...]
"""The noisy numbers of one strategy, an array for each measurement, in its units."""
Ends: TypeAlias = tuple[Ints, ...]
"""Low or high ends of boxes of a table's cells: an array of codes for each axis, broadcast against each other."""
SENTENCES = Sentences(Path(__file__).parent / "templates" / "sentences.txt", listing=listing, CONFIDENCE=CONFIDENCE)
"""How each mechanism answers, by its name."""
WIDE = Fraction(32)
"""Scales above which intervals grow as the scale does."""
POSITIONS = 64
"""Running counts at which their intervals are looked at, to know how long they are."""
NOTHING = 1e-3
"""Counts are whole numbers. One that is known up to less than this has no noise left in it, only what floats add."""


@dataclass(frozen=True)
class Strategy:
    """What is measured. `noisy` queries get noise of one common scale, times their `weights`; `exact` ones none.

    `table` are the axes of the table of counts that comes out; none where the answers themselves are measured.
    """

    mechanism: Mechanism
    noisy: tuple[LinearQuery, ...]
    exact: tuple[LinearQuery, ...] = ()
    table: tuple[Split, ...] = ()
    weights: tuple[Fraction, ...] = ()
    """Noise of each noisy query in multiples of the common scale; none given means that all are one."""
    noise: NoiseLaw = LAPLACE
    among: RecordsWhere | None = None
    """The records that it is about, if not all. What is measured stands here as it does over what they can be like."""
    made_for: NoiseLaw | None = None
    """The only noise for which it is proposed, if any: with another it would cost much."""

    def __post_init__(self) -> None:
        if not self.table and not self.mechanism.tells_answers:
            raise QueryError(
                f"nobody can read what {self.mechanism} measures", fix="give the axes of the table that comes out"
            )
        if self.weights and (len(self.weights) != len(self.noisy) or min(self.weights) <= 0):
            raise QueryError("a strategy has not one positive weight for each noisy query", fix="give one for each")

    def measurements(self, scale: Fraction) -> tuple[Measurement, ...]:
        """Everything that is measured, at a given scale of noise."""
        found = self.stated(scale)
        return found if self.among is None else tuple(replace(m, query=self.among.lifted(m.query)) for m in found)

    def stated(self, scale: Fraction) -> tuple[Measurement, ...]:
        """The same, over what the records can be like that it is about."""
        noisy = (Measurement(q, s, self.noise) for q, s in zip(self.noisy, self.scales(scale), strict=True))
        return (*noisy, *(Measurement(q, Fraction(0)) for q in self.exact))

    def inside(self, domain: Domain) -> Domain:
        """What the records can be like that it is about."""
        return domain if self.among is None else self.among.inside

    def at(self, scale: Fraction, domain: Domain) -> Scaled:
        """The same at a scale of noise, given what all records can be like."""
        return Scaled(self, scale, self.inside(domain))

    def scales(self, scale: Fraction) -> tuple[Fraction, ...]:
        """The scale of every noisy query's noise, given the common one."""
        return tuple(scale * weight for weight in self.weights) or (scale,) * len(self.noisy)


def contribution_of(query: LinearQuery, kind: type[Kind]) -> Kind:
    """What each record adds to a query that a mechanism made of this kind, apart from any condition."""
    given = query.contribution
    found = given.inner if isinstance(given, Among) else given
    assert isinstance(found, kind)
    return found


@dataclass(frozen=True)
class Scaled:
    """A strategy at a scale of noise, over a domain: all that can be known of its errors before any data is seen."""

    strategy: Strategy
    scale: Fraction
    domain: Domain

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.strategy, self.scale, self.domain))

    @property
    def mechanism(self) -> Mechanism:
        return self.strategy.mechanism

    def contribution(self, kind: type[Kind]) -> Kind:
        """What each record adds to the first query that gets noise, which the mechanism made of this kind."""
        return contribution_of(self.strategy.noisy[0], kind)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """How many cells the table has along each axis."""
        return tuple(split.size(self.domain) for split in self.strategy.table)

    @cached_property
    def above_discrete(self) -> float:
        """The most that 2 b^2, or sigma^2, exceeds the variance of discrete noise of that width."""
        law, scales = self.strategy.noise, self.strategy.scales(self.scale)
        return max(law.smooth_variance(scale) / law.variance(scale) for scale in scales)

    def expected_error(self, query: Query) -> float:
        """Root mean squared error per answer, as `Mechanism.expected_error` says; nothing where there is no noise."""
        return self.mechanism.expected_error(query, self) if self.strategy.noisy else 0.0

    def interval_reach(self, query: Query) -> float | None:
        """How far the intervals of quantiles reach either way, in records; None where the question wants none."""
        reading = query.reading(self.domain)
        if not isinstance(reading, RunningCounts) or not reading.bounds:
            return None
        return self.mechanism.interval_reach(query, self) if self.strategy.noisy else 0.0

    def compared_error(self, query: Query) -> float:
        """What plans are compared by: the intervals that a reader of quantiles sees, or else the error."""
        reach = self.interval_reach(query)
        return self.expected_error(query) * self.mechanism.compared_as(self.strategy) if reach is None else reach


@dataclass(frozen=True)
class Mechanism(ABC):
    """A way to answer questions. What it does not say about itself it refuses, or it takes a slow way that is right.

    name:          its word in documents.
    words:         what a plan calls it, in a few words.
    answers:       the readings of tables, or the kinds of question, that it is for, where it names any.
    tells_answers: whether its first measurement is the answer itself where its strategies have no table.
    adds_noise:    whether its measurements would be the truth without noise; otherwise they are drawn in another way,
                   and how far off an answer is depends on the data more than `expected_error` can know.
    about_order:   whether its tables are of running counts, which never fall.
    each_cell:     whether all cells of its tables are told alike, by noise on each of them.
    read_together: whether its tables are planned as one, so that their errors are those of all of them together.
    remark:        what is to be told beside its expected error, as a sentence.
    in_shares:     whether its errors are shares of a value, so that plain differential privacy has none to compare.
    usual:         whether plain differential privacy is said to have it. What a descent finds has digits that depend on
                   the machine, and what `verify` computes anew must not.
    """

    name: ClassVar[str]
    words: ClassVar[str]
    answers: ClassVar[tuple[type, ...]] = ()
    tells_answers: ClassVar[bool] = False
    adds_noise: ClassVar[bool] = True
    about_order: ClassVar[bool] = False
    each_cell: ClassVar[bool] = False
    read_together: ClassVar[bool] = False
    in_shares: ClassVar[bool] = False
    remark: ClassVar[str] = ""
    usual: ClassVar[bool] = True

    def __str__(self) -> str:
        return self.name

    # -- before any data is seen --------------------------------------------------------------------

    def proposals(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        """Strategies that could answer a query under a policy, none of them certified yet."""
        asked = query, query.reading(policy.domain)
        meant = not self.answers or any(isinstance(one, self.answers) for one in asked)
        return self.propose(query, policy) if meant else iter(())

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        """The same for a query that it `answers`: none, where other rooms propose it."""
        return iter(())

    @abstractmethod
    def expected_error(self, query: Query, at: Scaled) -> float:
        """Root mean squared error per answer; for ranges, of a range drawn at random; for quantiles, in records; for a
        mean, of the sum that is divided; for rectangles, of one drawn at random; for clusters, of a cell of their
        table.

        Inference that depends on the data (never-falling running counts) only lowers it, and is not counted on.
        """

    def compared_as(self, strategy: Strategy) -> float:
        """By what its expected error is multiplied where proposals are compared.

        Why   an error that is told for the worst data counts less where the curator says that the data are not like it.
        """
        return 1.0

    @abstractmethod
    def largest_error(self, query: Query, at: Scaled, confidence: Fraction) -> float:
        """A distance that each answer keeps from the truth with the given confidence."""

    def interval_reach(self, query: Query, at: Scaled) -> float:
        """How far the interval of a quantile is expected to reach either way, in records: as far as running counts
        can be off, on average.

        Why   it grows as the scale does, but for small scales, where numbers are whole. Laws of wide noise are long.
        """
        if at.scale > WIDE:
            return self.interval_reach(query, replace(at, scale=WIDE)) * float(at.scale / WIDE)
        size = at.shape[-1]
        high = np.unique(np.linspace(0, size - 1, POSITIONS).astype(np.int64))
        low = np.zeros_like(high)
        others = (low,) * (len(at.shape) - 1)
        return float(self.box_reach(at, (*others, low), (*others, high), CONFIDENCE).mean())

    def sentence(self, at: Scaled, noise: str, size: str) -> str:
        """How it was answered, for a report: the macro of its name in `SENTENCES`.

        `noise` and `size` are words for the noise and for how many numbers got it.
        """
        return SENTENCES.text(self.name, at, noise, size)

    # -- measuring ----------------------------------------------------------------------------------

    def draw(self, measurement: Measurement, exact: NDArray[Any], permit: Permit) -> Ints:
        """What is measured, with fresh noise as certified, given the exact numbers that it begins with."""
        return measurement.measured(exact, permit.noise, lambda: permit.coins)

    def without_noise(self, measurement: Measurement, exact: NDArray[Any]) -> Ints:
        """What would be measured if all noise were zero."""
        return measurement.query.contribution.noiseless(exact, measurement)

    def could_tell(self, measurement: Measurement, numbers: Ints) -> bool:
        """Whether numbers that somebody states, flat, could have been drawn for a measurement of this mechanism."""
        return measurement.query.contribution.could_tell(numbers, measurement.scale)

    def measured_sum(self, measurement: Measurement, numbers: Ints, exact: Measured) -> MeasuredSum | None:
        """The sum that was measured, given the exact numbers of the strategy; None where noise was added to it."""
        return None

    # -- from noisy numbers to a table of counts ----------------------------------------------------

    def fit(self, at: Scaled, measured: Measured) -> Floats:
        """The table of counts as the noise left it, before it is made to agree with others or to rise."""
        raise self.no_table()

    def cell_variance(self, at: Scaled) -> float:
        """About the variance of one cell of the table; it weighs tables against each other, and promises nothing."""
        return at.strategy.noise.variance(at.scale)

    def covariance_times(self, at: Scaled, weights: Floats) -> Floats:
        """Cov(x) f for the fitted cells x and every row f of weights: how their errors go with the error of f x.

        Where only about as much is known, least squares over several tables is about the best, and still unbiased.
        """
        return self.cell_variance(at) * weights

    def parts(self, at: Scaled, weights: Floats) -> tuple[Floats, ...] | None:
        """How much of each noisy number is in the sum f x of fitted cells, for every row f of weights: an array for
        each noisy query, in its units. None where the mechanism does not say.
        """
        return None

    def part_scales(self, at: Scaled) -> tuple[Fraction, ...]:
        """The scale of the noise in each of `parts`."""
        return at.strategy.scales(at.scale)

    # -- how far sums of cells can be off ---------------------------------------------------------------

    def reach(self, at: Scaled, mask: Bools, confidence: Fraction) -> float:
        """How far the sum of the fitted cells where `mask` is true can be off: the plan alone says it.

        Here from how much of each noisy number is in the sum.
        """
        rows, law = mask.reshape(1, -1).astype(np.float64), at.strategy.noise
        parts = self.parts(at, rows)
        if parts is None:
            raise self.no_table()
        variance = max(float((rows * self.covariance_times(at, rows)).sum()), 0.0) * at.above_discrete
        scales = zip(parts, self.part_scales(at), strict=True)
        largest = max(float(np.abs(part).max(initial=0.0)) * float(scale) for part, scale in scales)
        return float(law.reach(np.array([variance]), np.array([largest]), confidence)[0])

    def is_certain(self, at: Scaled, mask: Bools) -> bool:
        """Whether no noise is left in that sum."""
        return self.reach(at, mask, CONFIDENCE) < NOTHING

    def sum_over(self, at: Scaled, measured: Measured, table: Floats, mask: Bools) -> float:
        """The sum that `reach` is about. Pre: `table` is `fit(at, measured)`."""
        return float(table[mask].sum())

    def box_reach(self, at: Scaled, low: Ends, high: Ends, confidence: Fraction) -> Floats:
        """`reach` for many boxes of cells, both ends included: here one by one. It may be quicker, and not shorter."""
        return self.over_boxes(at, low, high, lambda mask: self.reach(at, mask, confidence))

    def box_sums(self, at: Scaled, measured: Measured, low: Ends, high: Ends, sums: Floats) -> Floats:
        """The sums that `box_reach` is about, given those of the fitted table."""
        return sums

    def interval(self, at: Scaled, measured: Measured, mask: Bools, confidence: Fraction) -> tuple[float, float] | None:
        """The centre and the reach of a sum of cells, where what was told decides them; None where the plan does."""
        return None

    def box_intervals(
        self, at: Scaled, measured: Measured, low: Ends, high: Ends, confidence: Fraction
    ) -> tuple[Floats, Floats] | None:
        """The same for many boxes of cells."""
        return None

    @staticmethod
    def over_boxes(at: Scaled, low: Ends, high: Ends, of: Callable[[Bools], float]) -> Floats:
        """What is said of the mask of each box, for every kind of box once."""
        ends = np.stack(np.broadcast_arrays(*low, *high), axis=-1)
        kinds, which = np.unique(ends.reshape(-1, ends.shape[-1]), axis=0, return_inverse=True)
        found = [of(box_mask(at.shape, *np.split(kind, 2))) for kind in kinds]
        return np.array(found, np.float64)[which.ravel()].reshape(ends.shape[:-1])

    def no_table(self) -> QueryError:
        """The refusal to read a table of counts where the mechanism measured none."""
        return QueryError(f"{self.name} noise leaves no table of counts", fix="ask an item that is a table")


def box_mask(shape: tuple[int, ...], low: Sequence[int] | Ints, high: Sequence[int] | Ints) -> Bools:
    """The cells of a box, both ends included."""
    mask = np.zeros(shape, np.bool_)
    mask[tuple(slice(a, b + 1) for a, b in zip(low, high, strict=True))] = True
    return mask


def lengths(low: Ends, high: Ends) -> list[Ints]:
    """How many cells boxes have along each axis."""
    return [b - a + 1 for a, b in zip(low, high, strict=True)]


def box_sums(values: Bools | Floats, low: Sequence[Ints], high: Sequence[Ints]) -> Floats:
    """Sums of a table over boxes of cells, both ends included: the corners of its running sums, added and subtracted.

    A box whose high end is one below its low end is empty.
    """
    running = np.pad(values.astype(np.float64), [(1, 0)] * values.ndim)
    for axis in range(values.ndim):
        running = np.cumsum(running, axis=axis)
    found = np.zeros(())
    for corner in product((0, 1), repeat=values.ndim):
        sign = (-1) ** (values.ndim - sum(corner))
        ends = (b + 1 if upper else a for a, b, upper in zip(low, high, corner, strict=True))
        found = found + sign * running[tuple(ends)]
    return np.asarray(found)


def reading_of(query: Query, domain: Domain) -> Reading:
    """What is read off a table; a table is only measured for a question that says so."""
    reading = query.reading(domain)
    assert reading is not None
    return reading


# -- asked pairs ------------------------------------------------------------------------------------
# What is asked of the values of an attribute, as a matrix W'W: for every pair, how many answers hold both.


@dataclass(frozen=True)
class AskedPairs:
    """W'W for a question about an attribute of some `size`; written out only where ranges are listed.

    Why   values i <= j are both in n - j running counts, and in (i + 1)(n - j) ranges: a product of one factor for each
          end, so that multiplying by it takes two running sums.
    """

    reading: Cells | RunningCounts | EveryRange | ListedRanges
    size: int

    def times(self, rows: Floats) -> Floats:
        """Every row times W'W."""
        if isinstance(self.reading, ListedRanges):
            return np.asarray(rows @ self._written)
        before, after = self._factors
        below = np.cumsum(rows * before, axis=1)
        above = np.cumsum((rows * after)[:, ::-1], axis=1)[:, ::-1]
        return np.asarray(below * after + (above - rows * after) * before)

    @cached_property
    def diagonal(self) -> Floats:
        """How many answers hold each value."""
        if isinstance(self.reading, ListedRanges):
            return np.diag(self._written)
        before, after = self._factors
        return before * after

    @property
    def whole(self) -> float:
        """How many values an answer holds, on average."""
        if isinstance(self.reading, ListedRanges):
            return sum(high - low + 1 for low, high in self.reading.ends) / len(self.reading.ends)
        return {Cells: 1.0, RunningCounts: (self.size + 1) / 2, EveryRange: (self.size + 2) / 3}[type(self.reading)]

    def mean(self, groups: Ints) -> float:
        """The mean, over the answers, of what is left of them in a table of groups of values: the sum over groups of
        (values asked about)^2 / (values).
        """
        size, members = self.size, np.bincount(groups)
        match self.reading:
            case Cells():
                return len(members) / size
            case ListedRanges(ends):
                taken = (np.bincount(groups[low : high + 1], minlength=len(members)) for low, high in ends)
                return sum(float((one**2 / members).sum()) for one in taken) / len(ends)
            case RunningCounts() if len(members) == 1:  # many values need no room
                return (size + 1) * (2 * size + 1) / (6 * size)
            case EveryRange() if len(members) == 1:
                return (size + 1) * (size + 2) / (6 * size)
        order = np.argsort(groups, kind="stable")
        before, after = (factor[order] for factor in self._factors)
        running = np.append(0.0, np.cumsum(before))
        first = np.append(0, np.cumsum(members))[groups[order]]
        both = after * (2 * (running[1:] - running[first]) - before)
        answers = size * (size + 1) / 2 if isinstance(self.reading, EveryRange) else size
        return float((both / members[groups[order]]).sum()) / answers

    @cached_property
    def _factors(self) -> tuple[Floats, Floats]:
        codes = np.arange(self.size, dtype=np.float64)
        return (codes + 1 if isinstance(self.reading, EveryRange) else np.ones(self.size)), self.size - codes

    @cached_property
    def rows(self) -> Floats:
        """Sums of values, a row of weights each, that ask on average what the answers do."""
        codes = np.arange(self.size)
        match self.reading:
            case Cells():
                return np.eye(self.size)
            case RunningCounts():
                return np.tri(self.size)
            case ListedRanges(ends):
                return np.array([(low <= codes) & (codes <= high) for low, high in ends], np.float64)
            case EveryRange():  # as many rows as there are values, of which W'W is that of very many ranges
                pairs = self.times(np.eye(self.size))
                return np.asarray(np.linalg.cholesky(pairs * 2 / (self.size + 1)).T)

    @cached_property
    def _written(self) -> Floats:
        return self.rows.T @ self.rows


def asked_along(reading: Reading, sizes: Sequence[int]) -> list[AskedPairs]:
    """What is asked along each side of a table: all answers are products of one for each side."""
    if isinstance(reading, EveryRectangle):
        return [AskedPairs(EveryRange(), size) for size in sizes]
    return [*(AskedPairs(Cells(), size) for size in sizes[:-1]), AskedPairs(reading, sizes[-1])]
