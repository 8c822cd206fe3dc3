"""Several histograms together: which marginals to measure, how precisely, and how they are read.

A plan answers every histogram by itself. Where many of them overlap, fewer and coarser marginals can tell them all.
What marginals say about the table is a sum of products of I and J (all ones), which have common eigenspaces, one for
every set of attributes. So the error is a short sum, and no matrix as large as the table is ever written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import chain, combinations
from typing import TypeAlias

import numpy as np

from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.correlated_records import require_independent
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.errors import QueryError, Refused
from tetraodon.exact.arrays import Bools, Floats, Ints, searching
from tetraodon.exact.rational import Number, rational
from tetraodon.mechanism.strategy import Ends, Measured, Mechanism, Scaled, Strategy, lengths
from tetraodon.noise import laplace_variance
from tetraodon.noise.laws import weighted_reach
from tetraodon.policy.load import AnyPolicy, load_policy
from tetraodon.policy.policy import Policy
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, Measurement, splits
from tetraodon.query.query import Cells, Query
from tetraodon.query.weighted_margins import WeighedMargins, multiples, outside, weigh

# -- margins ----------------------------------------------------------------------------------------
# Many tables of counts as one: each gets noise, with its margins weighed, and all of them are read together.
#
# What tables say about each other is a sum over *parts*, one for each set of attributes: what the margin by that set
# says beyond those by fewer. All tables that split by the set tell its part, each with some precision; these add up,
# and the errors of all tables follow in closed form ([XHZK23]). Which precisions are worth what they cost is found by
# `mechanism/marginals.py`.

# ruff: noqa: ARG002 - every mechanism is asked in the same way, whatever it needs to know


@dataclass(frozen=True)
class Margins(Mechanism):
    """A strategy measures its table with noise on each number, in which margins may be weighed less, or more.

    Other noisy queries besides are tables by more attributes, which it is read together with.

    It is proposed for all tables of a release at once (`releases/joint_tables.py`), and for none by itself.
    """

    name = "margins"
    words = "noise on tables that are read together"
    each_cell = True
    read_together = True

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        return iter(())

    def expected_error(self, query: Query, at: Scaled) -> float:
        """Of the table by itself. Read together with others it errs less: `table_errors`."""
        (error,) = table_errors([at])
        return error

    def largest_error(self, query: Query, at: Scaled, confidence: Fraction) -> float:
        first = np.zeros(at.shape, np.bool_)
        first.flat[0] = True
        return self.reach(at, first, confidence)

    def sentence(self, at: Scaled, noise: str, size: str) -> str:
        weighed = isinstance(at.strategy.noisy[0].contribution, WeighedMargins)
        how = ", with its margins weighed as is best for all tables together" if weighed else ""
        told = f"{noise} was added to each number of the table{how}{size}. It is read together with the other tables."
        besides = [" and ".join(query.names) for query in at.strategy.noisy[1:]]
        return " ".join(
            [told, *(f"One by {names}, which tells of several, was measured beside it." for names in besides)]
        )

    def fit(self, at: Scaled, measured: Measured) -> Floats:
        return _undone(at, measured[0].astype(np.float64).reshape(1, -1), 1).reshape(at.shape)

    def cell_variance(self, at: Scaled) -> float:
        first = np.zeros((1, math.prod(at.shape)))
        first[0, 0] = 1.0
        return float(self.covariance_times(at, first)[0, 0])

    def covariance_times(self, at: Scaled, weights: Floats) -> Floats:
        return _undone(at, weights, 2) * at.strategy.noise.variance(at.scale)

    def parts(self, at: Scaled, weights: Floats) -> tuple[Floats, ...]:
        return (_undone(at, weights, 1),)

    def part_scales(self, at: Scaled) -> tuple[Fraction, ...]:
        return (at.scale,)

    def reach(self, at: Scaled, mask: Bools, confidence: Fraction) -> float:
        (part,) = self.parts(at, mask.astype(np.float64).reshape(1, -1))
        return float(weighted_reach(at.strategy.noise, [(part[0], at.scale)], confidence))

    def box_reach(self, at: Scaled, low: Ends, high: Ends, confidence: Fraction) -> Floats:
        """Values of an attribute are alike: only how long boxes are matters."""
        none = tuple(np.zeros_like(end) for end in low)
        return super().box_reach(at, none, tuple(long - 1 for long in lengths(low, high)), confidence)


MARGINS = Margins()


def _undone(at: Scaled, rows: Floats, power: int) -> Floats:
    """Rows times the inverse of what is measured, or of its square; that is symmetric."""
    given = at.strategy.noisy[0].contribution
    if not isinstance(given, WeighedMargins):
        return rows
    return np.asarray(weigh(rows, given.sizes, _inverse(given, power)))


@lru_cache(maxsize=4096)
def _inverse(given: WeighedMargins, power: int) -> tuple[float, ...]:
    return tuple(multiples([1 / strength**power for strength in given.strengths], given.sizes))


@dataclass(frozen=True)
class TableParts:
    """The parts that a table asks about: for every set of its attributes, as masks, whose part it is, of how many
    numbers that are not known exactly, and over how many cells of the table each of them is spread.
    """

    sizes: tuple[int, ...]
    of: tuple[frozenset[str], ...]
    unknown: tuple[int, ...]
    spread: tuple[int, ...]

    @property
    def cells(self) -> int:
        return math.prod(self.sizes)


def table_parts(at: Scaled) -> TableParts:
    """The parts of a strategy's table.

    Why   a part has the product of (size - 1) dimensions. Where totals of groups of values are known exactly, so is
          what the groups say about it, of the product of (groups - 1).
    """
    names, sizes = [split.name for split in at.strategy.table], at.shape
    known = next((query.by for query in at.strategy.exact if isinstance(query.contribution, One)), None)
    groups = {split.name: split.size(at.domain) for split in known or ()}
    sets = range(2 ** len(names))
    inside = [[place for place in range(len(names)) if s >> place & 1] for s in sets]
    told = [known is not None and math.prod(groups.get(names[place], 1) - 1 for place in mine) for mine in inside]
    whole = [math.prod(sizes[place] - 1 for place in mine) for mine in inside]
    return TableParts(
        sizes,
        tuple(frozenset(names[place] for place in mine) for mine in inside),
        tuple(all_ - int(some) for all_, some in zip(whole, told, strict=True)),
        tuple(outside(sizes, s) for s in sets),
    )


def table_errors(tables: Sequence[Scaled]) -> list[float]:
    """The root mean squared error of the cells of each table, read from all of them by least squares.

    Pre   they are about the same records, and split by value.
    Why   a table with variance v on each number, of which a part is multiplied by k, tells the part of the margin by
          itself with precision k^2 / v over the number of cells that each cell of that margin is spread over.
    """
    precision: dict[frozenset[str], float] = {}
    every = [table_parts(at) for at in tables]
    for at, parts in zip(tables, every, strict=True):
        variance = at.strategy.noise.variance(at.scale)
        for part, strength, spread in zip(
            parts.of, strengths_of(at.strategy, len(parts.of)), parts.spread, strict=True
        ):
            precision[part] = precision.get(part, 0.0) + strength**2 / (variance * spread)
        for joined, scale in zip(at.strategy.noisy[1:], at.strategy.scales(at.scale)[1:], strict=True):
            sizes = {split.name: split.size(at.domain) for split in joined.by}
            for part in {part for other in every for part in other.of if part <= sizes.keys()}:
                spread = math.prod(size for name, size in sizes.items() if name not in part)
                precision[part] = precision.get(part, 0.0) + 1 / (at.strategy.noise.variance(scale) * spread)
    return [
        math.sqrt(
            sum(u / (precision[part] * spread) for part, u, spread in zip(p.of, p.unknown, p.spread, strict=True) if u)
            / p.cells
        )
        for p in every
    ]


def strengths_of(strategy: Strategy, sets: int) -> list[float]:
    """By how much each part of a table is multiplied before it gets noise, in units."""
    given = strategy.noisy[0].contribution
    if not isinstance(given, WeighedMargins):
        return [1.0] * sets
    return [float(strength) for strength in given.strengths]


# -- margin search ----------------------------------------------------------------------------------
# How well to measure each of many tables, and each part of them, so that their squared errors add up to the least.
#
# With Gaussian noise a step costs a sum of the precisions of parts, and errors are a sum of one over each: a convex
# problem, and what it finds is the best there is where all values of an attribute are alike. Beside items of other
# kinds tables are measured as they are, and only how much noise each gets is searched for. With Laplace noise a step
# costs the sum of one over each noise, so that one table by more attributes can be better than several: those that
# join two of the tables are tried one by one.

MOST_SETS = 3000
"""Sets of attributes that may change together, for a search; the certificate looks at all of them."""
SEARCH_SHARP = (30.0, 300.0)
"""Powers that stand for a maximum, one after the other."""
SLACK = 0.002
"""By how much steps that change fewer attributes are to cost less, so that the certificate need not try them all."""
SEARCH_GAINED, LITTLE = 0.002, 9.0
"""By how much a joined table must lower the logarithm of the error, and what tables in whose place it is keep."""
SEARCH_MOST_JOINED, MOST_CELLS = 10_000, 2**17
"""Joined tables that are tried, times the tables that there are, and the cells that they have, at most."""
RANGE = 12.0
"""Precisions are searched for within e to the power of this, up and down."""


@dataclass(frozen=True, eq=False)
class TableSearch:
    """Tables, what the squared errors of each weigh, and the sets of attributes that a step may change.

    A set is None where somebody comes or goes.
    """

    tables: Sequence[TableParts]
    weights: Sequence[float]
    steps: Sequence[frozenset[str] | None]

    @searching
    def gaussian(self, *, weighed: bool) -> tuple[Floats, dict[frozenset[str], float]]:
        """One over the variance of each table, up to a factor, and by how much each part of larger tables counts.

        Where margins are not `weighed`, every part counts once.
        """
        count, parts = len(self.tables), self._parts
        inside, own = self._inside, np.array([[part == t.of[-1] for t in self.tables] for part in parts])
        below = np.where(own, 0.0, inside)
        longest = max(len(step or ()) for step in self.steps)
        more = np.array([1.0 if step is None or len(step) == longest else 1 + SLACK for step in self.steps])
        cost = np.array([[self._cost(part, step) for part in parts] for step in self.steps]) * more[:, None]

        def error(logs: Floats, sharp: float) -> tuple[float, Floats]:
            each, factor = np.exp(logs[:count]), np.exp(logs[count:]) if weighed else np.ones(len(parts))
            larger = below @ each
            precise = own @ each + factor * larger
            value, slope = _log_error(self._asked, precise)
            top, rise = _log_largest(cost @ precise, sharp)
            slope = slope + rise @ cost
            first = each * (slope @ (own + factor[:, None] * below))
            return value + top, np.concatenate([first, slope * factor * larger]) if weighed else first

        found = _descend(error, np.zeros(count + (len(parts) if weighed else 0)))
        factors = np.exp(found[count:]) if weighed else np.ones(len(parts))
        return np.exp(found[:count]), dict(zip(parts, factors.tolist(), strict=True))

    @searching
    def laplace(self, *, joined: bool) -> tuple[Floats, dict[frozenset[str], float]]:
        """One over the scale of each table, up to a factor; where they may be `joined`, the same of tables besides.

        Post  tables whose place others take keep a little, so that each has a measurement of its own.
        """
        sets = [table.of[-1] for table in self.tables]
        columns = [self._column(one) for one in sets]
        value, logs = self._descended(columns, np.zeros(len(sets)))
        for more in self._joined() if joined else ():
            held = np.array([one <= more for one in sets])
            start = np.append(np.where(held, np.maximum(logs - 6, -RANGE), logs), logs[held].max())
            found, after = self._descended(wider := [*columns, self._column(more)], start)
            if found < value - SEARCH_GAINED:
                value, logs, sets, columns = found, after, [*sets, more], wider
        count, rates = len(self.tables), np.exp(np.maximum(logs, logs.max() - LITTLE))
        besides = zip(sets[count:], np.exp(logs[count:]).tolist(), strict=True)
        return rates[:count], {one: rate for one, rate in besides if rate > math.exp(-LITTLE) * rates.max()}

    def _joined(self) -> list[frozenset[str]]:
        """Sets of attributes that join those of two tables with one in common, from the fewest cells up."""
        of, cells = [table.of[-1] for table in self.tables], {}
        for one, other in combinations(of, 2):
            if one & other and one | other not in of:
                cells[one | other] = math.prod(self._sizes[name] for name in one | other)
        few = sorted((many, sorted(one)) for one, many in cells.items() if many <= MOST_CELLS)
        return [frozenset(names) for _, names in few[: SEARCH_MOST_JOINED // len(of)]]

    def _column(self, table: frozenset[str]) -> tuple[Floats, Floats]:
        """How far each of the worst steps moves a table, and how much of its precision goes to each part.

        Why   a step that changes more attributes moves no table less: only the longest are compared.
        """
        longest = max(len(step or ()) for step in self.steps)
        worst = [step for step in self.steps if step is None or len(step) == longest]
        moved = np.array([1.0 if step is None else 2.0 * bool(step & table) for step in worst])
        return moved, np.array([self._told(table, part) for part in self._parts])

    def _descended(self, columns: Sequence[tuple[Floats, Floats]], start: Floats) -> tuple[float, Floats]:
        """The logarithm of the error at a given loss where a descent ends, and those of one over the scales there."""
        moved, inside = (np.stack(one, axis=1) for one in zip(*columns, strict=True))

        def error(logs: Floats, sharp: float) -> tuple[float, Floats]:
            rate = np.exp(logs)
            value, slope = _log_error(self._asked, inside @ rate**2)
            top, rise = _log_largest(moved @ rate, sharp)
            return value + 2 * top, 2 * rate**2 * (slope @ inside) + 2 * rate * (rise @ moved)

        logs = _descend(error, start)
        return _log_error(self._asked, inside @ np.exp(2 * logs))[0] + 2 * math.log((moved @ np.exp(logs)).max()), logs

    def _told(self, table: frozenset[str], part: frozenset[str]) -> float:
        """One over how many cells of a table each number of a part is spread over; 0 where it does not tell it."""
        return 1 / math.prod(self._sizes[name] for name in table - part) if part <= table else 0.0

    @cached_property
    def _parts(self) -> list[frozenset[str]]:
        """Those that something is to be found out about."""
        return list(dict.fromkeys(p for t in self.tables for p, u in zip(t.of, t.unknown, strict=True) if u))

    @cached_property
    def _inside(self) -> Floats:
        """How much of a table's precision goes to each part: one over how far it is spread."""
        found = [dict(zip(t.of, t.spread, strict=True)) for t in self.tables]
        return np.array([[1 / spread[part] if part in spread else 0.0 for spread in found] for part in self._parts])

    @cached_property
    def _asked(self) -> Floats:
        """The weight of the variance of each part in the sum of squared errors."""
        total = dict.fromkeys(self._parts, 0.0)
        for table, weight in zip(self.tables, self.weights, strict=True):
            for part, unknown, spread in zip(table.of, table.unknown, table.spread, strict=True):
                if unknown:
                    total[part] += weight * unknown / spread
        return np.array(list(total.values()))

    def _cost(self, part: frozenset[str], step: frozenset[str] | None) -> float:
        """The square of how far a step moves a part: of x - y, or of x, projected onto it."""
        stays = [1 - 1 / self._sizes[name] for name in sorted(part)]
        if step is None:
            return math.prod(stays)
        goes = [-1 / self._sizes[n] if n in step else 1 - 1 / self._sizes[n] for n in sorted(part)]
        return 2 * (math.prod(stays) - math.prod(goes))

    @cached_property
    def _sizes(self) -> dict[str, int]:
        return {
            name: size
            for table in self.tables
            for part, unspread in zip(table.of, table.spread, strict=True)
            if len(part) == 1
            for name in part
            for size in [table.cells // unspread]
        }


def _log_error(asked: Floats, precise: Floats) -> tuple[float, Floats]:
    each = asked / precise
    return math.log(each.sum()), -each / precise / each.sum()


def _log_largest(values: Floats, sharp: float) -> tuple[float, Floats]:
    """About the logarithm of the largest, and its slope."""
    top = values.max()
    soft = (values / top) ** sharp
    return math.log(top) + math.log(soft.sum()) / sharp, soft / soft.sum() / values


def _descend(error: Callable[[Floats, float], tuple[float, Floats]], start: Floats) -> Floats:
    from scipy.optimize import minimize

    for sharp in SEARCH_SHARP:
        found = minimize(
            error,
            start,
            args=(sharp,),
            jac=True,
            method="L-BFGS-B",
            bounds=[(-RANGE, RANGE)] * len(start),
            options={"maxiter": 1000},
        )
        start = found.x
    return np.asarray(start)


def steps_together(able: Sequence[str], at_most: int, *, absent: bool) -> list[frozenset[str] | None] | None:
    """Sets of attributes that a step may change, of which one is about the worst; None where there are too many.

    Why   a step that changes more moves tables more, unless margins are weighed, and then by a little less at most.
    """
    most = min(at_most, len(able))
    found: list[frozenset[str] | None] = [None] if absent else []
    if math.comb(len(able), most) > MOST_SETS:
        return None
    sizes = range(1, most + 1) if 2 ** len(able) <= MOST_SETS else sorted({1, max(1, most - 1), most})
    sizes = [size for size in sizes if math.comb(len(able), size) <= MOST_SETS]
    found += [frozenset(some) for size in sizes for some in combinations(able, size)]
    return found or None


# -- marginals --------------------------------------------------------------------------------------

Names: TypeAlias = tuple[str, ...]
MOST_ATTRIBUTES = 10
LEAST = 0.003
SHARP = 40.0
LOWEST, GAINED = -15.0, 1e-3
"""The least logarithm of one over the noise of a marginal, and by how much one more must lower that of the error."""
PASSES, MOST_JOINED = 2, 150
"""How often marginals that join asked ones are gone through, and how many of them there are at most."""


@dataclass(frozen=True, eq=False)
class MarginalStrategy:
    """Marginals to measure, and their certificate. Errors are root mean squared errors per answer.

    `rivals` are the errors of all cells (`identity`), of the asked histograms alike (`direct`) and of what was found.
    """

    policy: Policy
    measurements: tuple[Measurement, ...]
    certificate: Certificate
    expected_error: float
    rivals: tuple[tuple[str, float], ...]

    def marginal(self, measured: Sequence[Ints], names: Names) -> Floats:
        """The counts by some attributes that fit noisy measurements, in this order, best; all marginals agree."""
        algebra = self._algebra
        if not set(names) <= set(algebra.names):
            raise QueryError("a marginal is about attributes that were not measured", fix="ask about measured ones")
        sizes = algebra.sizes
        total = np.zeros([sizes[name] for name in names])
        precise = {m.query.names: _precision(m) for m in self.measurements}
        exact = any(not m.scale for m in self.measurements)
        for part in _subsets(names):
            known = part == () and exact
            whole = 1.0 if known else algebra.precision(precise, part)
            for one, array in zip(self.measurements, measured, strict=True):
                seen = one.query.names
                if not set(part) <= set(seen) or (known != (one.scale == 0)) or not whole:
                    continue
                others = (sizes[n] for n in algebra.names if n not in names and n not in seen)
                weight = 1.0 if known else precise[seen] * math.prod(others)
                weight /= math.prod(sizes[n] for n in names if n not in part and (known or n in seen))
                total = total + weight / whole * _component(array[..., 0], seen, part, names)
        return total

    @cached_property
    def _algebra(self) -> _Algebra:
        names = {name for m in self.measurements for name in m.query.names}
        return _Algebra(self.policy, tuple(n for n in self.policy.domain.names if n in names))


def marginals(workload: Sequence[Query], policy: AnyPolicy, *, epsilon: Number | None = None) -> MarginalStrategy:
    """The marginals with the least error that were found for several histograms together.

    Post  certified at epsilon, the policy's own by default; never worse than noise on all cells, or on the asked
          histograms alike, which is what a plan does.
    """
    policy = load_policy(policy)
    price = policy.epsilon if epsilon is None else rational(epsilon, name="epsilon")
    if price <= 0:
        raise Refused("epsilon is not positive", fix="give a budget above zero")
    require_independent(policy, "a choice of marginals")
    asked = [_asked(query, policy) for query in workload]
    names = tuple(name for name in policy.domain.names if any(name in one for one in asked))
    if not names or len(names) > MOST_ATTRIBUTES:
        raise Refused(f"the workload is not about 1 to {MOST_ATTRIBUTES} attributes", fix="ask about fewer at once")
    algebra, answers = _Algebra(policy, names), sum(policy.domain.project(one).size for one in asked)
    asks, supports = algebra.asked(asked), sorted({*asked})
    _priced({names: 1.0}, policy, price)  # refuses where nothing is a secret
    rivals: list[tuple[str, float, tuple[Measurement, ...]]] = []
    for word, weights in (
        ("identity", {names: 1.0}),
        ("direct", dict.fromkeys(supports, 1.0)),
        ("marginals", algebra.best(asks, supports)),
    ):
        measured = _priced(weights, policy, price)
        precise = {m.query.names: _precision(m) for m in measured}
        error = sum(ask / algebra.precision(precise, part) for part, ask in asks.items() if ask)
        rivals.append((word, math.sqrt(error / answers), measured))
    _, error, measured = min(rivals, key=lambda one: one[1])
    exact = (Measurement(LinearQuery(One()), Fraction(0)),) if policy.size_is_public else ()
    certificate = certify_measurements(policy.graph, (*measured, *exact), rows_per_person=policy.rows_per_person)
    if not certificate.finite or certificate.epsilon > price:
        raise Refused("the strategy does not keep its budget", fix="report this: the kernel and the search disagree")
    told = tuple((word, rival) for word, rival, _ in rivals)
    return MarginalStrategy(policy, (*measured, *exact), certificate, error, told)


def _asked(query: Query, policy: Policy) -> Names:
    """The attributes of a histogram, in the order of the domain."""
    table = query.table(policy.domain)
    if not table or not isinstance(query.reading(policy.domain), Cells) or any(s.bins is not None for s in table):
        raise QueryError(
            "marginals are chosen for whole histograms only", fix="ask with td.queries.histogram, without bins"
        )
    return tuple(name for name in policy.domain.names if name in {split.name for split in table})


@dataclass(frozen=True)
class _Algebra:
    """The eigenspaces of marginals of some attributes: one for each set of them."""

    policy: Policy
    names: Names

    @property
    def sizes(self) -> dict[str, int]:
        return {name: self.policy.domain[name].size for name in self.names}

    def asked(self, workload: Sequence[Names]) -> dict[Names, float]:
        """What histograms ask of every eigenspace; of the number of records nothing where that is known.

        Why   of the differences between its n values a histogram asks n - 1 and of their sum 1; of the sum of an
              attribute that it adds up it asks n, and of its differences nothing.
        """
        sizes, found = self.sizes, {}
        for part in _subsets(self.names):
            inside = [one for one in workload if set(part) <= set(one)]
            of_part = math.prod(sizes[name] - 1.0 for name in part)
            asks = sum(math.prod(float(sizes[name]) for name in self.names if name not in one) for one in inside)
            found[part] = 0.0 if part == () and self.policy.size_is_public else of_part * asks
        return found

    def precision(self, precise: dict[Names, float], part: Names) -> float:
        """How well an eigenspace is measured: each marginal that sees it adds up the cells of the others."""
        sizes = self.sizes
        return sum(
            p * math.prod(size for name, size in sizes.items() if name not in seen)
            for seen, p in precise.items()
            if p and set(part) <= set(seen)
        )

    @searching
    def best(self, asks: dict[Names, float], supports: Sequence[Names]) -> dict[Names, float]:
        """One over the noise of every marginal worth measuring; only their ratios mean anything.

        Why   a marginal by more attributes can take the place of several: one by one, those that join two asked ones
              are tried, from the fewest cells up, and kept where a descent with them ends lower.
        """
        inside = {part for support in supports for part in _subsets(support)} | {self.names}
        sets = sorted(one for one in inside if one or not self.policy.size_is_public)
        value, logs = self._descended(asks, sets, np.array([0.0 if one in supports else -3.0 for one in sets]))
        for more in self._joined(supports) * PASSES:
            if more in sets:
                continue
            held = np.array([set(one) <= set(more) for one in sets])
            start = np.append(np.where(held, np.maximum(logs - 6, LOWEST), logs), logs[held].max())
            found, after = self._descended(asks, [*sets, more], start)
            if found < value - GAINED:
                value, logs, sets = found, after, [*sets, more]
        t = dict(zip(sets, np.exp(logs - logs.max()).tolist(), strict=True))
        kept = {one for one, rate in t.items() if rate > LEAST}
        kept |= {one for one in supports if not any(set(one) < set(other) for other in kept)}
        return {one: t[one] for one in sets if one in kept}

    def _joined(self, supports: Sequence[Names]) -> list[Names]:
        """Marginals that join two asked ones with an attribute in common, those of the fewest cells first."""
        sizes, found = self.sizes, set()
        for one, other in combinations(supports, 2):
            if set(one) & set(other):
                found.add(tuple(name for name in self.names if name in {*one, *other}))
        return sorted(found, key=lambda joined: (math.prod(sizes[name] for name in joined), joined))[:MOST_JOINED]

    def _descended(self, asks: dict[Names, float], sets: Sequence[Names], start: Floats) -> tuple[float, Floats]:
        """The logarithm of the error at a given budget where a descent ends, and those of one over each noise there.

        Why   with t the inverse noise of each, the error at a given budget is (largest loss)^2 times a sum of
              asked / precision. The loss of a step is 2 times the sum of t over marginals that it changes.
        """
        from scipy.optimize import minimize

        parts = [part for part, ask in asks.items() if ask]
        ask, mine = np.array([asks[part] for part in parts]), self._masks(sets)
        spread = np.array([math.prod(s for n, s in self.sizes.items() if n not in one) for one in sets], np.float64)
        seen = np.where(self._masks(parts)[:, None] & ~mine, 0.0, spread)
        moved = 2.0 * ((self._masks(self._steps())[:, None] & mine) != 0)
        if self.policy.graph.absent:
            moved = np.vstack([moved, np.ones(len(sets))])
        moved = moved[moved.any(axis=1)]

        def error(logs: Floats) -> tuple[float, Floats]:
            t = np.exp(logs)
            whole = seen @ t**2
            value = float((ask / whole).sum())
            loss = moved @ t
            top = float(loss.max())
            soft = (loss / top) ** SHARP
            mean = top * float(soft.sum()) ** (1 / SHARP)
            in_loss = mean * soft / soft.sum() / loss
            slope = -(2 * t**2 * ((ask / whole**2) @ seen)) / value + 2 * t * (in_loss @ moved) / mean
            return math.log(value) + 2 * math.log(mean), slope

        bounds = [(LOWEST, -LOWEST)] * len(sets)
        logs = minimize(error, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 500}).x
        t = np.exp(logs)
        return math.log((ask / (seen @ t**2)).sum()) + 2 * math.log((moved @ t).max()), np.asarray(logs)

    def _masks(self, sets: Sequence[Names]) -> Ints:
        """Sets of attributes as whole numbers, a bit for each."""
        return np.array([sum(1 << self.names.index(name) for name in one if name in self.names) for one in sets])

    def _steps(self) -> list[Names]:
        """Sets of attributes that one step can change."""
        able = [f.names for f in self.policy.graph.factors if f.graph.edge_count and set(f.names) & set(self.names)]
        most = min(self.policy.graph.at_most, len(able))
        return [tuple(chain(*some)) for some in combinations(able, most)] or [()]


