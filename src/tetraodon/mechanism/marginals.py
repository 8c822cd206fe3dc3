"""Several histograms together: how precisely to measure each table and its margins, and how they are read.

What tables say about each other is a sum of products of I and J (all ones), which have common eigenspaces, one for
every set of attributes. So the error is a short sum, and no matrix as large as the table is ever written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np

from tetraodon.exact.arrays import Bools, Floats
from tetraodon.exact.one_thread import searching
from tetraodon.mechanism.strategy import Ends, Measured, Mechanism, Scaled, Strategy, lengths
from tetraodon.noise.weighted_sums import weighted_reach
from tetraodon.query.contribution import One
from tetraodon.query.query import Query
from tetraodon.query.weighted_margins import WeighedMargins, multiples, outside, weigh

# -- margins ----------------------------------------------------------------------------------------
# Many tables of counts as one: each gets noise, with its margins weighed, and all of them are read together.
#
# What tables say about each other is a sum over *parts*, one for each set of attributes: what the margin by that set
# says beyond those by fewer. All tables that split by the set tell its part, each with some precision; these add up,
# and the errors of all tables follow in closed form ([XHZK23]). Which precisions are worth what they cost is found by
# `mechanism/marginals.py`.


@dataclass(frozen=True)
class Margins(Mechanism):
    """A strategy measures its table with noise on each number, in which margins may be weighed less, or more.

    Other noisy queries besides are tables by more attributes, which it is read together with.

    It is proposed for all tables of a release at once (`releases/proposals.py`), and for none by itself.
    """

    name = "margins"
    words = "noise on tables that are read together"
    each_cell = True
    read_together = True

    def expected_error(self, query: Query, at: Scaled) -> float:
        """Of the table by itself. Read together with others it errs less: `table_errors`."""
        (error,) = table_errors([at])
        return error

    def largest_error(self, query: Query, at: Scaled, confidence: Fraction) -> float:
        first = np.zeros(at.shape, np.bool_)
        first.flat[0] = True
        return self.reach(at, first, confidence)

    @staticmethod
    def weighs_margins(at: Scaled) -> bool:
        """Whether margins count more, or less, than cells do."""
        return isinstance(at.strategy.noisy[0].contribution, WeighedMargins)

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
RANGE, NOWHERE = 12.0, 1e-30
"""Precisions are searched for within e to the power of this, up and down; and a squared error that is none."""


@dataclass(frozen=True, eq=False)
class TableSearch:
    """Tables, what the squared errors of each weigh, and the sets of attributes that a step may change.

    A set is None where somebody comes or goes. `bounds` are squared errors of all cells that tables may have at most,
    where steps lose one, if there are any; then a table errs more only if no search keeps to them.
    """

    tables: Sequence[TableParts]
    weights: Sequence[float]
    steps: Sequence[frozenset[str] | None]
    bounds: Sequence[float] = ()

    @searching
    def gaussian(self, start: Sequence[float] = (), *, weighed: bool) -> tuple[Floats, dict[frozenset[str], float]]:
        """One over the variance of each table, up to a factor, and by how much each part of larger tables counts.

        Where margins are not `weighed`, every part counts once. `start` are logarithms of precisions to begin with.
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
            top, rise = _log_largest(cost @ precise, sharp)
            value, slope, by_top = self._log_error(precise, top, sharp)
            slope = slope + by_top * (rise @ cost)
            first = each * (slope @ (own + factor[:, None] * below))
            return value, np.concatenate([first, slope * factor * larger]) if weighed else first

        logs = np.array(start or [0.0] * count) - max(start, default=0.0)
        found = _descend(error, np.concatenate([logs, np.zeros(len(parts) if weighed else 0)]))
        factors = np.exp(found[count:]) if weighed else np.ones(len(parts))
        return np.exp(found[:count]), dict(zip(parts, factors.tolist(), strict=True))

    @searching
    def laplace(self, start: Sequence[float] = (), *, joined: bool) -> tuple[Floats, dict[frozenset[str], float]]:
        """One over the scale of each table, up to a factor; where they may be `joined`, the same of tables besides.
        `start` are logarithms of these to begin with.

        Post  tables whose place others take keep a little, so that each has a measurement of its own.
        """
        sets = [table.of[-1] for table in self.tables]
        columns = [self._column(one) for one in sets]
        value, logs = self._descended(columns, np.array(start or [0.0] * len(sets)) - max(start, default=0.0))
        for more in self._joined() if joined else ():
            held = np.array([one <= more for one in sets])
            first = np.append(np.where(held, np.maximum(logs - 6, -RANGE), logs), logs[held].max())
            found, after = self._descended(wider := [*columns, self._column(more)], first)
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
            top, rise = _log_largest(moved @ rate, sharp)
            value, slope, by_top = self._log_error(inside @ rate**2, 2 * top, sharp)
            return value, 2 * rate**2 * (slope @ inside) + 2 * by_top * rate * (rise @ moved)

        logs = _descend(error, start)
        top = 2 * math.log((moved @ np.exp(logs)).max())
        return self._log_error(inside @ np.exp(2 * logs), top, SEARCH_SHARP[-1])[0], logs

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

    def _log_error(self, precise: Floats, lost: float, sharp: float) -> tuple[float, Floats, float]:
        """The logarithm of the weighed squared errors where steps lose one, and its slopes: in the precision of each
        part, and in the logarithm of what is `lost` with these precisions.

        Errors above their bounds count besides, raised to a power that is `sharp`.
        """
        errors = np.maximum(self._asked @ (1 / precise), NOWHERE)
        logs, weights = np.log(errors) + lost, np.log(self.weights)
        terms, powers = [weights + logs], [1.0]
        if self.bounds:
            bounds = np.log(self.bounds)
            terms, powers = [*terms, weights + bounds + sharp * (logs - bounds)], [1.0, sharp]
        top = float(np.max(terms))
        each = np.exp(np.array(terms) - top)
        slopes = np.array(powers) @ each / each.sum()
        return top + math.log(each.sum()), -((slopes / errors) @ self._asked) / precise**2, float(slopes.sum())

    @cached_property
    def _asked(self) -> Floats:
        """How much of the variance of each part is in the squared errors of all cells of each table."""
        found = [
            {part: u / spread for part, u, spread in zip(t.of, t.unknown, t.spread, strict=True)} for t in self.tables
        ]
        return np.array([[one.get(part, 0.0) for part in self._parts] for one in found])

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
