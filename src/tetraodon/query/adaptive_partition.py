"""Counts of parts of a line or a map that are divided, round by round, where they are found to be large.

This is no linear query. What is measured in a round depends on what was told in the rounds before it, and all rounds
together lose what the counts of every part of every size would (`certificate/nonlinear_loss.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Bools, Ints, with_noise
from tetraodon.noise.laws import LAPLACE, NoiseLaw
from tetraodon.query.number import NotLinear

Kind = TypeVar("Kind", bound=np.generic)
Draw: TypeAlias = Callable[[NoiseLaw, Fraction, tuple[int, ...]], Ints]
"""What draws noise of a law and a scale."""
FAN = {1: 8, 2: 4}
"""Into how many pieces a part is divided along each side, by how many sides there are."""
FEWEST = 2
"""A round of so few parts along each side, or fewer, is not worth its part of the budget."""
LARGE = {1: 20, 2: 10}
"""A part is divided if its noisy count is above so many times the scale of what is left for it, by how many sides."""


@dataclass(frozen=True, eq=False)
class Round:
    """What one round told: `counts` of parts that are `active`, and of those not `divided` further, `again`."""

    width: int
    counts: Ints
    active: Bools
    divided: Bools
    again: Ints

    @property
    def settled(self) -> Bools:
        """The parts that are measured for the last time."""
        return self.active & ~self.divided


@dataclass(frozen=True)
class Divided(NotLinear):
    """Noisy counts of parts of one or two ordered attributes, from `FAN` parts a side down to single values.

    Noise of scale b in all is shared among the rounds by their `weights`: one of weight w out of W has noise of scale
    b W / w. A part that is divided no further is counted once more, with all that later rounds would have spent on it.

    >>> Divided(("x",), (4096,)).widths, Divided(("x", "y"), (256, 200)).widths
    ((512, 64, 8, 1), (64, 16, 4, 1))
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    unit: Fraction = Fraction(1)

    refusal: ClassVar = (QueryError, "counts of divided parts are no sums over records", "certify what dominates them")

    def __post_init__(self) -> None:
        if len(self.names) != len(self.sizes) or len(self.names) not in FAN or min(self.sizes) < 1:
            raise QueryError("parts are of one or two attributes", fix="name one or two, with their sizes")

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """How many values a part has along each side, round by round."""
        fan, widths = FAN[len(self.names)], [1]
        while FEWEST * widths[0] * fan < max(self.sizes):
            widths.insert(0, widths[0] * fan)
        return tuple(widths)

    @property
    def rounds(self) -> int:
        return len(self.widths)

    def grid(self, width: int) -> tuple[int, ...]:
        """How many parts of a width there are along each side."""
        return tuple(-(-size // width) for size in self.sizes)

    @cached_property
    def rows(self) -> int:
        """All numbers that could be told: two for each part, and one for each cell. Zero stands where nothing is."""
        every = [math.prod(self.grid(width)) for width in self.widths]
        return 2 * sum(every) - every[-1]

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """What each round spends, relative to each other: the first of a map has few parts, and half as much."""
        return (1, *(len(self.sizes) for _ in self.widths[1:]))

    def scale_of(self, scale: Fraction, place: int) -> Fraction:
        """The scale of the noise of the round at a place."""
        return scale * sum(self.weights) / self.weights[place]

    def scale_again(self, scale: Fraction, place: int) -> Fraction:
        """The scale of the last noise on a part that the round at a place does not divide."""
        return scale * sum(self.weights) / sum(self.weights[place + 1 :])

    def measure(self, cells: Ints, scale: Fraction, draw: Draw) -> Ints:
        """All rounds, one after the other; `draw` gives noise.

        Pre   `cells` are exact counts, the attributes last.
        Post  what a round looks at, and how much noise it draws, depends on what the rounds before it told alone.
        """
        cells = cells.reshape(-1, *self.sizes)
        told: list[Ints] = []
        active = np.ones((len(cells), *self.grid(self.widths[0])), np.bool_)
        for place, width in enumerate(self.widths):
            exact, last = pooled(cells, width, len(self.sizes)), place == self.rounds - 1
            counts = _drawn(exact, active, self.scale_of(scale, place), draw)
            told.append(counts)
            if not last:
                divided = self._large(counts, active, scale, place)
                told.append(_drawn(exact, active & ~divided, self.scale_again(scale, place), draw))
                active = spread(divided, FAN[len(self.sizes)], self.grid(self.widths[place + 1]))
        return np.concatenate([part.reshape(len(cells), -1) for part in told], axis=1)

    def told(self, measured: Ints, scale: Fraction) -> Iterator[Round]:
        """What every round told. Raises QueryError where the numbers do not fit together.

        Pre   `measured` has the numbers of each cell of whatever it is split by in its last axis.
        """
        rest = measured.reshape(-1, self.rows)
        active = np.ones((len(rest), *self.grid(self.widths[0])), np.bool_)
        for place, width in enumerate(self.widths):
            shape, many = active.shape, math.prod(active.shape[1:])
            counts, rest = rest[:, :many].reshape(shape), rest[:, many:]
            divided, again = np.zeros_like(active), np.zeros_like(counts)
            if place < self.rounds - 1:
                divided = self._large(counts, active, scale, place)
                again, rest = rest[:, :many].reshape(shape), rest[:, many:]
            one = Round(width, counts, active, divided, again)
            if counts[~active].any() or again[~one.settled].any():
                raise QueryError("a part is counted that was not there to be counted", fix="ask for a new copy")
            yield one
            if place < self.rounds - 1:
                active = spread(divided, FAN[len(self.sizes)], self.grid(self.widths[place + 1]))

    def could_tell(self, measured: Ints, scale: Fraction) -> bool:
        """Whether these numbers could have been told: nothing is counted that was not there to be counted."""
        try:
            return bool(list(self.told(measured, scale)))
        except QueryError:
            return False

    def _large(self, counts: Ints, active: Bools, scale: Fraction, place: int) -> Bools:
        """Which parts are divided: whole numbers are compared, so that nothing depends on the machine."""
        return np.asarray(active & (counts > math.floor(LARGE[len(self.sizes)] * self.scale_again(scale, place))))


def pooled(cells: NDArray[Kind], width: int, sides: int) -> NDArray[Kind]:
    """Sums over parts of a width along each of the last sides."""
    for axis in range(cells.ndim - sides, cells.ndim):
        cells = np.add.reduceat(cells, np.arange(0, cells.shape[axis], width), axis=axis)
    return cells


def spread(parts: NDArray[Kind], times: int, shape: tuple[int, ...]) -> NDArray[Kind]:
    """What stands at each part, at every piece of it, for as many pieces along the last sides as a shape has."""
    for axis, size in enumerate(shape, start=parts.ndim - len(shape)):
        parts = np.take(parts, np.arange(size) // times, axis=axis)
    return parts


def _drawn(exact: Ints, there: Bools, scale: Fraction, draw: Draw) -> Ints:
    """Noisy counts of some parts, and zero for the others."""
    found = np.zeros(exact.shape, np.int64)
    found[there] = with_noise(exact[there], draw(LAPLACE, scale, (int(there.sum()),)))
    return found
