"""What one record adds to the *squares* of a group of answers: the same two questions, for the L2 distance.

A contribution a(x) has alone(x) = sum |a_i(x)| and apart(x, y) = sum |a_i(x) - a_i(y)|, in units. Gaussian noise needs
sum a_i(x)^2 and sum (a_i(x) - a_i(y))^2, in squares of the unit. Rows of zeros and ones have both alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never, cast

import numpy as np

from tetraodon.exact.arrays import Ints
from tetraodon.query.adaptive_partition import Divided
from tetraodon.query.aim import ChosenTables
from tetraodon.query.contribution import AllRanges, Among, Answerers, Contribution, EachPerson, One, Prefix, Table
from tetraodon.query.edge_flows import Flows
from tetraodon.query.local_log_noise import Disguised
from tetraodon.query.number import Number
from tetraodon.query.ranks import Ranks
from tetraodon.query.smooth import Hats, Ramps, SmoothRunning, SmoothSums
from tetraodon.query.soft_bins import Product, Soft
from tetraodon.query.weighted_margins import WeighedMargins


@dataclass(frozen=True, eq=False)
class Squared:
    """The squares of a contribution whose entries are not only zeros and ones.

    >>> weight = Squared(Table(("a",), np.array([[0, 3], [1, 1]])))
    >>> weight.alone(np.array([0, 1])).tolist(), weight.apart(np.array([0]), np.array([1])).tolist()
    ([1, 10], [9])
    """

    of: Number | Table | Hats | Ramps | Soft | Product | WeighedMargins | SmoothRunning | SmoothSums

    @property
    def names(self) -> tuple[str, ...]:
        return self.of.names

    def alone(self, x: Ints) -> Ints:
        match self.of:
            case Number() as number:
                return _square(number.values(x))
            case Table() as table:
                return np.asarray(_square(table.matrix)[:, x].sum(axis=0))
            case Hats() as hats:
                start = np.asarray(x, np.int64) % hats.width
                return _square(hats.width - start) + _square(start)
            case Ramps() as ramps:
                first, start = np.divmod(np.asarray(x, np.int64), ramps.width)
                # the rows beyond this stretch count the record in full, and its own in part
                whole = _wide(ramps.rows - 1 - first, ramps.size) * ramps.width**2
                return np.where(first < ramps.rows, whole + _square(ramps.width - start), 0)
            case Soft() | Product() | SmoothSums() as soft:
                return soft.inner(x, x)
            case SmoothRunning() as running:
                return np.asarray(running.moved[running.size - 1 - np.asarray(x)])
            case WeighedMargins() as margins:
                return np.full(np.shape(x), margins.added(2), object)
            case _:
                assert_never(self.of)

    def apart(self, x: Ints, y: Ints) -> Ints:
        match self.of:
            case Number() as number:
                return _square(number.values(x) - number.values(y))
            case Table() as table:
                moved = np.zeros(np.broadcast(x, y).shape, _square(2 * table.matrix).dtype)
                for row in table.matrix:
                    moved = moved + _square(row[x] - row[y])
                return moved
            case Hats() | Ramps() as smooth:
                low, high = np.minimum(x, y), np.maximum(x, y)
                first, start = np.divmod(low, smooth.width)
                second, end = np.divmod(high, smooth.width)
                near, w = first == second, smooth.width
                if isinstance(smooth, Ramps):
                    passed = _wide(second - first - 1, smooth.size) * w**2
                    return np.where(near, _square(end - start), _square(w - start) + passed + _square(end))
                # the bins that both touch: the second of the lower is the first of the higher, or none is
                apart = self.alone(low) + self.alone(high)
                next_to = _square(w - start) + _square(start + end - w) + _square(end)
                return np.where(near, 2 * _square(end - start), np.where(first + 1 == second, next_to, apart))
            case SmoothRunning() as running:
                return np.asarray(running.moved[np.abs(x - y)])
            case SmoothSums() as sums:
                return np.asarray(sums.lengths[x] + sums.lengths[y] - 2 * sums.inner(x, y))
            case Soft() | Product() as soft:
                return np.asarray(soft.inner(x, x) + soft.inner(y, y) - 2 * soft.inner(x, y))
            case WeighedMargins() as margins:
                return margins.apart_by(x, y, 2)
            case _:
                assert_never(self.of)

    def potential(self, x: Ints) -> Ints | None:  # noqa: ARG002
        return None

    def columns(self) -> Ints:
        """The rows themselves: cells with equal columns have equal squares."""
        return self.of.columns()

    def most(self, reach: int) -> int:
        """The largest `apart` of two codes at most `reach` apart, for smoothed counts.

        Why   let a step pass p positions of one stretch and q of the next. Bins move by p^2 + (p - q)^2 + q^2, at most
              2 (p + q)^2; bins further apart by at most 2 w^2. Running sums move by p^2 + q^2 with p, q <= w, which
              is largest when one of them is as long as can be: then the step begins at code 0.
        """
        assert isinstance(self.of, Hats | Ramps)
        whole, part = divmod(reach, self.of.width)
        if isinstance(self.of, Ramps):
            return whole * self.of.width**2 + part**2
        return 2 * min(reach, self.of.width) ** 2


Measured: TypeAlias = Contribution | Squared
"""A contribution as the kernel sees it: for the L1 distance, or for the square of the L2 distance."""


def squared(contribution: Contribution) -> Measured:
    """The same contribution for the L2 distance."""
    match contribution:
        case One() | Answerers() | Prefix() | AllRanges():
            return contribution  # zeros and ones
        case Table() as table:
            return contribution if np.isin(table.matrix, (0, 1)).all() else Squared(table)
        case Number() | Hats() | Ramps() | Soft() | Product() | WeighedMargins() | SmoothRunning() | SmoothSums():
            return Squared(contribution)
        case Among():
            return replace(contribution, inner=cast(Contribution, squared(contribution.inner)))
        case EachPerson() | Flows() | Ranks() | Divided() | Disguised() | ChosenTables():
            raise AssertionError("people, noise along steps and what is not linear are priced by themselves")
        case _:
            assert_never(contribution)


def zeros_and_ones(contribution: Contribution) -> bool:
    """Whether a record adds one to an answer, in units, or nothing.

    >>> zeros_and_ones(Prefix("a", 3, 3)), zeros_and_ones(Table(("a",), np.array([[1, 2]])))
    (True, False)
    """
    if isinstance(contribution, Among):
        return zeros_and_ones(contribution.inner)
    return not isinstance(contribution, EachPerson) and squared(contribution) is contribution


def signed(contribution: Contribution) -> bool:
    """Whether a record can take from an answer what another adds to it, so that (a - b)^2 may exceed a^2 + b^2.

    >>> signed(Table(("a",), np.array([[1, -1]]))), signed(One())
    (True, False)
    """
    match contribution:
        case Number() as number:
            return number.signed
        case Table() as table:
            return bool((table.matrix < 0).any())
        case WeighedMargins() as margins:
            return min(margins.times) < 0
        case SmoothRunning() as running:
            return bool(running.kernel.min() < 0)
        case SmoothSums() as sums:
            return bool(sums.sums.min(initial=0) < 0 or sums.kernel.min() < 0)
        case Among():
            return signed(contribution.inner)
        case _:
            return False


def _wide(numbers: Ints, size: int) -> Ints:
    """Python integers where the square of an attribute's size is too long."""
    return np.asarray(numbers) if size < 2**30 else np.asarray(numbers).astype(object)


def _square(numbers: Ints) -> Ints:
    """Squares, in Python integers where 64 bits do not suffice."""
    given = np.asarray(numbers)
    longest = int(np.abs(given).max(initial=0))
    return given * given if longest < 2**31 else given.astype(object) ** 2
