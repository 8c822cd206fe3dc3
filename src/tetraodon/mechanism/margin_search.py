"""How well to measure each of many tables, and each part of them, so that their squared errors add up to the least.

With Gaussian noise a step costs a sum of the precisions of parts, and errors are a sum of one over each: a convex
problem, and what it finds is the best there is where all values of an attribute are alike. Beside items of other kinds
tables are measured as they are, and only how much noise each gets is searched for. With Laplace noise a step costs the
sum of one over each noise, so that one table by more attributes can be better than several: those that join two of the
tables are tried one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from tetraodon.arrays import Floats
from tetraodon.mechanism.margins import TableParts
from tetraodon.one_thread import searching

MOST_SETS = 3000
"""Sets of attributes that may change together, for a search; the certificate looks at all of them."""
SHARP = (30.0, 300.0)
"""Powers that stand for a maximum, one after the other."""
SLACK = 0.002
"""By how much steps that change fewer attributes are to cost less, so that the certificate need not try them all."""
GAINED, LITTLE = 0.002, 9.0
"""By how much a joined table must lower the logarithm of the error, and what tables in whose place it is keep."""
MOST_JOINED, MOST_CELLS = 10_000, 2**17
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
            if found < value - GAINED:
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
        return [frozenset(names) for _, names in few[: MOST_JOINED // len(of)]]

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

    for sharp in SHARP:
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
