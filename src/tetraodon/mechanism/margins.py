"""Many tables of counts as one: each gets noise, with its margins weighed, and all of them are read together.

What tables say about each other is a sum over *parts*, one for each set of attributes: what the margin by that set says
beyond those by fewer. All tables that split by the set tell its part, each with some precision; these add up, and the
errors of all tables follow in closed form ([XHZK23]). Which precisions are worth what they cost is found by
`mechanism/margin_search.py`.
"""

# ruff: noqa: ARG002 - every mechanism is asked in the same way, whatever it needs to know

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tetraodon.arrays import Bools, Floats
from tetraodon.mechanism.one_scale import lengths
from tetraodon.mechanism.strategy import Ends, Measured, Mechanism, Scaled, Strategy
from tetraodon.noise.laws.weighted_sum import weighted_reach
from tetraodon.policy.policy import Policy
from tetraodon.questions.query import Query
from tetraodon.workload.contribution import One
from tetraodon.workload.weighed_margins import WeighedMargins, multiples, outside, weigh


@dataclass(frozen=True)
class Margins(Mechanism):
    """A strategy measures its table with noise on each number, in which margins may be weighed less, or more.

    Other noisy queries besides are tables by more attributes, which it is read together with.

    It is proposed for all tables of a release at once (`releasing/tables_together.py`), and for none by itself.
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