def _priced(weights: dict[Names, float], policy: Policy, price: Fraction) -> tuple[Measurement, ...]:
    scales = {names: Fraction(f"{1 / weight:.4g}") for names, weight in weights.items()}
    queries = [(LinearQuery(One(), splits(names)), scale) for names, scale in scales.items()]
    unit = certify_measurements(
        policy.graph, [Measurement(*one) for one in queries], rows_per_person=policy.rows_per_person
    )
    if not unit.epsilon:
        raise Refused("nothing about this workload is a secret", fix="release the counts as they are")
    stretch = Fraction(unit.epsilon) / price
    return tuple(Measurement(query, scale * stretch) for query, scale in queries)


def _precision(measurement: Measurement) -> float:
    return 1 / laplace_variance(measurement.scale) if measurement.scale else 0.0


def _component(array: Ints, seen: Names, part: Names, names: Names) -> Floats:
    """The part of a measured marginal that is about all of `part` and nothing else, as an array by `names`."""
    found = array.astype(np.float64).sum(axis=tuple(a for a, name in enumerate(seen) if name not in part))
    order = [name for name in seen if name in part]
    for axis in range(len(order)):
        found = found - found.mean(axis=axis, keepdims=True)
    found = np.asarray(found).transpose([order.index(name) for name in names if name in part])
    sizes = iter(found.shape)
    return found.reshape([next(sizes) if name in part else 1 for name in names])


def _subsets(names: Names) -> list[Names]:
    return list(chain.from_iterable(combinations(names, size) for size in range(len(names) + 1)))
